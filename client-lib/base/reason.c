/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/reason.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "client-lib/base/exported.h"
#include "client-lib/base/maps.h"
#include "ipc/msg.h"
#include "util/limit_text.h"

static _Thread_local char sentence[REASON_MAX];

_Static_assert(MSG_REASON_MAX + LIMIT_TEXT_MAX <= REASON_MAX, "the daemon's sentence has room");

int reason_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	return err;
}

int reason_errno(int err, const char *call, const char *what)
{
	char text[LIMIT_TEXT_MAX];
	unsigned long areas, max;

	if (err == -ENOMEM && maps_full(&areas, &max))
		return reason_fail(err,
				   "%s: %s: this process has %lu memory maps, and "
				   "vm.max_map_count is %lu",
				   call, what, areas, max);
	return reason_fail(err, "%s: %s: %s", call, what, limit_text(-err, text, sizeof(text)));
}

int reason_thread(int err, const char *call, const char *what)
{
	char text[LIMIT_TEXT_MAX];

	return reason_fail(err, "%s: %s: %s", call, what,
			   limit_text_of_thread(-err, text, sizeof(text)));
}

const char *ddp_last_reason(void)
{
	return sentence;
}

int reason_daemon_gone(const char *call)
{
	return reason_fail(-EPIPE, "%s: the daemon has ended, or has ended this connection", call);
}

int reason_former(const char *call)
{
	return reason_fail(-EPIPE,
			   "%s: the object belongs to a daemon that has ended, before "
			   "ddp_reopen(): it can only be destroyed",
			   call);
}

int reason_forked(const char *call)
{
	return reason_fail(-ECHILD, "%s: the context belongs to the parent of this process", call);
}
