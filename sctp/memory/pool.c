/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/memory/pool.h"

#include <assert.h>
#include <string.h>

/* Before each block, so that a block finds its slab. */
struct head {
	struct slab *slab;
	struct head *next; /* free block of the slab */
	bool in_use;
};

enum { HEAD = 64, STRIDE = HEAD + SCTP_BLOCK };

static_assert(sizeof(struct head) <= HEAD, "the head fits before the block");

struct slab {
	struct list link;
	struct head *free;
	unsigned used;
	uint8_t memory[64 + SCTP_SLAB_BLOCKS * STRIDE]; /* 64: for alignment */
};

void sctp_pool_init(struct sctp_pool *p, const struct sctp_mem *mem, uint64_t limit)
{
	*p = (struct sctp_pool){.mem = *mem, .limit = limit};
	list_init(&p->free_slabs);
	list_init(&p->partial_slabs);
	list_init(&p->full_slabs);
}

static void *take_block(struct sctp_pool *p, size_t len)
{
	void *m = p->mem.alloc(p->mem.user, len);

	if (m)
		p->held += len;
	return m;
}

static void give(struct sctp_pool *p, void *m, size_t len)
{
	p->held -= len;
	p->mem.free(p->mem.user, m, len);
}

static void free_slabs(struct sctp_pool *p, struct list *slabs)
{
	struct list *l;

	while ((l = list_pop(slabs)))
		give(p, list_entry(l, struct slab, link), sizeof(struct slab));
}

void sctp_pool_deinit(struct sctp_pool *p)
{
	free_slabs(p, &p->free_slabs);
	free_slabs(p, &p->partial_slabs);
	free_slabs(p, &p->full_slabs);
	if (p->scratch)
		sctp_pool_table_free(&(struct sctp_account){p, NULL}, p->scratch, SCTP_SCRATCH);
	p->scratch = NULL;
	p->used = 0;
	p->nfree = p->idle_slabs = 0;
}

static struct slab *new_slab(struct sctp_pool *p)
{
	struct slab *s = take_block(p, sizeof(*s));
	uint8_t *m;

	if (!s)
		return NULL;
	s->free = NULL;
	s->used = 0;
	m = s->memory + (-(uintptr_t)s->memory & 63);
	for (unsigned i = SCTP_SLAB_BLOCKS; i-- > 0;) {
		struct head *h = (struct head *)(void *)(m + (size_t)i * STRIDE);

		*h = (struct head){.slab = s, .next = s->free};
		s->free = h;
	}
	list_init(&s->link);
	return s;
}

/* A slab with a free block, unlinked. Slabs in use are preferred, so that the others become
 * free. */
static struct slab *slab_with_room(struct sctp_pool *p)
{
	struct list *l = list_pop(&p->partial_slabs);

	if (!l && (l = list_pop(&p->free_slabs))) {
		p->nfree--;
		if (p->nfree < p->idle_slabs)
			p->idle_slabs = p->nfree;
	}
	return l ? list_entry(l, struct slab, link) : new_slab(p);
}

static bool fits_pool(const struct sctp_pool *p, size_t len)
{
	return p->used <= p->limit && len <= p->limit - p->used;
}

void *sctp_pool_get(const struct sctp_account *a)
{
	struct sctp_pool *p = a->pool;
	struct slab *s;
	struct head *h;

	if (!fits_pool(p, SCTP_BLOCK) || !network_charge(a->network, NETWORK_MEMORY, SCTP_BLOCK))
		return NULL;
	s = slab_with_room(p);
	if (!s) {
		network_release(a->network, NETWORK_MEMORY, SCTP_BLOCK);
		return NULL;
	}
	h = s->free;
	s->free = h->next;
	h->in_use = true;
	s->used++;
	list_add_tail(s->free ? &p->partial_slabs : &p->full_slabs, &s->link);
	p->used += SCTP_BLOCK;
	return (uint8_t *)h + HEAD;
}

bool sctp_pool_trim(struct sctp_pool *p)
{
	for (unsigned n = p->idle_slabs; n && p->nfree > 1; n--, p->nfree--)
		give(p, list_entry(list_pop(&p->free_slabs), struct slab, link),
		     sizeof(struct slab));
	p->idle_slabs = p->nfree;
	return p->nfree > 1;
}

void sctp_pool_put(const struct sctp_account *a, void *block)
{
	struct sctp_pool *p = a->pool;
	struct head *h;
	struct slab *s;

	if (!block)
		return;
	h = (struct head *)(void *)((uint8_t *)block - HEAD);
	s = h->slab;
	assert(h->in_use);
	h->in_use = false;
	h->next = s->free;
	s->free = h;
	s->used--;
	p->used -= SCTP_BLOCK;
	network_release(a->network, NETWORK_MEMORY, SCTP_BLOCK);
	list_del(&s->link);
	if (s->used > 0) {
		list_add_tail(&p->partial_slabs, &s->link);
		return;
	}
	/* In front: the slab that was used last is used next, others become idle. */
	list_add_tail(p->free_slabs.next, &s->link);
	p->nfree++;
}

void *sctp_pool_table(const struct sctp_account *a, size_t len)
{
	struct sctp_pool *p = a->pool;
	void *m = NULL;

	if (!fits_pool(p, len) || !network_charge(a->network, NETWORK_MEMORY, len))
		return NULL;
	m = take_block(p, len);
	if (!m) {
		network_release(a->network, NETWORK_MEMORY, len);
		return NULL;
	}
	p->used += len;
	return memset(m, 0, len);
}

void sctp_pool_table_free(const struct sctp_account *a, void *table, size_t len)
{
	if (!table)
		return;
	a->pool->used -= len;
	network_release(a->network, NETWORK_MEMORY, len);
	give(a->pool, table, len);
}

uint8_t *sctp_pool_scratch(struct sctp_pool *p)
{
	if (!p->scratch)
		p->scratch = sctp_pool_table(&(struct sctp_account){p, NULL}, SCTP_SCRATCH);
	return p->scratch;
}
