/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/blocks.h"

void blocks_init(struct blocks *b, void *mem, struct blocks_chunk *chunk, uint32_t chunks)
{
	*b = (struct blocks){.mem = mem, .chunk = chunk, .chunks = chunks};
	list_init(&b->partial);
	list_init(&b->idle);
	list_init(&b->clean);
}

bool blocks_reserve(struct blocks *b, uint64_t n)
{
	uint64_t all = (uint64_t)b->chunks * BLOCKS_OF_CHUNK;

	if (n > all - b->reserved)
		return false;
	b->reserved += n;
	return true;
}

void blocks_unreserve(struct blocks *b, uint64_t n)
{
	assert(b->reserved - n >= b->used);
	b->reserved -= n;
}

static struct blocks_chunk *chunk_of(struct list *l)
{
	return list_entry(l, struct blocks_chunk, link);
}

/* Chunks in use are taken first, so that the others become idle. */
void blocks_next_chunk(struct blocks *b)
{
	struct list *l = list_pop(&b->partial);

	if (!l)
		l = list_pop(&b->idle);
	if (!l)
		l = list_pop(&b->clean);
	if (l) {
		b->now = chunk_of(l);
		b->now->idle = 0;
		return;
	}
	assert(b->touched < b->chunks); /* every reserved block exists */
	b->now = &b->chunk[b->touched++];
	list_init(&b->now->link);
}

void blocks_moved(struct blocks *b, struct blocks_chunk *c)
{
	list_del(&c->link);
	c->idle = 0;
	/* In front: the chunk used last is used next. */
	list_add_tail(c->used ? b->partial.next : b->idle.next, &c->link);
}

/* The chunk that blocks are taken from is not on a list; it counts as idle without a block in use.
 */
static void retire(struct blocks *b)
{
	struct blocks_chunk *c = b->now;

	if (!c || c->used > 0 || c->fresh == 0)
		return;
	b->now = NULL;
	list_add_tail(&b->idle, &c->link);
}

void *blocks_trim(struct blocks *b)
{
	struct list *l;

	list_foreach (it, &b->idle) {
		struct blocks_chunk *c = chunk_of(it);

		if (!c->idle)
			continue;
		list_del(it);
		*c = (struct blocks_chunk){0};
		list_init(&c->link);
		list_add_tail(&b->clean, &c->link);
		return b->mem + (size_t)(c - b->chunk) * BLOCKS_CHUNK;
	}
	retire(b);
	for (l = b->idle.next; l != &b->idle; l = l->next)
		chunk_of(l)->idle = 1;
	return NULL;
}

bool blocks_may_trim(const struct blocks *b)
{
	return !list_empty(&b->idle) || (b->now && b->now->used == 0 && b->now->fresh > 0);
}
