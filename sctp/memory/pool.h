/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of one size for queued data, TSN records and maps. They are cut from slabs of the caller's
 * allocator; slabs whose blocks were all free for a while are given back, except for one, so that
 * the memory of a burst does not stay. The number of bytes in use is bounded.
 *
 * Tables of other sizes are allocated directly, within the same bound.
 */
#ifndef SCTP_POOL_H
#define SCTP_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "sctp/sctp.h"
#include "util/list.h"
#include "util/network.h"

enum {
	SCTP_BLOCK = 16384,    /* bytes of a block, all usable */
	SCTP_SLAB_BLOCKS = 16, /* of a slab */
	SCTP_SCRATCH = SCTP_MAX_MESSAGE,
};

struct sctp_pool {
	struct sctp_mem mem;
	uint64_t limit; /* bytes that may be in use */
	uint64_t used;  /* bytes of blocks and tables in use */
	uint64_t held;  /* bytes taken from the allocator */
	struct list free_slabs, partial_slabs, full_slabs;
	unsigned nfree;      /* free slabs */
	unsigned idle_slabs; /* of them, not used since the last sctp_pool_trim() */
	uint8_t *scratch;    /* SCTP_SCRATCH bytes, or NULL */
};

/* Who pays for blocks and tables of a pool. */
struct sctp_account {
	struct sctp_pool *pool;
	struct network *network; /* of the peer: NETWORK_MEMORY; NULL: no one */
};

/* mem: allocator of the slabs. limit: bytes in use. Does not allocate. */
void sctp_pool_init(struct sctp_pool *p, const struct sctp_mem *mem, uint64_t limit);

/* Frees all slabs and the scratch memory; blocks in use become invalid. Tables must have been freed
 * before. */
void sctp_pool_deinit(struct sctp_pool *p);

/* A block of SCTP_BLOCK bytes with any content, aligned to 64 bytes; NULL at a limit or without
 * memory. */
void *sctp_pool_get(const struct sctp_account *a);

/* Gives it back, from the same account. NULL is fine. O(1). */
void sctp_pool_put(const struct sctp_account *a, void *block);

/* Gives back the slabs that were free since the last call, except for one: a queue that fills and
 * drains keeps its memory, and that of a burst goes. True if it has to be called again. */
bool sctp_pool_trim(struct sctp_pool *p);

/* A table of len bytes, all 0; NULL at a limit or without memory. */
void *sctp_pool_table(const struct sctp_account *a, size_t len);

/* Gives a table of len bytes back. NULL is fine. */
void sctp_pool_table_free(const struct sctp_account *a, void *table, size_t len);

/* SCTP_SCRATCH bytes that all users of the pool share: each overwrites the content of the others.
 * Allocated by the first call, freed by sctp_pool_deinit(). NULL at the limit or without memory. */
uint8_t *sctp_pool_scratch(struct sctp_pool *p);

#endif
