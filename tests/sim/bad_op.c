/* SPDX-License-Identifier: BSD-2-Clause */
/* Invalid requests. Each must have exactly one consequence. */
#include "tests/sim/world.h"

enum { ONE_SEGMENT = 400 };

void bad_op_expect(struct op *op, enum perr a, enum perr b)
{
	op->may |= perr_bit(a) | perr_bit(b);
	op->must = true;
}

/* The error for a wrong target differs between Writes and requests with a response. */
static void expect_target_error(struct op *op, enum perr tagged, enum perr access)
{
	if (op->kind == RDMAP_WRITE)
		bad_op_expect(op, tagged, tagged);
	else
		bad_op_expect(op, access, access);
}

static void redirect(struct op *op, uint32_t stag, uint64_t to)
{
	op->wr.rstag = stag;
	op->wr.rto = to;
}

/* One byte beyond the region. The bytes inside must not change, so the message has one segment. */
static void out_of_bounds(struct op *op, uint32_t len)
{
	const struct region *open_region = ep_other(op->ep)->open_region;
	bool whole = op->kind == RDMAP_WRITE && len > ONE_SEGMENT;

	redirect(op, open_region->stag,
		 open_region->to + open_region->len + (whole ? 0 : 1 - (uint64_t)len));
	expect_target_error(op, PERR_TAGGED_BOUNDS, PERR_ACCESS_BOUNDS);
	expect_target_error(op, PERR_TAGGED_WRAP, PERR_ACCESS_WRAP);
}

/* Outside a window, but inside its region. */
static void outside_window(struct op *op)
{
	const struct grant *g = op->via;

	redirect(op, g->stag, g->rg->to + (g->off - g->rg->off) + g->len);
	expect_target_error(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG); /* if the window ends before */
	expect_target_error(op, PERR_TAGGED_BOUNDS, PERR_ACCESS_BOUNDS);
	expect_target_error(op, PERR_TAGGED_WRAP, PERR_ACCESS_WRAP);
}

