/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The blocks (util/blocks.h) of a worker, in one large range of addresses. It uses memory only
 * where blocks are in use; the memory goes back to the system about a second after their use.
 */
#ifndef DAEMON_BASE_BLOCK_POOL_H
#define DAEMON_BASE_BLOCK_POOL_H

#include "util/blocks.h"
#include "util/timer.h"

struct block_pool {
	struct blocks blocks;
	size_t bytes; /* of addresses */
	struct timer trim;
};

/* A pool as large as the address space permits. Without addresses no block can be reserved. */
void block_pool_open(struct block_pool *p);

/* No block is in use. */
void block_pool_close(struct block_pool *p);

/* Called at the end of a turn: unused memory will go back to the system. */
void block_pool_check(struct block_pool *p, struct timers *timers, uint64_t now_ms);

#endif
