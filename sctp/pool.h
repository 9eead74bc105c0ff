/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of one size for queued data, TSN records and maps. They are cut from slabs of the caller's
 * allocator; a slab whose blocks are all free is given back, except for one, so that the memory of
 * a burst does not stay. The number of bytes in use is bounded.
 */
#ifndef SCTP_POOL_H
#define SCTP_POOL_H

#include <stdint.h>

#include "sctp/sctp.h"
#include "util/list.h"

enum {
	SCTP_BLOCK = 16384,    /* bytes of a block, all usable */
	SCTP_SLAB_BLOCKS = 16, /* of a slab */
};

struct sctp_pool {
	struct sctp_mem mem;
	uint64_t limit; /* bytes of blocks that may be in use */
	uint64_t used;  /* bytes of blocks in use */
	uint64_t held;  /* bytes of slabs */
	struct list free_slabs, partial_slabs, full_slabs;
};

/* mem: of slabs. limit: bytes in use. Allocates nothing. */
void sctp_pool_init(struct sctp_pool *p, const struct sctp_mem *mem, uint64_t limit);

/* Frees all slabs; blocks in use become invalid. */
void sctp_pool_deinit(struct sctp_pool *p);

/* A block of SCTP_BLOCK bytes with any content, aligned to 64 bytes; NULL at the limit or without
 * memory. */
void *sctp_pool_get(struct sctp_pool *p);

/* Gives it back. NULL is fine. O(1). */
void sctp_pool_put(struct sctp_pool *p, void *block);

#endif