/* A region that lacks the right: without remote rights, or with all but the one for atomics. */
static void no_right(struct op *op)
{
	struct ep *other = ep_other(op->ep);
	struct region *choice[] = {other->local_region, other->windowed_region,
				   other->node->cells[other->cfg.accessor.pd - 1]};
	struct region *rg = choice[random_below(op->ep->w, 3)];

	if (op_is_atomic(op->kind))
		rg = other->scoped_region;
	redirect(op, rg->stag, rg->to);
	expect_target_error(op, PERR_TAGGED_STAG, PERR_ACCESS_RIGHTS);
	if (rg->dead || rg->revoke_due)
		expect_target_error(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
}

/* The window of another stream, in the same domain. */
static bool foreign_window(struct op *op)
{
	const struct grant *g = window_of_others(ep_other(op->ep));

	if (!g)
		return false;
	redirect(op, g->stag, g->rg->to + (g->off - g->rg->off));
	expect_target_error(op, PERR_TAGGED_SCOPE, PERR_ACCESS_SCOPE);
	expect_target_error(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
	return true;
}

/* An STag that was valid earlier. */
static bool stale(struct op *op)
{
	uint32_t stag = region_stale_stag(ep_other(op->ep)->node);

	if (!stag)
		return false;
	op->wr.rstag = stag;
	expect_target_error(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
	op->ep->w->sum.old_keys++;
	return true;
}

static void foreign_domain(struct op *op)
{
	struct ep *other = ep_other(op->ep);
	const struct region *rg = other->node->shared[2 - other->cfg.accessor.pd];

	redirect(op, rg->stag, rg->to);
	expect_target_error(op, PERR_TAGGED_SCOPE, PERR_ACCESS_SCOPE);
}

static void unknown_stag(struct op *op)
{
	op->wr.rstag ^= 0x80000000u + (uint32_t)random_below(op->ep->w, 1000) * 2;
	expect_target_error(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
}

static void misaligned(struct op *op)
{
	op->wr.rto += 1 + random_below(op->ep->w, 7);
	if (op->cell % UNIT == UNIT - 8) /* perhaps the last one of its region */
		bad_op_expect(op, PERR_ACCESS_BOUNDS, PERR_ACCESS_WRAP);
	bad_op_expect(op, PERR_STREAM_CATASTROPHIC, PERR_STREAM_CATASTROPHIC);
	if (op->via)
		bad_op_expect(op, PERR_ACCESS_BOUNDS, PERR_ACCESS_STAG); /* the same */
}

/* An address at the peer that neither a Write nor a Read nor an atomic may access. */
static void bad_target(struct op *op)
{
	struct ep *other = ep_other(op->ep);
	uint32_t len = op_is_atomic(op->kind) ? sizeof(uint64_t) : op->len;
	uint64_t r = random_below(op->ep->w, 14);

	if (op_is_atomic(op->kind) && r < 4)
		misaligned(op);
	else if (op->via && r < 4)
		outside_window(op);
	else if (r < 6 && stale(op))
		;
	else if (r < 8 && foreign_window(op))
		;
	else if (r < 10)
		out_of_bounds(op, len);
	else if (r < 11)
		unknown_stag(op);
	else if (r < 12)
		foreign_domain(op);
	else
		no_right(op);
	if (other->open_region->dead || (op->via && op->via->state != GRANT_OPEN))
		expect_target_error(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
	op->target = slice_put(op->target);
	op->cell_in = NULL;
	op->via = NULL;
}

void bad_op_local_element(struct op *op, struct sgl_elem *e, bool fills)
{
	struct ep *ep = op->ep;
	unsigned domain = (unsigned)ep->cfg.accessor.pd - 1;
	struct region *foreign = ep->node->shared[!domain],
		      *no_access = ep->node->no_access[domain];

	switch (random_below(ep->w, fills ? 4 : 3)) {
	case 0:
		e->stag = UINT32_MAX; /* 0 in a receive takes messages without bytes */
		op->local = RDMAP_LOC_KEY_ERR;
		break;
	case 1:
		e->stag = foreign->stag;
		e->to = foreign->to;
		op->local = RDMAP_LOC_PD_ERR;
		break;
	case 2:
		e->to = ep->open_region->to - 1;
		e->stag = ep->open_region->stag;
		op->local = ep->open_region->dead ? RDMAP_LOC_KEY_ERR : RDMAP_LOC_BOUNDS_ERR;
		break;
	default:
		e->stag = no_access->stag;
		e->to = no_access->to;
		op->local = RDMAP_LOC_ACCESS_ERR;
	}
}

/* A Send that invalidates an STag that it may not invalidate. */
static void bad_invalidation(struct op *op)
{
	struct ep *other = op_has_target(op->ep) ? ep_other(op->ep) : NULL;
	const struct grant *g = other ? window_of_others(other) : NULL;
	uint64_t r = random_below(op->ep->w, 4);

	op->kind = RDMAP_SEND_INV;
	op->wr.op = RDMAP_SEND_INV;
	op->wr.inv_stag = (uint32_t)simclock_random(op->ep->w->clock);
	if (g && r < 2)
		op->wr.inv_stag = g->stag;
	else if (other && r < 2)
		op->wr.inv_stag = other->open_region->stag;
	if (other && r == 2 && region_stale_stag(other->node))
		op->wr.inv_stag = region_stale_stag(other->node);
	bad_op_expect(op, PERR_INV_STAG, PERR_INV_SCOPE);
}

/* Properties of raw endpoints only: queues and RsvdULP. */
static void bad_raw_field(struct op *op)
{
	struct ep *other = op_has_target(op->ep) ? ep_other(op->ep) : NULL;
	struct world *w = op->ep->w;

	if (op->kind == RDMAP_SEND && other && other->cfg.queues < RDMAP_RAW_QUEUES &&
	    chance(w, 5000)) {
		op->wr.raw.qn = other->cfg.queues;
		op->queue = other->cfg.queues;
		op->may = 0;
		bad_op_expect(op, PERR_QN, PERR_QN);
		return;
	}
	if (chance(w, 5000))
		op->wr.raw.rsvd |= UINT64_C(1) << (op->kind == RDMAP_SEND ? 40 : 8);
	else
		op->wr.flags |= RDMAP_SOLICITED;
	op->local = RDMAP_LOC_OP_ERR;
}

void bad_op(struct op *op)
{
	struct world *w = op->ep->w;
	/* Valid parts of a Read would be answered. */
	bool has_target = op->kind == RDMAP_WRITE || (op->kind == RDMAP_READ && op_parts(op) == 1);

	if (chance(w, 2000)) {
		op->wr.status = op->local = (uint8_t)(RDMAP_LOC_LEN_ERR + random_below(w, 3));
	} else if (op->nlocal > 0 && op->local_mem[0]->len > 0 && chance(w, 3000)) {
		bad_op_local_element(op, &op->wr.sge[0], op_has_response(op->kind));
	} else if (op->ep->cfg.raw && (op->kind == RDMAP_SEND || chance(w, 3000))) {
		bad_raw_field(op);
	} else if (op_is_atomic(op->kind) || (has_target && op->len > 0)) {
		bad_target(op);
	} else if (op->kind == RDMAP_SEND) {
		bad_invalidation(op);
	}
}

/* A Send one byte longer than its receive. */
static struct op *long_send(struct ep *ep)
{
	const struct op *recv = op_next_receive(ep, 0);
	struct op *op;

	if (!recv)
		return NULL;
	op = op_new(ep, RDMAP_SEND, recv->len + 1);
	op->queue = 0; /* raw: of queue 0 */
	bad_op_expect(op, PERR_TOO_LONG, PERR_TOO_LONG);
	if (!op_source(op)) {
		op_drop(op);
		return NULL;
	}
	return op;
}

/* Many invalid requests in a row, found by the requester: they must not delay others. */
static void post_bad_run(struct ep *ep)
{
	uint64_t n = 1 + random_below(ep->w, 20);

	while (n-- > 0 && ep_post_room(ep)) {
		struct op *op = op_new(ep, RDMAP_WRITE, 0);

		op->wr.status = op->local = RDMAP_LOC_OP_ERR;
		ep_post(op);
	}
}

/* An operation that one of the two does not support, or that is switched off. */
static struct op *unsupported_op(struct ep *ep)
{
	static const enum rdmap_op kinds[] = {RDMAP_READ, RDMAP_FETCH_ADD, RDMAP_CMP_SWAP,
					      RDMAP_IMM};
	enum rdmap_op kind = kinds[random_below(ep->w, 4)];
	const struct ep *other = ep_other(ep);
	bool ext = kind != RDMAP_READ;
	struct op *op = op_new(ep, kind, 0);

	op->wr.flags &= (uint8_t)~RDMAP_SOLICITED;
	if (kind == RDMAP_READ && !op_sink(op, 0)) {
		op_drop(op);
		return NULL;
	}
	if (ep->cfg.raw || (ext && ep->cfg.plain_rdmap) ||
	    (op_has_response(kind) && ep->ord == 0)) {
		op->local = RDMAP_LOC_OP_ERR;
		return op;
	}
	if (ext && other && other->cfg.plain_rdmap && ep->state != EP_CONNECTING) {
		bad_op_expect(op, PERR_OPCODE, PERR_OPCODE);
		return op;
	}
	op_drop(op);
	return NULL;
}

void bad_op_post(struct ep *ep)
{
	uint64_t r = random_below(ep->w, 4);
	struct op *op;

	if (r == 0) {
		post_bad_run(ep);
		return;
	}
	op = r == 1 && ep->state != EP_CONNECTING ? unsupported_op(ep) : long_send(ep);
	if (op)
		ep_post(op);
}
