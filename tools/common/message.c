/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/message.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/tool.h"
#include "util/limit_text.h"

enum { LINE_MAX_LEN = 1024 };

static char last_error[LINE_MAX_LEN];
static pthread_mutex_t last_error_lock = PTHREAD_MUTEX_INITIALIZER;

static void format_line(char line[LINE_MAX_LEN], const char *fmt, va_list ap)
{
	char raw[LINE_MAX_LEN];

	vsnprintf(raw, sizeof(raw), fmt, ap);
	message_sanitize(line, LINE_MAX_LEN, raw, strlen(raw));
}

void message_note(const char *fmt, ...)
{
	char line[LINE_MAX_LEN];
	va_list ap;

	va_start(ap, fmt);
	format_line(line, fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s\n", tool_name(), line);
}

/* One write for the whole line, so that lines of threads do not mix. */
static void print_error(const char *fmt, va_list ap, const char *hint)
{
	char line[LINE_MAX_LEN];

	format_line(line, fmt, ap);
	pthread_mutex_lock(&last_error_lock);
	snprintf(last_error, sizeof(last_error), "%s", line);
	pthread_mutex_unlock(&last_error_lock);
	fprintf(stderr, "%s: %s\n%s%s%s", tool_name(), line, hint ? "Try '" : "",
		hint ? tool_name() : "", hint ? hint : "");
}

const char *message_last_error(void)
{
	return last_error;
}

void message_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_error(fmt, ap, NULL);
	va_end(ap);
}

int message_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_error(fmt, ap, " --help'.\n");
	va_end(ap);
	return TOOL_USAGE;
}

int message_usage_hint(void)
{
	fprintf(stderr, "Try '%s --help'.\n", tool_name());
	return TOOL_USAGE;
}

const char *message_strerror(int err)
{
	static _Thread_local char buf[128];

	snprintf(buf, sizeof(buf), "%s", strerror(err < 0 ? -err : err));
	/* "Connection refused" becomes lower case, "I/O error" does not. */
	if (buf[0] && islower((unsigned char)buf[1]))
		buf[0] = (char)tolower((unsigned char)buf[0]);
	return buf;
}

/* A reason of the library without "ddp_connect: ", which does not help the user of a tool. */
static const char *without_call(const char *reason)
{
	size_t n = strspn(reason, "abcdefghijklmnopqrstuvwxyz_");

	return !strncmp(reason, "ddp_", 4) && !strncmp(reason + n, ": ", 2) ? reason + n + 2
									    : reason;
}

int message_fail(const char *what, int err, const char *reason)
{
	const char *why = without_call(reason ? reason : "");
	const bool limit = err == -EMFILE || err == -ENFILE; /* of this process: no reason */
	char words[LIMIT_TEXT_MAX];

	if (!*why)
		message_error("%s: %s", what,
			      limit ? limit_text(-err, words, sizeof(words))
				    : message_strerror(err));
	else /* without the errno text, which is wider than the reason and misleads beside it */
		message_error("%s: %s", what, why);
	return err;
}

void message_sanitize(char *out, size_t size, const void *text, size_t len)
{
	const unsigned char *in = text;
	size_t n = 0;

	while (n + 1 < size && n < len && in[n]) {
		out[n] = in[n] >= 0x20 && in[n] < 0x7f ? (char)in[n] : '?';
		n++;
	}
	out[n] = '\0';
}
