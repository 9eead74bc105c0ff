/* SPDX-License-Identifier: BSD-2-Clause */
/* The reason of the last failure: a sentence per thread. */
#ifndef DDP_REASON_H
#define DDP_REASON_H

/* Sets the reason and returns err, so that a call fails with "return reason_fail(-EINVAL,
 * ...)". */
int reason_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same with a message for the negative errno value of a system call of this process: "call:
 * what: No such file or directory". If a limit was reached, of descriptors or of memory maps, it
 * names the limit and its value. */
int reason_errno(int err, const char *call, const char *what);

/* The same for a thread that could not be made. */
int reason_thread(int err, const char *call, const char *what);

#endif
