/* SPDX-License-Identifier: BSD-2-Clause */
/* The other threads of this process. */
#ifndef DDP_THREADS_H
#define DDP_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns true if the calling thread is known to be the only one. */
bool threads_alone(void);

/*
 * Returns the id of a thread whose control block lies in the pages of [start, end), or 0. Such
 * pages must not move: the kernel writes to control blocks at any time, and a thread that ends
 * wakes the one that joins it by the physical address.
 */
pid_t threads_block_in(uintptr_t start, uintptr_t end);

#endif
