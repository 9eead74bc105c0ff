/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages on stderr. They begin with the name of the tool; bytes that could control a terminal
 * become '?'.
 */
#ifndef TOOLS_MESSAGE_H
#define TOOLS_MESSAGE_H

#include <stddef.h>

/* Prints an error: "tool: text" and a newline. */
void message_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for a message that is not a failure: not kept as the last error. */
void message_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The last error of any thread; "" if there was none. For a program that is about to end. */
const char *message_last_error(void);

/* Prints "what: reason (errno text)" as an error. The reason is of libddpclient, without the name
 * of its call; if it contains the text, or there is no reason, one of the two is left out. Returns
 * err, an errno value of either sign. */
int message_fail(const char *what, int err, const char *reason);

/* Prints an error, and a hint at --help. Returns TOOL_USAGE. */
int message_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The hint alone, after a message of another library. Returns TOOL_USAGE. */
int message_usage_hint(void);

/* The text of an errno value of either sign, beginning in lower case. Thread-local, valid until
 * the next call. */
const char *message_strerror(int err);

/* Copies len bytes of text to out, of size bytes, with '?' for all that is not printable ASCII and
 * a NUL at the end. A NUL in the text ends it. */
void message_sanitize(char *out, size_t size, const void *text, size_t len);

#endif
