/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of a node: the model knows every byte; parts are registered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

uint8_t arena_canary(uint32_t off)
{
	return (uint8_t)(0xa5 ^ off * 37 ^ off >> 8);
}

static void wipe(struct node *n, uint32_t off, uint32_t len)
{
	for (uint32_t i = off; i < off + len; i++)
		n->mem[i] = n->want[i] = arena_canary(i);
}

void arena_init(struct node *n)
{
	n->mem = alloc_zeroed(ARENA);
	n->want = alloc_zeroed(ARENA);
	wipe(n, 0, ARENA);
	n->stag_mem = alloc_zeroed(stag_table_size(STAGS_MAX));
	n->stags = stag_table_init(n->stag_mem, STAGS_MAX);
	n->pool = test_blocks_new(BLOCKS_MAX);
	list_init(&n->regions);
}

void arena_deinit(struct node *n)
{
	list_foreach_safe (it, &n->regions)
		region_free(list_entry(it, struct region, link));
	free(n->mem);
	free(n->want);
	free(n->stag_mem);
	test_blocks_free(n->pool);
}

static const char *place_name(const struct node *n, uint32_t off, char *buf, size_t size)
{
	list_foreach (it, &n->regions) {
		struct region *rg = list_entry(it, struct region, link);

		if (off >= rg->off && off < rg->off + rg->len) {
			snprintf(buf, size, "region 0x%08x%s offset %u", rg->stag,
				 rg->dead ? " (revoked)" : "", off - rg->off);
			return buf;
		}
	}
	return "no region";
}

void arena_check(struct node *n)
{
	uint32_t i = 0;
	char buf[80];

	while (i < ARENA) {
		struct slice *s;

		if (i % UNIT == 0 && memcmp(n->mem + i, n->want + i, UNIT) == 0) {
			i += UNIT;
			continue;
		}
		s = n->unit[i / UNIT];
		if (n->mem[i] == n->want[i]) {
			i++;
		} else if (s && s->receiving && i >= s->off && i < s->off + s->len) {
			slice_check(s);
			i = s->off + s->len;
		} else {
			fail(n->w, "node %u: byte %u (%s) is %02x and should be %02x", n->id, i,
			     place_name(n, i, buf, sizeof(buf)), n->mem[i], n->want[i]);
		}
	}
}

/* A run of free units, searched from a random place; UNITS if there is none. */
static uint32_t find_units(struct node *n, uint32_t count)
{
	uint32_t start = (uint32_t)random_below(n->w, UNITS), run = 0;

	for (uint32_t k = 0; k < UNITS + count; k++) {
		uint32_t i = (start + k) % UNITS;

		if (i == 0)
			run = 0;
		run = n->taken[i] ? 0 : run + 1;
		if (run == count)
			return i + 1 - count;
	}
	return UNITS;
}

/* Bases are odd on purpose: small, above 2^32, and as high as possible. */
static uint64_t draw_base(struct world *w, uint32_t len)
{
	switch (random_below(w, 4)) {
	case 0:
		return 0;
	case 1:
		return random_below(w, 100000);
	case 2:
		return simclock_random(w->clock) >> 8;
	default:
		return UINT64_MAX - len - random_below(w, 50);
	}
}

void region_retire(struct node *n, uint32_t stag, bool removed)
{
	n->stale[n->nstale++ % STALE_MAX] = stag;
	if (removed && n->nvacant < STALE_MAX)
		n->vacant[n->nvacant++] = stag;
}

uint32_t region_stale_stag(struct node *n)
{
	unsigned count = n->nstale < STALE_MAX ? n->nstale : STALE_MAX;

	return count ? n->stale[random_below(n->w, count)] : 0;
}

/* Takes a free index with a new key, or any free STag. */
static uint32_t draw_stag(struct node *n)
{
	uint32_t v;

	if (n->nvacant > 0 && chance(n->w, 5000)) {
		v = n->vacant[--n->nvacant];
		n->w->sum.reused_stags++;
		return (v & ~(uint32_t)STAG_KEY) | ((v + 1) & STAG_KEY);
	}
	do
		v = (uint32_t)simclock_random(n->w->clock);
	while (v <= STAG_KEY);
	return v;
}

/* An index is in use independently of its key. */
static void try_taken(struct node *n, const struct stag_region *r)
{
	struct stag_region twin = *r;

	twin.stag ^= 1 + (uint32_t)random_below(n->w, STAG_KEY);
	if (stag_add(n->stags, &twin) != STAG_ADD_E_TAKEN)
		fail(n->w, "node %u: two entries have the index of 0x%08x", n->id, r->stag);
}

