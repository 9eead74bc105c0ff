/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int set_refusal(struct reply *rep, int err, bool fatal, const char *fmt, va_list ap)
{
	vsnprintf(rep->reason, sizeof(rep->reason), fmt, ap);
	rep->fatal = fatal;
	return -err;
}

int reply_refuse(struct reply *rep, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_refusal(rep, err, false, fmt, ap);
	va_end(ap);
	return -err;
}

int reply_violation(struct reply *rep, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_refusal(rep, err, true, fmt, ap);
	va_end(ap);
	return -err;
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
