/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of one size for data in flight. When an object is set up, it reserves as many blocks as it
 * can ever hold at once; it takes them when it needs them and gives them back afterwards. So taking
 * a block cannot fail, and only blocks that are in use need memory.
 *
 * The memory is one range of addresses that the caller provides. It is written to only where blocks
 * are in use or were; blocks_trim() names the parts that can go back to the system. The block that
 * was given back last is taken next: it still is in the processor's cache.
 */
#ifndef UTIL_BLOCKS_H
#define UTIL_BLOCKS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/list.h"

enum {
	BLOCKS_SIZE = 1024,   /* bytes of a block, all usable; aligned to them */
	BLOCKS_OF_CHUNK = 64, /* blocks that go back to the system together */
	BLOCKS_CHUNK = BLOCKS_SIZE * BLOCKS_OF_CHUNK,
};

/* A part of the memory. Private. All zero: none of its blocks was ever taken. */
struct blocks_chunk {
	struct list link;
	uint16_t free1; /* the block that was given back last + 1, or 0 */
	uint16_t fresh; /* this block and those after it were not written to */
	uint16_t used;
	uint16_t idle; /* not used since the last blocks_trim() */
};

/* Private. */
struct blocks {
	uint8_t *mem;
	struct blocks_chunk *chunk; /* one for each BLOCKS_CHUNK bytes of mem */
	struct blocks_chunk *now;   /* that blocks are taken from; NULL: none yet */
	uint32_t chunks;
	uint32_t touched; /* chunks from this one on were never used */
	uint64_t reserved, used;
	struct list partial; /* chunks with a free block and one in use */
	struct list idle;    /* chunks without one in use, whose memory may be written to */
	struct list clean;   /* the same, and their memory went back */
};

/* Makes a pool of `chunks` times BLOCKS_CHUNK bytes at mem, aligned to BLOCKS_SIZE. chunk: zeroed
 * memory for as many records. The caller keeps both. Without chunks every reservation fails. */
void blocks_init(struct blocks *b, void *mem, struct blocks_chunk *chunk, uint32_t chunks);

/* Reserves n blocks. False: there are not as many left. */
bool blocks_reserve(struct blocks *b, uint64_t n);

/* Gives a reservation back; its blocks are not in use. */
void blocks_unreserve(struct blocks *b, uint64_t n);

/* Another chunk with a free block: private. */
void blocks_next_chunk(struct blocks *b);

/* The last block of a chunk is free, or the first one of a full chunk: private. */
void blocks_moved(struct blocks *b, struct blocks_chunk *c);

/* A block with any content, of those that the caller has reserved. */
static inline void *blocks_get(struct blocks *b)
{
	struct blocks_chunk *c = b->now;
	uint8_t *at;
	uint32_t i;

	assert(b->used < b->reserved);
	if (!c || (!c->free1 && c->fresh == BLOCKS_OF_CHUNK)) {
		blocks_next_chunk(b);
		c = b->now;
	}
	at = b->mem + (size_t)(c - b->chunk) * BLOCKS_CHUNK;
	i = c->free1 ? c->free1 - 1U : c->fresh;
	at += (size_t)i * BLOCKS_SIZE;
	if (c->free1)
		memcpy(&c->free1, at, sizeof(c->free1));
	else
		c->fresh++;
	c->used++;
	b->used++;
	return at;
}

/* Gives a block back. NULL is fine. */
static inline void blocks_put(struct blocks *b, void *block)
{
	size_t off;
	struct blocks_chunk *c;

	if (!block)
		return;
	off = (size_t)((uint8_t *)block - b->mem);
	c = &b->chunk[off / BLOCKS_CHUNK];
	memcpy(block, &c->free1, sizeof(c->free1));
	c->free1 = (uint16_t)(off % BLOCKS_CHUNK / BLOCKS_SIZE + 1);
	c->used--;
	b->used--;
	if (c != b->now && (c->used == 0 || c->used == BLOCKS_OF_CHUNK - 1))
		blocks_moved(b, c);
}

/* Reserves a block and gets it; NULL: none is left. */
static inline void *blocks_take(struct blocks *b)
{
	return blocks_reserve(b, 1) ? blocks_get(b) : NULL;
}

/* Puts a block that was taken back. */
static inline void blocks_give(struct blocks *b, void *block)
{
	blocks_put(b, block);
	blocks_unreserve(b, 1);
}

/*
 * Finds memory that was not used since the last round, and takes it as clean: the caller gives
 * these BLOCKS_CHUNK bytes back to the system or leaves them. A round is all calls until NULL.
 */
void *blocks_trim(struct blocks *b);

/* True if a round of blocks_trim() may find something, now or after the next. */
bool blocks_may_trim(const struct blocks *b);

#endif
