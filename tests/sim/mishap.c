/* SPDX-License-Identifier: BSD-2-Clause */
/* Wrong requests: each has exactly one consequence. */
#include "tests/sim/world.h"

enum { ONE_SEGMENT = 400 };

void mishap_spoil(struct op *op, enum perr a, enum perr b)
{
	op->may |= perr_bit(a) | perr_bit(b);
	op->must = true;
}

/* The error for a wrong target differs between Writes and requests with a response. */
static void spoil(struct op *op, enum perr tagged, enum perr access)
{
	if (op->kind == RDMAP_WRITE)
		mishap_spoil(op, tagged, tagged);
	else
		mishap_spoil(op, access, access);
}

static void redirect(struct op *op, uint32_t stag, uint64_t to)
{
	op->wr.rstag = stag;
	op->wr.rto = to;
}

/* One byte too far. The bytes inside must not change, so the message has one segment. */
static void too_far(struct op *op, uint32_t len)
{
	const struct region *open = ep_other(op->ep)->open;
	bool whole = op->kind == RDMAP_WRITE && len > ONE_SEGMENT;

	redirect(op, open->stag, open->to + open->len + (whole ? 0 : 1 - (uint64_t)len));
	spoil(op, PERR_TAGGED_BOUNDS, PERR_ACCESS_BOUNDS);
	spoil(op, PERR_TAGGED_WRAP, PERR_ACCESS_WRAP);
}

/* Outside a window, but inside its region. */
static void beside(struct op *op)
{
	const struct grant *g = op->via;

	redirect(op, g->stag, g->rg->to + (g->off - g->rg->off) + g->len);
	spoil(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG); /* if the window ends before */
	spoil(op, PERR_TAGGED_BOUNDS, PERR_ACCESS_BOUNDS);
	spoil(op, PERR_TAGGED_WRAP, PERR_ACCESS_WRAP);
}

