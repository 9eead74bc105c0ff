/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/descriptors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "daemon/base/reply.h"

bool descriptors_lack(int err)
{
	return err == EMFILE || err == ENFILE;
}

void descriptors_words(int err, char *ret, size_t len)
{
	struct rlimit l = {0};

	getrlimit(RLIMIT_NOFILE, &l);
	if (err == EMFILE)
		snprintf(ret, len,
			 "ddpsctpd has reached its limit of descriptors (RLIMIT_NOFILE, %llu): "
			 "raise it, or close programs",
			 (unsigned long long)l.rlim_cur);
	else if (err == ENFILE)
		snprintf(ret, len,
			 "this host has reached its limit of descriptors of all processes "
			 "(fs.file-max): raise it");
	else
		snprintf(ret, len, "%s", strerror(err));
}

int descriptors_refuse(struct reply *rep, int err, const char *what)
{
	char words[MSG_REASON_MAX];

	descriptors_words(err, words, sizeof(words));
	return reply_refuse(rep, err, "%s: %s", what, words);
}
