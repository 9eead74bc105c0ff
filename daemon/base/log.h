/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the daemon tells its administrator: one line a call, the object first ("peer
 * 192.0.2.1:5043: association lost: ..."), no newline at the end of the format. Never called on
 * the data path. The level and the target are the one process-wide state of the
 * daemon, so that every file can log without being handed something.
 */
#ifndef DAEMON_BASE_LOG_H
#define DAEMON_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Ordered: a level shows itself and all above it. */
enum log_level {
	LOG_LEVEL_ERR,   /* the daemon, or a part of it, cannot go on */
	LOG_LEVEL_WARN,  /* something is wrong, work goes on */
	LOG_LEVEL_INFO,  /* start, stop, associations, refusals */
	LOG_LEVEL_DEBUG, /* each request */
	LOG_LEVELS,
};

enum log_target {
	LOG_TARGET_AUTO,    /* the journal if JOURNAL_STREAM names standard error, else plain */
	LOG_TARGET_STDERR,  /* plain lines */
	LOG_TARGET_JOURNAL, /* lines with a <N> priority in front, which journald strips */
};

/* Chooses the target of all later lines, standard error either way. Before it: plain. */
void log_open(enum log_target target);

/* Chooses what is shown. Before it: LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

/* "error", "warning", "info", "debug" */
const char *log_level_name(enum log_level level);

/* True if the name is one of log_level_name(). */
bool log_level_parse(const char *name, enum log_level *ret);

/* One line, at most 1000 bytes of it. Control characters become '?'; errno is kept. */
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

/* One per place or per object that logs. All zero to begin with. */
struct log_limit {
	uint64_t since_ms; /* when the interval began */
	uint32_t lines;    /* logged in it */
	uint64_t lost;     /* left out since the last line */
};

/*
 * Like log_at(), but at most LOG_BURST lines in LOG_INTERVAL_MS; the first line after a gap ends in
 * "(and N more)". now_ms: event_loop_now_ms(). Levels that are not shown cost nothing of the
 * budget.
 */
void log_limited(struct log_limit *l, uint64_t now_ms, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
