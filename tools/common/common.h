/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tools share: messages, signals, clocks, statistics.
 * Nothing here touches the client library, so that it can be tested alone.
 */
#ifndef TOOLS_COMMON_H
#define TOOLS_COMMON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses of all tools. */
enum {
	COMMON_OK,
	COMMON_FAILED,
	COMMON_USAGE,
};

/* To be called first: the name that messages begin with. SIGINT and SIGTERM then ask the program to
 * stop; one that comes more than a second later kills it. SIGPIPE is ignored. */
void common_start(const char *tool);

/* The name given to common_start(). */
const char *common_tool(void);

/* True after SIGINT or SIGTERM. */
bool common_stopped(void);

/* "tool: text" and a newline on stderr. Bytes that could control a terminal become '?'. */
void common_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for a message that is not a failure: not kept as the last error. */
void common_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The last such error of any thread; "" if there was none. For a program about to end. */
const char *common_last_error(void);

/* Prints "what: reason (errno text)" as an error. The reason is of libddpclient, without the name
 * of its call; if it has the text, or there is no reason, the text stands alone. Returns err, an
 * errno value of either sign. */
int common_fail(const char *what, int err, const char *reason);

/* The same as common_error() with a hint at --help. Returns COMMON_USAGE. */
int common_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The hint alone, after a message of another library. Returns COMMON_USAGE. */
int common_usage_hint(void);

/* Prints the tool's and the library's version (major << 16 | minor << 8 | patch). */
void common_version(uint32_t library);

/* The text of an errno value of either sign, beginning in lower case. Thread-local, valid until
 * the next call. */
const char *common_strerror(int err);

/* Copies len bytes of text to out, of size bytes, with '?' for all that is not printable ASCII and
 * a NUL at the end. A NUL in the text ends it. */
void common_clean(char *out, size_t size, const void *text, size_t len);

/* The monotonic clock. */
uint64_t common_now_ns(void);

/* CPU time of this process so far, in seconds. */
void common_cpu(double *ret_user, double *ret_system);

/* A growing list of numbers. All zero is empty. */
struct common_samples {
	double *v;
	size_t n, room;
};

/* Returns 0 or -ENOMEM. */
int common_samples_add(struct common_samples *s, double v);
void common_samples_free(struct common_samples *s);

struct common_stats {
	size_t n;
	double min, median, mean, p99, max; /* all 0 if n is 0 */
};

/* Sorts the samples. The median of an even number is the mean of the two in the middle; p99 is
 * the smallest sample that 99 % do not exceed. */
void common_samples_stats(struct common_samples *s, struct common_stats *ret);

#endif
