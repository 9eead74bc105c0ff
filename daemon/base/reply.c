/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/reply.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "util/checked.h"

static int refuse(struct reply *rep, int err, bool fatal, const char *fmt, va_list ap)
{
	vsnprintf(rep->reason, sizeof(rep->reason), fmt, ap);
	rep->fatal = fatal;
	return -err;
}

int reply_refuse(struct reply *rep, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	refuse(rep, err, false, fmt, ap);
	va_end(ap);
	return -err;
}

int reply_violation(struct reply *rep, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	refuse(rep, err, true, fmt, ap);
	va_end(ap);
	return -err;
}

int reply_no_memory(struct reply *rep, const char *what)
{
	return reply_refuse(rep, ENOMEM, "%s: out of memory", what);
}

int reply_no_handle(struct reply *rep, const char *what)
{
	return reply_refuse(rep, ENOMEM, "%s: no room in the client's table", what);
}

int reply_check_entries(struct reply *rep, const char *what, uint32_t entries, uint32_t max,
			const char *key)
{
	if (checked_pow2(entries) && entries <= max)
		return 0;
	return reply_refuse(rep, EINVAL, "%s of %u entries: not a power of two up to %u (%s)", what,
			    entries, max, key);
}

void reply_add_fd(struct reply *rep, int fd)
{
	rep->fds[rep->nfds++] = fd;
}

void reply_close_fds(struct reply *rep)
{
	while (rep->nfds > 0)
		close(rep->fds[--rep->nfds]);
}