void region_enter(struct node *n, struct stag_region *r)
{
	int e;

	do {
		r->stag = draw_stag(n);
		e = stag_add(n->stags, r);
	} while (e == STAG_ADD_E_TAKEN);
	if (e != STAG_ADD_OK)
		fail(n->w, "node %u: the STag table is full", n->id);
	if (chance(n->w, 500))
		try_taken(n, r);
}

static void add(struct region *rg)
{
	struct stag_region r = {
		.rights = rg->rights,
		.pd = rg->pd,
		.scope = rg->scope,
		.to = rg->to,
		.len = rg->len,
		.base = rg->node->mem + rg->off,
	};

	region_enter(rg->node, &r);
	rg->stag = r.stag;
}

struct region *region_new(struct node *n, struct ep *owner, uint64_t pd, uint64_t scope,
			  uint32_t rights, uint32_t len)
{
	uint32_t count = (len + UNIT - 1) / UNIT;
	uint32_t first = find_units(n, count);
	struct region *rg;

	if (first == UNITS)
		return NULL;
	rg = alloc_zeroed(sizeof(*rg));
	*rg = (struct region){
		.node = n,
		.owner = owner,
		.off = first * UNIT,
		.len = count * UNIT,
		.rights = rights,
		.pd = pd,
		.scope = scope,
	};
	rg->to = draw_base(n->w, rg->len);
	memset(n->taken + first, 1, count);
	add(rg);
	list_add_tail(&n->regions, &rg->link);
	return rg;
}

void region_op_uncertain(struct op *op, bool own)
{
	if (op->state == OP_DONE && op->kind != RDMAP_WRITE)
		return;
	op->uncertain = true;
	op->late |= op->state == OP_POSTED && own;
	if (op->ep->sess)
		op->ep->sess->uncertain = true;
	if (op->kind == RDMAP_RECV)
		op->ep->uncertain = true; /* the message that it takes is uncertain, and so are
					 those of later ones */
}

static bool lies_in(const struct op *op, const struct region *rg)
{
	for (unsigned i = 0; i < op->nlocal; i++)
		if (op->local_mem[i] && op->local_mem[i]->rg == rg)
			return true;
	return false;
}

static void mark_op(struct op *op, const struct region *rg)
{
	bool ends = op->grant && op->grant->rg == rg;
	bool own = lies_in(op, rg) || (ends && op_is_local(op->kind));

	if (own || ends || (op->target && op->target->rg == rg) || op->cell_in == rg)
		region_op_uncertain(op, own);
}

/* All requests in flight that use the region may fail now. */
static void mark_ops(struct world *w, struct region *rg)
{
	for (unsigned i = 0; i < w->nnodes; i++) {
		list_foreach (it, &w->node[i].eps) {
			struct ep *ep = list_entry(it, struct ep, link);

			for (unsigned k = 0; k < ep->sq_n; k++)
				mark_op(ep->sq[k], rg);
			for (unsigned k = 0; k < ep->rq_n; k++)
				mark_op(ep->rq[k], rg);
		}
	}
}

void region_revoke(struct region *rg, bool remove)
{
	struct node *n = rg->node;

	trace(n->w, "n%u region 0x%08x %s", n->id, rg->stag, remove ? "revoked" : "invalidated");
	if (remove) {
		window_revoke(rg);
		if (!stag_remove(n->stags, rg->stag))
			fail(n->w, "node %u: STag 0x%08x was not in the table", n->id, rg->stag);
	}
	region_retire(n, rg->stag, remove);
	if (rg->dead)
		return;
	rg->dead = true;
	n->w->sum.revoked++;
	mark_ops(n->w, rg);
	if (remove && rg->owner && rg->owner->sess)
		rg->owner->sess->uncertain = true;
	for (uint32_t u = rg->off / UNIT; u < (rg->off + rg->len) / UNIT; u++)
		if (n->unit[u])
			slice_settle(n->unit[u]);
}

void region_free(struct region *rg)
{
	struct node *n = rg->node;

	for (uint32_t u = rg->off / UNIT; u < (rg->off + rg->len) / UNIT; u++) {
		if (n->unit[u])
			fail(n->w, "simulator: node %u: a slice is left in region 0x%08x", n->id,
			     rg->stag);
		n->taken[u] = 0;
	}
	if (memcmp(n->mem + rg->off, n->want + rg->off, rg->len) != 0)
		arena_check(n);
	wipe(n, rg->off, rg->len);
	if (stag_remove(n->stags, rg->stag))
		region_retire(n, rg->stag, true);
	list_del(&rg->link);
	free(rg);
}
