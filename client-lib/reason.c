/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client-lib/ddp_impl.h"

static _Thread_local char sentence[MSG_REASON_MAX + 64];

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
	char text[96];

	return reason_fail(err, "%s: %s: %s", call, what, strerror_r(-err, text, sizeof(text)));
}

const char *ddp_last_reason(void)
{
	return sentence;
}
