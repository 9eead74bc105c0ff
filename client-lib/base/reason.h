/* SPDX-License-Identifier: BSD-2-Clause */
/* The reason of the last failure: a sentence per thread. */
#ifndef DDP_REASON_H
#define DDP_REASON_H

enum { REASON_MAX = 512 }; /* bytes of any */

/* Sets the reason and returns err: "return reason_fail(-EINVAL, ...)". */
int reason_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same with a message for the negative errno value of a system call of this process: "CALL:
 * WHAT: No such file or directory". If a limit of descriptors or of memory maps was reached, the
 * message names the limit and its value. */
int reason_errno(int err, const char *call, const char *what);

/* The same for a thread that could not be created. */
int reason_thread(int err, const char *call, const char *what);

/* The daemon is gone: returns -EPIPE. */
int reason_daemon_gone(const char *call);

/* The object was made by a daemon that has ended, before ddp_reopen(): returns -EPIPE. */
int reason_former(const char *call);

/* The context belongs to the parent of this process: returns -ECHILD. */
int reason_forked(const char *call);

/* err_kind of a completion that the library has made, because the daemon had ended. */
enum { REASON_DAEMON_ENDED = 0xffff };

#endif
