/* SPDX-License-Identifier: BSD-2-Clause */
/* The sentence of the last failure, one per thread. */
#ifndef DDP_REASON_H
#define DDP_REASON_H

/* Writes the sentence and returns err, so that a call fails with "return reason_fail(-EINVAL,
 * ...)". */
int reason_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same in the words of the C library: "call: what: No such file or directory". */
int reason_errno(int err, const char *call, const char *what);

#endif
