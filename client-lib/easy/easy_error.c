/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/easy/easy_error.h"

#include <ddp/ddp.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local struct easy_error of_thread;

int easy_error_set(struct easy_error *e, int err, const char *fmt, ...)
{
	struct easy_error *to = e ? e : &of_thread;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to->text, sizeof(to->text), fmt, ap);
	va_end(ap);
	return err;
}

int easy_error_pass(struct easy_error *e, int err)
{
	return easy_error_set(e, err, "%s", ddp_last_reason());
}

const char *easy_error_text(const struct easy_error *e)
{
	return e ? e->text : of_thread.text;
}