/* A region that lacks the right: without remote rights, or with all but the one for atomics. */
static void no_right(struct op *op)
{
	struct ep *other = ep_other(op->ep);
	struct region *choice[] = {other->mine, other->back,
				   other->node->cells[other->cfg.who.pd - 1]};
	struct region *rg = choice[below(op->ep->w, 3)];

	if (op_is_atomic(op->kind))
		rg = other->alone;
	redirect(op, rg->stag, rg->to);
	spoil(op, PERR_TAGGED_STAG, PERR_ACCESS_RIGHTS);
	if (rg->dead || rg->revoke_due)
		spoil(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
}

/* The window of another stream, in the same domain. */
static bool not_ours(struct op *op)
{
	const struct grant *g = window_of_others(ep_other(op->ep));

	if (!g)
		return false;
	redirect(op, g->stag, g->rg->to + (g->off - g->rg->off));
	spoil(op, PERR_TAGGED_SCOPE, PERR_ACCESS_SCOPE);
	spoil(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
	return true;
}

/* An STag that was valid earlier. */
static bool buried(struct op *op)
{
	uint32_t stag = region_buried(ep_other(op->ep)->node);

	if (!stag)
		return false;
	op->wr.rstag = stag;
	spoil(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
	op->ep->w->sum.old_keys++;
	return true;
}

static void strange(struct op *op)
{
	struct ep *other = ep_other(op->ep);
	const struct region *rg = other->node->shared[2 - other->cfg.who.pd];

	redirect(op, rg->stag, rg->to);
	spoil(op, PERR_TAGGED_SCOPE, PERR_ACCESS_SCOPE);
}

static void unknown(struct op *op)
{
	op->wr.rstag ^= 0x80000000u + (uint32_t)below(op->ep->w, 1000) * 2;
	spoil(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
}

static void misaligned(struct op *op)
{
	op->wr.rto += 1 + below(op->ep->w, 7);
	if (op->cell % UNIT == UNIT - 8) /* perhaps the last one of its region */
		mishap_spoil(op, PERR_ACCESS_BOUNDS, PERR_ACCESS_WRAP);
	mishap_spoil(op, PERR_STREAM_CATASTROPHIC, PERR_STREAM_CATASTROPHIC);
	if (op->via)
		mishap_spoil(op, PERR_ACCESS_BOUNDS, PERR_ACCESS_STAG); /* the same */
}

/* An address at the peer that neither a Write nor a Read nor an atomic may access. */
static void spoil_target(struct op *op)
{
	struct ep *other = ep_other(op->ep);
	uint32_t len = op_is_atomic(op->kind) ? sizeof(uint64_t) : op->len;
	uint64_t r = below(op->ep->w, 14);

	if (op_is_atomic(op->kind) && r < 4)
		misaligned(op);
	else if (op->via && r < 4)
		beside(op);
	else if (r < 6 && buried(op))
		;
	else if (r < 8 && not_ours(op))
		;
	else if (r < 10)
		too_far(op, len);
	else if (r < 11)
		unknown(op);
	else if (r < 12)
		strange(op);
	else
		no_right(op);
	if (other->open->dead || (op->via && op->via->state != GRANT_OPEN))
		spoil(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
	op->target = slice_put(op->target);
	op->cell_in = NULL;
	op->via = NULL;
}

void mishap_local(struct op *op, struct sgl_elem *e, bool fills)
{
	struct ep *ep = op->ep;
	unsigned domain = (unsigned)ep->cfg.who.pd - 1;
	struct region *foreign = ep->node->shared[!domain], *bare = ep->node->bare[domain];

	switch (below(ep->w, fills ? 4 : 3)) {
	case 0:
		e->stag = 0;
		op->local = RDMAP_LOC_KEY_ERR;
		break;
	case 1:
		e->stag = foreign->stag;
		e->to = foreign->to;
		op->local = RDMAP_LOC_PD_ERR;
		break;
	case 2:
		e->to = ep->open->to - 1;
		e->stag = ep->open->stag;
		op->local = ep->open->dead ? RDMAP_LOC_KEY_ERR : RDMAP_LOC_BOUNDS_ERR;
		break;
	default:
		e->stag = bare->stag;
		e->to = bare->to;
		op->local = RDMAP_LOC_ACCESS_ERR;
	}
}

/* A Send that invalidates an STag that it may not invalidate. */
static void bad_invalidation(struct op *op)
{
	struct ep *other = op_aimable(op->ep) ? ep_other(op->ep) : NULL;
	const struct grant *g = other ? window_of_others(other) : NULL;
	uint64_t r = below(op->ep->w, 4);

	op->kind = RDMAP_SEND_INV;
	op->wr.op = RDMAP_SEND_INV;
	op->wr.inv_stag = (uint32_t)simclock_random(op->ep->w->clock);
	if (g && r < 2)
		op->wr.inv_stag = g->stag;
	else if (other && r < 2)
		op->wr.inv_stag = other->open->stag;
	if (other && r == 2 && region_buried(other->node))
		op->wr.inv_stag = region_buried(other->node);
	mishap_spoil(op, PERR_INV_STAG, PERR_INV_SCOPE);
}

/* Properties of raw endpoints only: queues and RsvdULP. */
static void raw_mishap(struct op *op)
{
	struct ep *other = op_aimable(op->ep) ? ep_other(op->ep) : NULL;
	struct world *w = op->ep->w;

	if (op->kind == RDMAP_SEND && other && other->cfg.queues < RDMAP_RAW_QUEUES &&
	    chance(w, 5000)) {
		op->wr.raw.qn = other->cfg.queues;
		op->lane = other->cfg.queues;
		op->may = 0;
		mishap_spoil(op, PERR_QN, PERR_QN);
		return;
	}
	if (chance(w, 5000))
		op->wr.raw.rsvd |= UINT64_C(1) << (op->kind == RDMAP_SEND ? 40 : 8);
	else
		op->wr.flags |= RDMAP_SOLICITED;
	op->local = RDMAP_LOC_OP_ERR;
}

void mishap(struct op *op)
{
	struct world *w = op->ep->w;
	bool aimed = op->kind == RDMAP_WRITE || op->kind == RDMAP_READ;

	if (chance(w, 2000)) {
		op->wr.status = op->local = (uint8_t)(RDMAP_LOC_LEN_ERR + below(w, 3));
	} else if (op->nlocal > 0 && op->local_mem[0]->len > 0 && chance(w, 3000)) {
		mishap_local(op, &op->wr.sge[0], op_asks(op->kind));
	} else if (op->ep->cfg.raw && (op->kind == RDMAP_SEND || chance(w, 3000))) {
		raw_mishap(op);
	} else if (op_is_atomic(op->kind) || (aimed && op->len > 0)) {
		spoil_target(op);
	} else if (op->kind == RDMAP_SEND) {
		bad_invalidation(op);
	}
}

/* A Send one byte longer than its receive. */
static struct op *long_send(struct ep *ep)
{
	const struct op *recv = op_partner(ep, 0);
	struct op *op;

	if (!recv)
		return NULL;
	op = op_new(ep, RDMAP_SEND, recv->len + 1);
	op->lane = 0; /* raw: of queue 0 */
	mishap_spoil(op, PERR_TOO_LONG, PERR_TOO_LONG);
	if (!op_source(op)) {
		op_drop(op);
		return NULL;
	}
	return op;
}

/* Many invalid requests in a row, found by the requester: they must not delay others. */
static void post_bad_run(struct ep *ep)
{
	uint64_t n = 1 + below(ep->w, 20);

	while (n-- > 0 && ep_post_room(ep)) {
		struct op *op = op_new(ep, RDMAP_WRITE, 0);

		op->wr.status = op->local = RDMAP_LOC_OP_ERR;
		ep_post(op);
	}
}

/* An operation that one of the two does not support, or that is switched off. */
static struct op *foreign_op(struct ep *ep)
{
	static const enum rdmap_op kinds[] = {RDMAP_READ, RDMAP_FETCH_ADD, RDMAP_CMP_SWAP,
					      RDMAP_IMM};
	enum rdmap_op kind = kinds[below(ep->w, 4)];
	const struct ep *other = ep_other(ep);
	bool ext = kind != RDMAP_READ;
	struct op *op = op_new(ep, kind, 0);

	op->wr.flags &= (uint8_t)~RDMAP_SOLICITED;
	if (kind == RDMAP_READ && !op_sink(op, 0)) {
		op_drop(op);
		return NULL;
	}
	if (ep->cfg.raw || (ext && ep->cfg.plain_rdmap) || (op_asks(kind) && ep->ord == 0)) {
		op->local = RDMAP_LOC_OP_ERR;
		return op;
	}
	if (ext && other && other->cfg.plain_rdmap && ep->state != EP_CONNECTING) {
		mishap_spoil(op, PERR_OPCODE, PERR_OPCODE);
		return op;
	}
	op_drop(op);
	return NULL;
}

void mishap_post(struct ep *ep)
{
	uint64_t r = below(ep->w, 4);
	struct op *op;

	if (r == 0) {
		post_bad_run(ep);
		return;
	}
	op = r == 1 && ep->state != EP_CONNECTING ? foreign_op(ep) : long_send(ep);
	if (op)
		ep_post(op);
}
