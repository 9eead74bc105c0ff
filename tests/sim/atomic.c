/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 7306: atomics on cells that all streams of a node share, and on private ones. The model
 * executes an atomic bit by bit, as section 5.1 describes it, when its response is offered to the
 * transport, and compares memory with its own result.
 */
#include <string.h>

#include "tests/sim/world.h"

/* ---- operations ---- */

static uint64_t fetch_add(uint64_t old, uint64_t data, uint64_t mask)
{
	uint64_t new = 0;
	unsigned carry = 0;

	for (unsigned i = 0; i < 64; i++) {
		unsigned sum = (unsigned)(old >> i & 1) + (unsigned)(data >> i & 1) + carry;

		new |= (uint64_t)(sum & 1) << i;
		carry = mask >> i & 1 ? 0 : sum >> 1;
	}
	return new;
}

static uint64_t cmp_swap(uint64_t old, const struct rdmap_wr *wr)
{
	uint64_t new = old;

	for (unsigned i = 0; i < 64; i++)
		if (wr->atomic.compare_mask >> i & 1 &&
		    (wr->atomic.compare >> i & 1) != (old >> i & 1))
			return old;
	for (unsigned i = 0; i < 64; i++)
		if (wr->atomic.mask >> i & 1)
			new = (new & ~(UINT64_C(1) << i)) | (wr->atomic.data & UINT64_C(1) << i);
	return new;
}

static uint64_t result_of(const struct rdmap_wr *wr, uint64_t old)
{
	if (wr->op == RDMAP_FETCH_ADD)
		return fetch_add(old, wr->atomic.data, wr->atomic.mask);
	return cmp_swap(old, wr);
}

static uint64_t load(const uint8_t *arena, uint32_t off)
{
	uint64_t v;

	memcpy(&v, arena + off, sizeof(v));
	return v;
}

/* ---- requests ---- */

static uint64_t draw_mask(struct world *w)
{
	static const uint64_t choice[] = {0, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(0x80000000),
					  UINT64_C(0x8080808080808080)};
	uint64_t r = random_below(w, 7);

	return r < 5 ? choice[r] : simclock_random(w->clock);
}

/* Also small numbers and their negatives, near the present value. */
static uint64_t draw_value(struct world *w)
{
	uint64_t v = simclock_random(w->clock);

	switch (random_below(w, 4)) {
	case 0:
		return v;
	case 1:
		return v >> 32;
	case 2:
		return v >> 60;
	default:
		return ~(v >> 60);
	}
}

/* now: the value of the cell when the request is posted. */
static void draw(struct op *op, uint64_t now)
{
	struct world *w = op->ep->w;

	op->wr.atomic.data = draw_value(w);
	op->wr.atomic.mask = draw_mask(w);
	op->wr.atomic.compare = chance(w, 7000) ? now : draw_value(w);
	op->wr.atomic.compare_mask = draw_mask(w);
}

static enum rdmap_op draw_kind(struct world *w)
{
	return chance(w, 5000) ? RDMAP_FETCH_ADD : RDMAP_CMP_SWAP;
}

/* A request for the cell, with or without memory for the old value. NULL if there is no memory. */
static struct op *request(struct ep *ep, enum rdmap_op kind)
{
	struct op *op = op_new(ep, kind, 0);

	if (chance(ep->w, 6000) && !op_sink(op, sizeof(uint64_t))) {
		op_drop(op);
		return NULL;
	}
	return op;
}

/* On a slice of 8 bytes, which it pins. */
static struct op *on_slice(struct ep *ep, enum rdmap_op kind, struct slice *s, struct grant *via)
{
	struct op *op = request(ep, kind);

	if (!op)
		return NULL;
	op->via = via;
	op_set_target(op, slice_pin(s));
	op->cell = s->off;
	op->cell_in = s->rg;
	draw(op, load(s->rg->node->want, s->off));
	return op;
}

static struct slice *private_cell(struct ep *ep, uint32_t rights, struct grant **ret_via)
{
	struct slice *s = op_remote_slice(ep, sizeof(uint64_t), STAG_REMOTE_ATOMIC | rights,
					  sizeof(uint64_t), ret_via);

	if (s)
		slice_fill(s, ++ep->w->contents, 0);
	return s;
}

static void post_shared(struct ep *ep)
{
	const struct ep *other = ep_other(ep);
	struct region *rg = other->node->cells[other->cfg.accessor.pd - 1];
	struct op *op = request(ep, draw_kind(ep->w));

	if (!op)
		return;
	op->cell_in = rg;
	op->cell = rg->off + (uint32_t)(random_below(ep->w, CELLS) * sizeof(uint64_t));
	op->wr.rstag = rg->stag;
	op->wr.rto = rg->to + (op->cell - rg->off);
	draw(op, load(other->node->want, op->cell));
	ep->w->sum.cells++;
	op_post(op);
}

void atomic_post(struct ep *ep)
{
	struct grant *via;
	struct slice *s;
	struct op *op;

	if (chance(ep->w, 6000)) {
		post_shared(ep);
		return;
	}
	s = private_cell(ep, 0, &via);
	if (!s)
		return;
	op = on_slice(ep, draw_kind(ep->w), s, via);
	slice_put(s);
	op_post(op);
}

