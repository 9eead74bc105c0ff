/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/journald.h"
#include "util/list.h"

enum {
	TEXT_MAX = 1000, /* of a message */
	HEAD_MAX = 64,   /* of the prefix */
	LINE_MAX_LEN = HEAD_MAX + TEXT_MAX + 2,
};

_Static_assert((int)LINE_MAX_LEN <= PIPE_BUF, "a pipe that polls writable takes a whole line");

static const char *const names[LOG_LEVELS] = {
	[LOG_LEVEL_ERR] = "error",
	[LOG_LEVEL_WARN] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* syslog(3) priorities. */
static const int priorities[LOG_LEVELS] = {
	[LOG_LEVEL_ERR] = 3,
	[LOG_LEVEL_WARN] = 4,
	[LOG_LEVEL_INFO] = 6,
	[LOG_LEVEL_DEBUG] = 7,
};

static enum log_level shown = LOG_LEVEL_INFO;
static bool to_journal;
static int out = STDERR_FILENO;
static bool out_is_socket;
static uint64_t unread; /* lines that did not get through */
static bool torn;       /* only a part of the last line got through */

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

/* O_NONBLOCK belongs to the open file, which other processes share with us. A pipe or terminal is
 * therefore opened again. Where that is not possible, only writable() prevents blocking. */
static void open_nonblocking(void)
{
	struct stat st;
	int fd;

	if (fstat(STDERR_FILENO, &st) < 0)
		return;
	out_is_socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !isatty(STDERR_FILENO))
		return;
	fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0)
		out = fd;
}

void log_open(enum log_target target)
{
	bool journal = target == LOG_TARGET_AUTO && stderr_is_journal();

	to_journal = journal || target == LOG_TARGET_JOURNAL;
	if (journal)
		journald_open(JOURNALD_SOCKET);
	open_nonblocking();
}

void log_set_level(enum log_level level)
{
	shown = level;
}

const char *log_level_name(enum log_level level)
{
	return names[level];
}

/* A message may quote bytes of peers and clients: they must not end its line or steer a
 * terminal. */
static void sanitize(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
	}
}

/* A file that is gone counts as writable: then write() fails. */
static bool writable(void)
{
	struct pollfd p = {.fd = out, .events = POLLOUT};

	return poll(&p, 1, 0) != 0;
}

/* True if the bytes got through. Never blocks. */
static bool write_out(const char *s, size_t len)
{
	ssize_t n = -1;

	if (out_is_socket)
		n = send(out, s, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	else if (writable())
		n = write(out, s, len);
	if (n > 0)
		torn = (size_t)n < len;
	return n >= 0 && (size_t)n == len;
}

/* "2026-11-23T00:05:13.123Z". UTC needs no file of time zones, which the sandbox may hide. */
static void put_time(char *ret, size_t len)
{
	struct timespec ts;
	struct tm tm;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(ret, len, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret + n, len - n, ".%03dZ", (int)(ts.tv_nsec / 1000000));
}

/* One system call, so that lines of several processes do not mix. The first byte of the line ends a
 * torn one. */
static bool put_line(enum log_level level, const char *text)
{
	char line[LINE_MAX_LEN + 1], now[32];
	int n;

	if (to_journal) {
		n = snprintf(line, sizeof(line), "\n<%d>%s\n", priorities[level], text);
	} else {
		put_time(now, sizeof(now));
		n = snprintf(line, sizeof(line), "\n%s ddpsctpd: %s: %s\n", now, names[level],
			     text);
	}
	return torn ? write_out(line, (size_t)n) : write_out(line + 1, (size_t)n - 1);
}

/* A line with fields, else without them. False: it is lost. */
static bool send_line(enum log_level level, const char *text, const char *fields)
{
	int r = fields ? journald_send(priorities[level], text, fields) : -ENOTCONN;

	return r == 0 || (r != -EAGAIN && put_line(level, text));
}

static void write_line(enum log_level level, char *text, size_t len, const char *fields)
{
	char report[64];

	if (len > TEXT_MAX) /* length of the whole message */
		memcpy(text + TEXT_MAX - 3, "...", 4);
	sanitize(text);
	if (unread > 0) {
		snprintf(report, sizeof(report), "%" PRIu64 " lines lost: the reader is too slow",
			 unread);
		if (put_line(LOG_LEVEL_WARN, report))
			unread = 0;
	}
	if (unread > 0 || !send_line(level, text, fields))
		unread++;
}

static void log_va(enum log_level level, uint64_t lost, const char *fields, const char *fmt,
		   va_list ap)
{
	char text[TEXT_MAX + 1];
	int saved = errno;
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	if (n < 0)
		n = snprintf(text, sizeof(text), "%s", fmt);
	if (lost > 0 && n < TEXT_MAX)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " (and %" PRIu64 " more)", lost);
	write_line(level, text, (size_t)n, fields);
	errno = saved;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > shown)
		return;
	va_start(ap, fmt);
	log_va(level, 0, NULL, fmt, ap);
	va_end(ap);
}

/* ---- budgets ---- */

static void report_suppressed(struct timer *t)
{
	struct log_limit *l = list_entry(t, struct log_limit, report);

	log_limit_deinit(l);
}

void log_limit_init(struct log_limit *l, struct timers *timers, const char *about)
{
	*l = (struct log_limit){.timers = timers, .about = about, .burst = LOG_BURST};
	timer_init(&l->report, report_suppressed);
}

void log_limit_deinit(struct log_limit *l)
{
	timer_cancel(l->timers, &l->report);
	if (l->lost > 0)
		log_info("%" PRIu64 " more lines about %s were left out", l->lost, l->about);
	l->lost = 0;
}

static void leave_out(struct log_limit *l)
{
	if (l->lost++ == 0)
		timer_set(l->timers, &l->report, l->since_ms + LOG_INTERVAL_MS);
}

/* True if the line is within the budget. */
static bool admit(struct log_limit *l, uint64_t now_ms)
{
	if (l->lines > 0 && now_ms - l->since_ms >= LOG_INTERVAL_MS)
		l->lines = 0;
	if (l->lines >= l->burst) {
		leave_out(l);
		return false;
	}
	if (l->lines++ == 0)
		l->since_ms = now_ms;
	return true;
}

__attribute__((format(printf, 5, 0))) static void limited_va(struct log_limit *l, uint64_t now_ms,
							     enum log_level level,
							     const char *fields, const char *fmt,
							     va_list ap)
{
	if (level > shown || !admit(l, now_ms))
		return;
	log_va(level, l->lost, fields, fmt, ap);
	l->lost = 0;
	timer_cancel(l->timers, &l->report);
}

__attribute__((format(printf, 5, 6))) static void limited(struct log_limit *l, uint64_t now_ms,
							  enum log_level level, const char *fields,
							  const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	limited_va(l, now_ms, level, fields, fmt, ap);
	va_end(ap);
}

void log_limited(struct log_limit *l, uint64_t now_ms, enum log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	limited_va(l, now_ms, level, NULL, fmt, ap);
	va_end(ap);
}

void log_limited_fields(struct log_limit *l, uint64_t now_ms, enum log_level level,
			const char *fields, const char *text)
{
	limited(l, now_ms, level, fields, "%s", text);
}
