/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/limit_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* As text; RLIM_INFINITY is none that was reached. */
static void limit_value(int resource, char buf[24])
{
	struct rlimit l = {.rlim_cur = RLIM_INFINITY};

	getrlimit((__typeof__(RLIMIT_NOFILE))resource, &l);
	if (l.rlim_cur == RLIM_INFINITY)
		strcpy(buf, "unlimited");
	else
		snprintf(buf, 24, "%ju", (uintmax_t)l.rlim_cur);
}

const char *limit_text(int err, char *buf, size_t len)
{
	char value[24];

	if (err == EMFILE) {
		limit_value(RLIMIT_NOFILE, value);
		snprintf(buf, len,
			 "this process has reached its limit of descriptors (RLIMIT_NOFILE, %s): "
			 "raise it (ulimit -n), or close some",
			 value);
	} else if (err == ENFILE) {
		snprintf(buf, len,
			 "this host has reached its limit of descriptors of all processes "
			 "(fs.file-max): raise it");
	} else {
		snprintf(buf, len, "%s", strerror(err));
	}
	return buf;
}

const char *limit_text_of_thread(int err, char *buf, size_t len)
{
	char value[24];

	if (err != EAGAIN)
		return limit_text(err, buf, len);
	limit_value(RLIMIT_NPROC, value);
	snprintf(buf, len,
		 "no more threads: this user has reached RLIMIT_NPROC (%s), its control group "
		 "pids.max, or the host kernel.threads-max: raise it",
		 value);
	return buf;
}