/* The atomic sees the data of the Write before it. */
static void write_then_atomic(struct ep *ep, struct slice *s, struct grant *via)
{
	struct op *wr = op_new(ep, RDMAP_WRITE, s->len), *at;

	wr->via = via;
	op_set_target(wr, slice_pin(s));
	if (!op_source(wr)) {
		op_drop(wr);
		return;
	}
	slice_receive(s, wr, wr->cid, wr->from);
	ep_post(wr);
	at = on_slice(ep, draw_kind(ep->w), s, via);
	if (!at)
		return;
	at->needs = wr;
	ep_post(at);
}

/* The Read returns the result of the atomic before it. */
static void atomic_then_read(struct ep *ep, struct slice *s, struct grant *via)
{
	struct op *at = on_slice(ep, draw_kind(ep->w), s, via), *rd;

	if (!at)
		return;
	ep_post(at);
	rd = op_new(ep, RDMAP_READ, s->len);
	rd->after = at;
	rd->via = via;
	op_set_target(rd, slice_pin(s));
	if (op_sink(rd, rd->len))
		ep_post(rd);
	else
		op_drop(rd);
}

/* The second one compares with the result of the first one, and succeeds. */
static void two_swaps(struct ep *ep, struct slice *s, struct grant *via)
{
	struct op *a = on_slice(ep, RDMAP_CMP_SWAP, s, via), *b;

	if (!a)
		return;
	ep_post(a);
	b = on_slice(ep, RDMAP_CMP_SWAP, s, via);
	if (!b)
		return;
	b->wr.atomic.compare = result_of(&a->wr, load(s->rg->node->want, s->off));
	b->wr.atomic.compare_mask = UINT64_MAX;
	ep_post(b);
}

void atomic_post_pair(struct ep *ep)
{
	static const uint32_t rights[] = {STAG_REMOTE_WRITE, STAG_REMOTE_READ, 0};
	uint64_t r = random_below(ep->w, 3);
	struct grant *via;
	struct slice *s = private_cell(ep, rights[r], &via);

	if (!s)
		return;
	if (r == 0)
		write_then_atomic(ep, s, via);
	else if (r == 1)
		atomic_then_read(ep, s, via);
	else
		two_swaps(ep, s, via);
	slice_put(s);
}

/* ---- execution and completion ---- */

static void check_access(const struct op *op)
{
	struct world *w = op->ep->w;

	if (op->must || !op->cell_in)
		fail(w, "atomic #%llu is executed despite its error",
		     (unsigned long long)op->cookie);
	if (op->cell_in->dead || (op->via && op->via->state == GRANT_OVER))
		fail(w, "atomic #%llu is executed on memory that it cannot access",
		     (unsigned long long)op->cookie);
}

void atomic_execute(struct op *op, uint64_t returned)
{
	struct world *w = op->ep->w;
	struct node *n;

	if (op->executed) {
		if (returned != op->old)
			fail(w, "atomic #%llu is executed twice", (unsigned long long)op->cookie);
		return;
	}
	check_access(op);
	if (op->needs && !op->needs->uncertain && op->needs->target)
		slice_overwritten(op->needs->target); /* or the old value would differ */
	n = op->cell_in->node;
	op->executed = true;
	op->old = op_known(op) ? load(n->want, op->cell) : returned;
	op->new = result_of(&op->wr, op->old);
	if (returned != op->old)
		fail(w, "atomic #%llu found %016llx and returns %016llx",
		     (unsigned long long)op->cookie, (unsigned long long)op->old,
		     (unsigned long long)returned);
	if (load(n->mem, op->cell) != op->new)
		fail(w, "atomic #%llu of %016llx results in %016llx, expected %016llx",
		     (unsigned long long)op->cookie, (unsigned long long)op->old,
		     (unsigned long long)load(n->mem, op->cell), (unsigned long long)op->new);
	memcpy(n->want + op->cell, &op->new, sizeof(op->new));
	if (op->kind == RDMAP_CMP_SWAP)
		*(op->new == op->old ? &w->sum.unswapped : &w->sum.swapped) += 1;
}

void atomic_local(struct node *n)
{
	const struct region *rg = n->cells[random_below(n->w, 2)];
	uint32_t off = rg->off + (uint32_t)(random_below(n->w, CELLS) * sizeof(uint64_t));
	uint64_t v = load(n->want, off) + draw_value(n->w);

	memcpy(n->mem + off, &v, sizeof(v));
	memcpy(n->want + off, &v, sizeof(v));
}

void atomic_done(struct ep *ep, struct op *op, const struct rdmap_done *d)
{
	if (op->must || !op->answered || !op->executed)
		fail(ep->w, "ep%u: atomic #%llu completes %s", ep->id,
		     (unsigned long long)op->cookie,
		     op->must ? "despite its error" : "before it was answered");
	if (d->imm != op->old || d->len != 0)
		fail(ep->w, "ep%u: atomic #%llu reports %016llx, expected %016llx, %u bytes",
		     ep->id, (unsigned long long)op->cookie, (unsigned long long)d->imm,
		     (unsigned long long)op->old, d->len);
	if (op->nlocal > 0) {
		if (memcmp(slice_mem(op->local_mem[0]), &op->old, sizeof(op->old)) != 0)
			fail(ep->w, "ep%u: atomic #%llu stores another old value in memory", ep->id,
			     (unsigned long long)op->cookie);
		slice_settle(op->local_mem[0]);
	}
	ep_settle_writes(ep, op->at, true);
}
