/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/memory/cells.h"

#include <assert.h>

/* In the place of cell 0. */
struct block {
	struct list link;
	uint64_t free; /* a bit per cell; bit 0 is never set */
};

enum { CELLS = SCTP_BLOCK / SCTP_CELL - 1 };

static const uint64_t all_free = ~UINT64_C(1);

static_assert(sizeof(struct sctp_cell) == SCTP_CELL, "cells fill a block");
static_assert(sizeof(struct block) <= SCTP_CELL, "the head of a block fits into a cell");
static_assert(CELLS == 63, "one bit per cell");

void sctp_cells_init(struct sctp_cells *c, const struct sctp_account *account)
{
	*c = (struct sctp_cells){.account = account};
	list_init(&c->partial);
	list_init(&c->full);
}

static void put_cell_blocks(struct sctp_cells *c, struct list *blocks)
{
	struct list *l;

	while ((l = list_pop(blocks)))
		sctp_pool_put(c->account, list_entry(l, struct block, link));
}

void sctp_cells_deinit(struct sctp_cells *c)
{
	put_cell_blocks(c, &c->partial);
	put_cell_blocks(c, &c->full);
	c->used = c->free = 0;
}

bool sctp_cells_reserve(struct sctp_cells *c, uint32_t n)
{
	struct list added;
	uint32_t have = c->free;

	list_init(&added);
	for (; have < n; have += CELLS) {
		struct block *b = sctp_pool_get(c->account);

		if (!b) {
			put_cell_blocks(c, &added);
			return false;
		}
		b->free = all_free;
		list_add_tail(&added, &b->link);
	}
	list_splice_tail(&c->partial, &added);
	c->free = have;
	return true;
}

struct sctp_cell *sctp_cells_get(struct sctp_cells *c)
{
	struct block *b = list_entry(c->partial.next, struct block, link);
	struct sctp_cell *cell;
	unsigned i;

	assert(!list_empty(&c->partial));
	i = (unsigned)__builtin_ctzll(b->free);
	b->free &= b->free - 1;
	if (!b->free) {
		list_del(&b->link);
		list_add_tail(&c->full, &b->link);
	}
	c->free--;
	c->used++;
	cell = (struct sctp_cell *)(void *)((uint8_t *)b + (size_t)i * SCTP_CELL);
	cell->next = NULL;
	cell->off = cell->len = 0;
	cell->index = (uint8_t)i;
	return cell;
}

static void put_cell(struct sctp_cells *c, struct sctp_cell *cell)
{
	uint64_t bit = UINT64_C(1) << cell->index;
	struct block *b =
		(struct block *)(void *)((uint8_t *)cell - (size_t)cell->index * SCTP_CELL);

	assert(!(b->free & bit));
	if (!b->free) {
		list_del(&b->link);
		list_add_tail(&c->partial, &b->link);
	}
	b->free |= bit;
	c->free++;
	c->used--;
	if (b->free == all_free) {
		list_del(&b->link);
		c->free -= CELLS;
		sctp_pool_put(c->account, b);
	}
}

void sctp_cells_put(struct sctp_cells *c, struct sctp_cell *chain)
{
	while (chain) {
		struct sctp_cell *next = chain->next;

		put_cell(c, chain);
		chain = next;
	}
}
