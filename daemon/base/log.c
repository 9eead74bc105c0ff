/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	TEXT_MAX = 1000, /* of a message */
	HEAD_MAX = 32,   /* of the prefix */
};

static const char *const names[LOG_LEVELS] = {
	[LOG_LEVEL_ERR] = "error",
	[LOG_LEVEL_WARN] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* syslog(3) priorities, in the form that sd-daemon(3) describes. */
static const char *const priorities[LOG_LEVELS] = {
	[LOG_LEVEL_ERR] = "<3>",
	[LOG_LEVEL_WARN] = "<4>",
	[LOG_LEVEL_INFO] = "<6>",
	[LOG_LEVEL_DEBUG] = "<7>",
};

static enum log_level shown = LOG_LEVEL_INFO;
static bool to_journal;

/* JOURNAL_STREAM is device:inode of the journal's end. Standard error may have been redirected
 * since. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat st;
	uintmax_t dev, ino;
	char rest;

	if (!stream || sscanf(stream, "%" SCNuMAX ":%" SCNuMAX "%c", &dev, &ino, &rest) != 2)
		return false;
	return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void log_open(enum log_target target)
{
	to_journal =
		target == LOG_TARGET_JOURNAL || (target == LOG_TARGET_AUTO && stderr_is_journal());
}

void log_set_level(enum log_level level)
{
	shown = level;
}

const char *log_level_name(enum log_level level)
{
	return names[level];
}

bool log_level_parse(const char *name, enum log_level *ret)
{
	for (int i = 0; i < LOG_LEVELS; i++) {
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum log_level)i;
			return true;
		}
	}
	return false;
}

/* A message quotes what peers and clients sent: it must not end its line or steer a terminal. */
static void sanitize(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
	}
}

/* One write(2), so that lines of several processes do not mix. A lost line cannot be reported. */
static void write_line(enum log_level level, char *text, size_t len)
{
	char line[HEAD_MAX + TEXT_MAX + 2];
	int n;

	if (len > TEXT_MAX) /* length of the whole message */
		memcpy(text + TEXT_MAX - 3, "...", 4);
	sanitize(text);
	if (to_journal)
		n = snprintf(line, sizeof(line), "%s%s\n", priorities[level], text);
	else
		n = snprintf(line, sizeof(line), "ddpsctpd: %s: %s\n", names[level], text);
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

static void log_va(enum log_level level, uint64_t lost, const char *fmt, va_list ap)
{
	char text[TEXT_MAX + 1];
	int saved = errno;
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	if (n < 0)
		n = snprintf(text, sizeof(text), "%s", fmt);
	if (lost > 0 && n < TEXT_MAX)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " (and %" PRIu64 " more)", lost);
	write_line(level, text, (size_t)n);
	errno = saved;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > shown)
		return;
	va_start(ap, fmt);
	log_va(level, 0, fmt, ap);
	va_end(ap);
}

void log_limited(struct log_limit *l, uint64_t now_ms, enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > shown)
		return;
	if (l->lines > 0 && now_ms - l->since_ms >= LOG_INTERVAL_MS)
		l->lines = 0;
	if (l->lines >= LOG_BURST) {
		l->lost++;
		return;
	}
	if (l->lines++ == 0)
		l->since_ms = now_ms;
	va_start(ap, fmt);
	log_va(level, l->lost, fmt, ap);
	va_end(ap);
	l->lost = 0;
}
