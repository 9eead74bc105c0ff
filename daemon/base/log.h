/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages to the administrator: one line a call, the object first ("assoc 7: down, 192.0.2.1:5043:
 * ..."), no newline at the end of the format. Never called on the data path. Level and target are
 * the only process-wide state of the daemon, so that every file can log without a parameter for it.
 *
 * Plain lines have the time (UTC), which the journal adds to its own lines.
 *
 * Logging never blocks. When the reader of a pipe, terminal or socket is too slow, lines are lost
 * and counted. "N lines lost: the reader is too slow" precedes the next line that gets through.
 */
#ifndef DAEMON_BASE_LOG_H
#define DAEMON_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/timer.h"

/* Ordered by severity: the level that is set shows itself and all more severe ones. */
enum log_level {
	LOG_LEVEL_ERR,   /* the daemon, or a part of it, cannot continue */
	LOG_LEVEL_WARN,  /* something is wrong, the daemon continues */
	LOG_LEVEL_INFO,  /* start, stop, associations, refusals */
	LOG_LEVEL_DEBUG, /* each request */
	LOG_LEVELS,
};

enum log_target {
	LOG_TARGET_AUTO,    /* the journal if JOURNAL_STREAM names standard error, else plain; lines
			       with fields go to journald itself then */
	LOG_TARGET_STDERR,  /* plain lines */
	LOG_TARGET_JOURNAL, /* lines with a <N> priority in front, which journald strips */
};

/* Sets the form of all later lines; they go to standard error in either case. Opens it a second
 * time if that is needed to write without blocking. To be called once. Default: plain. */
void log_open(enum log_target target);

/* Sets the minimum severity that is logged. Default: LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

/* "error", "warning", "info", "debug" */
const char *log_level_name(enum log_level level);

/* Logs one line of at most 1000 bytes. Control characters become '?'. errno is preserved. */
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_err(...) log_at(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* ---- messages that peers and clients can provoke ---- */

enum {
	LOG_BURST = 10,          /* lines ... */
	LOG_INTERVAL_MS = 10000, /* ... in this time */
};

/* One budget of lines. */
struct log_limit {
	struct timers *timers;
	struct timer report; /* set while lines are left out */
	const char *about;
	uint64_t since_ms; /* when the interval began */
	uint32_t burst;    /* lines in an interval */
	uint32_t lines;    /* logged in it */
	uint64_t lost;     /* left out since the last line */
};

/* about: the subject of its lines, a plural: "associations". timers are in milliseconds. burst is
 * LOG_BURST, and may be set afterward. */
void log_limit_init(struct log_limit *l, struct timers *timers, const char *about);

/* Reports the lines that were left out so far. */
void log_limit_deinit(struct log_limit *l);

/*
 * Like log_at(), but at most `burst` lines in LOG_INTERVAL_MS. The next line after that ends in
 * "(and N more)"; if none follows, a line of its own reports them at the end of the interval.
 * now_ms: the time of the timers. Lines of a level that is not shown do not count.
 */
void log_limited(struct log_limit *l, uint64_t now_ms, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for a text, with fields for the journal: lines of "NAME=value", without control
 * characters in a value, each with a newline at its end. Plain lines do not show them. */
void log_limited_fields(struct log_limit *l, uint64_t now_ms, enum log_level level,
			const char *fields, const char *text);

#endif
