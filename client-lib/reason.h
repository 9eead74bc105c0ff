/* SPDX-License-Identifier: BSD-2-Clause */
/* The reason of the last failure: a sentence per thread. */
#ifndef DDP_REASON_H
#define DDP_REASON_H

/* Sets the reason and returns err, so that a call fails with "return reason_fail(-EINVAL,
 * ...)". */
int reason_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same with the C library's message for err: "call: what: No such file or directory". */
int reason_errno(int err, const char *call, const char *what);

#endif
