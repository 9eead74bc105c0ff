/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of elements that are in flight. Only those from the oldest to the youngest have memory:
 * blocks of a pool (util/blocks.h), which go back when the last of their elements leaves. An empty
 * window has none. Positions only grow; they are masked on use.
 */
#ifndef PROTO_BLOCK_RING_H
#define PROTO_BLOCK_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "util/blocks.h"
#include "util/checked.h"

enum { BLOCK_RING_MIN_SIZE = 4 }; /* bytes of an element */

struct block_ring {
	uint8_t **block; /* of the elements; NULL where none is in the window */
	uint32_t mask;
	uint32_t head;  /* the oldest */
	uint32_t tail;  /* after the youngest */
	uint16_t size;  /* bytes of an element */
	uint8_t shift;  /* a block has 1 << shift elements ... */
	uint8_t within; /* ... of which this mask finds one */
};

/* Elements of one block, as an exponent. size: BLOCK_RING_MIN_SIZE .. BLOCKS_SIZE. */
static inline unsigned block_ring_shift(uint32_t size)
{
	unsigned shift = 0;

	while ((uint64_t)size << (shift + 1) <= BLOCKS_SIZE)
		shift++;
	return shift;
}

/* Blocks of a window with room for `depth` elements, a power of two: at most as many are in use. */
static inline uint32_t block_ring_blocks(uint32_t depth, uint32_t size)
{
	unsigned shift = block_ring_shift(size);

	return depth >> shift ? depth >> shift : 1;
}

/* An empty window. block: zeroed, block_ring_blocks() of them. */
static inline void block_ring_init(struct block_ring *w, uint8_t **block, uint32_t depth,
				   uint32_t size)
{
	unsigned shift = block_ring_shift(size);

	assert(checked_pow2(depth) && size >= BLOCK_RING_MIN_SIZE && size <= BLOCKS_SIZE);
	*w = (struct block_ring){.block = block,
				 .mask = depth - 1,
				 .size = (uint16_t)size,
				 .shift = (uint8_t)shift,
				 .within = (uint8_t)((depth - 1) & ((1U << shift) - 1))};
}

static inline uint32_t block_ring_len(const struct block_ring *w)
{
	return w->tail - w->head;
}

static inline bool block_ring_full(const struct block_ring *w)
{
	return block_ring_len(w) > w->mask;
}

/* The block of a position. */
static inline uint8_t **block_ring_block(const struct block_ring *w, uint32_t pos)
{
	return &w->block[(pos & w->mask) >> w->shift];
}

/* An element in the window. */
static inline void *block_ring_at(const struct block_ring *w, uint32_t pos)
{
	return *block_ring_block(w, pos) + (pos & w->within) * w->size;
}

/* Adds an element with any content; the window is not full. */
static inline void *block_ring_push(struct block_ring *w, struct blocks *pool)
{
	uint8_t **b = block_ring_block(w, w->tail);

	if (!*b)
		*b = blocks_get(pool);
	return block_ring_at(w, w->tail++);
}

/* Removes the oldest element; there is one. */
static inline void block_ring_pop(struct block_ring *w, struct blocks *pool)
{
	uint8_t **b = block_ring_block(w, w->head++);

	/* A ring that is nearly full may end in the block that it begins in. */
	if (w->head != w->tail &&
	    (b == block_ring_block(w, w->head) || b == block_ring_block(w, w->tail - 1)))
		return;
	blocks_put(pool, *b);
	*b = NULL;
}

/* Removes all elements. */
static inline void block_ring_clear(struct block_ring *w, struct blocks *pool)
{
	while (w->head != w->tail)
		block_ring_pop(w, pool);
}

#endif
