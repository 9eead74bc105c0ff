/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether to repeat a call of a socket that failed. A signal interrupted it; or the kernel had no
 * memory for one record. The kernel frees memory before it says so, so a few repetitions succeed
 * where any do, and neither a record nor a ring is lost.
 */
#ifndef IPC_TRY_AGAIN_H
#define IPC_TRY_AGAIN_H

#include <errno.h>
#include <stdbool.h>

enum { TRY_AGAIN_MAX = 8 };

/* *tries counts those for want of memory; it is 0 at first. */
static inline bool try_again(int err, int *tries)
{
	return err == EINTR || ((err == ENOBUFS || err == ENOMEM) && ++*tries < TRY_AGAIN_MAX);
}

#endif
