/* SPDX-License-Identifier: BSD-2-Clause */
/* Random requests: legal ones, pairs that depend on each other, and wrong ones. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

enum { ONE_SEGMENT = 400 };

static struct op *op_new(struct ep *ep, enum rdmap_op kind, uint32_t len)
{
	struct world *w = ep->w;
	struct op *op = get(sizeof(*op));

	op->ep = ep;
	op->cookie = ++w->cookies;
	op->kind = kind;
	op->cid = ++w->contents;
	op->len = len;
	op->wr.cookie = op->recv.cookie = op->cookie;
	op->wr.op = (uint8_t)kind;
	if (chance(w, 7000))
		op->wr.flags |= RDMAP_SIGNALED;
	if (chance(w, 1000))
		op->wr.flags |= RDMAP_FENCE;
	if ((kind == RDMAP_SEND || kind == RDMAP_SEND_INV) && chance(w, 3000))
		op->wr.flags |= RDMAP_SOLICITED;
	return op;
}

static void op_drop(struct op *op)
{
	for (unsigned i = 0; i < op->nlocal; i++)
		slice_put(op->local_mem[i]);
	slice_put(op->target);
	free(op);
}

static uint32_t draw_len(struct world *w, uint32_t max)
{
	uint64_t r = below(w, 100);

	if (r < 6)
		return 0;
	if (r < 50)
		return (uint32_t)below(w, (max < 200 ? max : 200) + 1);
	return (uint32_t)below(w, (uint64_t)max + 1);
}

/* ---- memory of a request ---- */

static unsigned domain(const struct ep *ep)
{
	return (unsigned)ep->cfg.who.pd - 1;
}

/* Where nothing lies nothing is revoked, either: an empty piece is of the shared region. */
static struct slice *local_slice(struct ep *ep, uint32_t len)
{
	struct region *choice[] = {ep->node->shared[domain(ep)], ep->mine, ep->mine, ep->open};
	struct region *rg = choice[len ? below(ep->w, 4) : 0];

	return rg && !rg->dead ? slice_new(rg, len) : NULL;
}

static void add_elem(struct op *op, struct sgl_elem *sge, struct slice *s)
{
	sge[op->nlocal] = (struct sgl_elem){slice_to(s), s->len, s->rg->stag};
	op->local_mem[op->nlocal++] = s;
}

/* A list of up to max elements for len bytes. False if memory is short. */
static bool gather(struct op *op, struct sgl_elem *sge, uint32_t len, unsigned max)
{
	struct world *w = op->ep->w;
	unsigned n = chance(w, 6000) ? 1 : 1 + (unsigned)below(w, max);

	if (len == 0 && chance(w, 5000))
		return true; /* no element at all */
	for (unsigned i = 0; i < n; i++) {
		uint32_t part = i + 1 == n ? len : (uint32_t)below(w, (uint64_t)len + 1);
		struct slice *s = local_slice(op->ep, part);

		if (!s)
			return false;
		add_elem(op, sge, s);
		len -= part;
	}
	return true;
}

static bool source(struct op *op)
{
	uint32_t at = 0;

	if (op->len <= RDMAP_INLINE_MAX && chance(op->ep->w, 3000)) {
		op->wr.flags |= RDMAP_INLINE;
		op->wr.len = op->len;
		content_fill(op->wr.inl, op->cid, op->from, op->len);
		return true;
	}
	if (!gather(op, op->wr.sge, op->len, SGL_MAX))
		return false;
	op->wr.nsge = (uint8_t)op->nlocal;
	for (unsigned i = 0; i < op->nlocal; i++) {
		slice_fill(op->local_mem[i], op->cid, op->from + at);
		at += op->local_mem[i]->len;
	}
	return true;
}

static bool sink(struct op *op)
{
	struct slice *s = local_slice(op->ep, op->len);

	if (!s)
		return false;
	add_elem(op, op->wr.sge, s);
	op->wr.nsge = 1;
	slice_land(s, op, op->cid, op->from);
	return true;
}

static bool target_alive(const struct ep *ep)
{
	const struct ep *other = ep_other(ep);

	return other && other->state != EP_OVER;
}

static struct slice *remote_slice(struct ep *ep, uint32_t len)
{
	struct ep *other = ep_other(ep);
	struct region *choice[] = {other->open, other->alone, other->node->shared[domain(other)]};
	struct region *rg = choice[below(ep->w, 3)];

	return rg && !rg->dead && !rg->doomed ? slice_new(rg, len) : NULL;
}

static void aim(struct op *op, struct slice *s)
{
	op->target = s;
	op->wr.rstag = s->rg->stag;
	op->wr.rto = slice_to(s);
}

/* ---- requests that are right ---- */

static struct op *good_write(struct ep *ep, uint32_t len)
{
	struct op *op = op_new(ep, RDMAP_WRITE, len);
	struct slice *s = len ? remote_slice(ep, len) : NULL;

	if (s) {
		aim(op, s);
		slice_land(s, op, op->cid, op->from);
	} else if (len == 0) {
		op->wr.rstag = (uint32_t)simclock_random(ep->w->clock);
		op->wr.rto = simclock_random(ep->w->clock);
	}
	if ((len && !s) || !source(op)) {
		op_drop(op);
		return NULL;
	}
	return op;
}

static void mind_ird(struct op *op)
{
	if (op->ep->cfg.ord > ep_other(op->ep)->cfg.ird)
		op->may |= perr_bit(PERR_NO_BUFFER);
}

static struct op *good_read(struct ep *ep, uint32_t len)
{
	struct op *op = op_new(ep, RDMAP_READ, len);
	struct slice *s = len ? remote_slice(ep, len) : NULL;

	if (s) {
		aim(op, s);
		slice_fill(s, op->cid, op->from);
	} else {
		op->wr.rstag = (uint32_t)simclock_random(ep->w->clock);
		op->wr.rto = simclock_random(ep->w->clock);
	}
	if ((len && !s) || !sink(op)) {
		op_drop(op);
		return NULL;
	}
	mind_ird(op);
	return op;
}

/* What the Send will find: its receive, or NULL if that is not posted yet. */
static const struct op *partner(const struct ep *ep)
{
	const struct ep *other = ep_other(ep);

	return other && ep->sends < other->good_n ? other->good[ep->sends] : NULL;
}

static struct op *good_send(struct ep *ep)
{
	const struct op *recv = partner(ep);
	struct world *w = ep->w;
	struct op *op;

	if (!recv && !w->plan.reckless)
		return NULL;
	op = op_new(ep, RDMAP_SEND, draw_len(w, recv ? recv->len : w->plan.len_max));
	if (!recv)
		op->may |= perr_bit(PERR_NO_BUFFER) | perr_bit(PERR_TOO_LONG);
	if (!source(op)) {
		op_drop(op);
		return NULL;
	}
	return op;
}

/* ---- requests that are wrong ---- */

static void spoil(struct op *op, enum perr a, enum perr b)
{
	op->may |= perr_bit(a) | perr_bit(b);
	op->must = true;
}

/* An address at the peer that a Write must not reach; a Read must not either. */
static void spoil_target(struct op *op)
{
	struct ep *other = ep_other(op->ep);
	struct region *open = other->open, *strange = other->node->shared[!domain(other)];
	bool read = op->kind == RDMAP_READ;

	op->target = slice_put(op->target);
	switch (below(op->ep->w, 4)) {
	case 0: /* one byte too far; what is within is not to be touched, so in one segment */
		op->wr.rstag = open->stag;
		op->wr.rto = open->to + open->len + 1 - op->len;
		if (op->len > ONE_SEGMENT && !read)
			op->wr.rto = open->to + open->len;
		spoil(op, read ? PERR_ACCESS_BOUNDS : PERR_TAGGED_BOUNDS,
		      read ? PERR_ACCESS_WRAP : PERR_TAGGED_WRAP);
		break;
	case 1:
		op->wr.rstag ^= 0x80000000u + (uint32_t)below(op->ep->w, 1000) * 2;
		spoil(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
		break;
	case 2:
		op->wr.rstag = strange->stag;
		op->wr.rto = strange->to;
		spoil(op, PERR_TAGGED_SCOPE, PERR_ACCESS_SCOPE);
		break;
	default:
		op->wr.rstag = other->mine->stag;
		op->wr.rto = other->mine->to;
		spoil(op, PERR_TAGGED_STAG, PERR_ACCESS_RIGHTS);
	}
	if (open->dead || other->mine->dead || strange->dead)
		spoil(op, PERR_TAGGED_STAG, PERR_ACCESS_STAG);
}

/* A bad address of our own, for the first element. */
static void spoil_local(struct op *op, struct sgl_elem *e, bool fills)
{
	struct ep *ep = op->ep;
	struct region *strange = ep->node->shared[!domain(ep)], *bare = ep->node->bare[domain(ep)];

	switch (below(ep->w, fills ? 4 : 3)) {
	case 0:
		e->stag = 0;
		op->local = RDMAP_LOC_STAG;
		break;
	case 1:
		e->stag = strange->stag;
		e->to = strange->to;
		op->local = strange->dead ? RDMAP_LOC_STAG : RDMAP_LOC_SCOPE;
		break;
	case 2:
		e->to = ep->open->to - 1;
		e->stag = ep->open->stag;
		op->local = ep->open->dead ? RDMAP_LOC_STAG : RDMAP_LOC_BOUNDS;
		break;
	default:
		e->stag = bare->stag;
		e->to = bare->to;
		op->local = RDMAP_LOC_RIGHTS;
	}
}

static void mishap(struct op *op)
{
	struct world *w = op->ep->w;

	if (chance(w, 3000)) {
		op->wr.status = op->local = (uint8_t)(RDMAP_LOC_LEN + below(w, 3));
	} else if (op->nlocal > 0 && op->local_mem[0]->len > 0 && chance(w, 4000)) {
		spoil_local(op, &op->wr.sge[0], op->kind == RDMAP_READ);
	} else if (op->len > 0 && (op->kind == RDMAP_WRITE || op->kind == RDMAP_READ)) {
		spoil_target(op);
	} else if (op->kind == RDMAP_SEND) {
		op->kind = RDMAP_SEND_INV;
		op->wr.op = RDMAP_SEND_INV;
		op->wr.inv_stag = (uint32_t)simclock_random(w->clock);
		if (target_alive(op->ep) && chance(w, 5000))
			op->wr.inv_stag = ep_other(op->ep)->open->stag;
		spoil(op, PERR_INV_STAG, PERR_INV_SCOPE);
	}
}

/* A Send one byte longer than the receive that waits for it. */
static struct op *long_send(struct ep *ep)
{
	const struct op *recv = partner(ep);
	struct op *op;

	if (!recv)
		return NULL;
	op = op_new(ep, RDMAP_SEND, recv->len + 1);
	spoil(op, PERR_TOO_LONG, PERR_TOO_LONG);
	if (!source(op)) {
		op_drop(op);
		return NULL;
	}
	return op;
}

/* Requests that the taker found bad, many in a row: they must hold up nobody. */
static void post_bad_run(struct ep *ep)
{
	uint64_t n = 1 + below(ep->w, 20);

	while (n-- > 0 && ep_post_room(ep)) {
		struct op *op = op_new(ep, RDMAP_WRITE, 0);

		op->wr.status = op->local = RDMAP_LOC_OP;
		ep_post(op);
	}
}

/* ---- choosing ---- */

static void post(struct op *op)
{
	if (!op)
		return;
	if (chance(op->ep->w, op->ep->w->plan.mishap))
		mishap(op);
	ep_post(op);
}

/* Write, then read the same memory back: the Read sees the Write. */
static void post_read_back(struct ep *ep)
{
	struct op *wr = good_write(ep, 1 + draw_len(ep->w, ep->w->plan.len_max - 1)), *rd;

	if (!wr)
		return;
	rd = op_new(ep, RDMAP_READ, wr->len);
	rd->cid = wr->cid;
	rd->needs = wr;
	aim(rd, slice_pin(wr->target));
	ep_post(wr);
	mind_ird(rd);
	if (sink(rd))
		ep_post(rd);
	else
		op_drop(rd);
}

/* Read, then behind a fence write to where it reads: the Read sees what was there before. */
static void post_read_then_write(struct ep *ep)
{
	struct op *rd = good_read(ep, 1 + draw_len(ep->w, ep->w->plan.len_max - 1)), *wr;

	if (!rd)
		return;
	wr = op_new(ep, RDMAP_WRITE, rd->len);
	wr->wr.flags |= RDMAP_FENCE;
	aim(wr, slice_pin(rd->target));
	ep_post(rd);
	if (source(wr)) {
		slice_land(wr->target, wr, wr->cid, wr->from);
		ep_post(wr);
	} else {
		op_drop(wr);
	}
}

/* Read, then behind a fence send what was read. */
static void post_read_then_send(struct ep *ep)
{
	const struct op *recv = partner(ep);
	struct op *rd, *send;

	if (!recv || recv->len == 0)
		return;
	rd = good_read(ep, 1 + draw_len(ep->w, recv->len - 1));
	if (!rd)
		return;
	send = op_new(ep, RDMAP_SEND, rd->len);
	send->wr.flags |= RDMAP_FENCE;
	send->cid = rd->cid;
	add_elem(send, send->wr.sge, slice_pin(rd->local_mem[0]));
	send->wr.nsge = 1;
	ep_post(rd);
	ep_post(send);
}

static bool reads_from(const struct ep *ep, const struct region *rg)
{
	for (unsigned i = ep->sq_done; i < ep->sq_n; i++)
		if (ep->sq[i]->kind == RDMAP_READ && ep->sq[i]->wr.rstag == rg->stag)
			return true;
	return false;
}

static void post_invalidation(struct ep *ep)
{
	struct region *rg = ep_other(ep)->alone;
	struct op *op;

	if (rg->dead || rg->doomed)
		return;
	op = good_send(ep);
	if (!op)
		return;
	op->kind = RDMAP_SEND_INV;
	op->wr.op = RDMAP_SEND_INV;
	op->wr.inv_stag = rg->stag;
	op->inv = rg;
	rg->doomed = true;
	if (reads_from(ep, rg))
		op->wr.flags |= RDMAP_FENCE;
	ep_post(op);
}

void op_post_random(struct ep *ep)
{
	struct world *w = ep->w;
	bool reads = ep->cfg.ord > 0, aimed = target_alive(ep);
	uint64_t r = below(w, 100);

	if (!ep_post_room(ep))
		return;
	if (r < 35 || !aimed)
		post(good_send(ep));
	else if (r < 60)
		post(good_write(ep, draw_len(w, w->plan.len_max)));
	else if (r < 64)
		post_invalidation(ep);
	else if (r < 65 && w->plan.mishap && chance(w, 5000))
		post_bad_run(ep);
	else if (r < 65 && w->plan.mishap)
		post(long_send(ep));
	else if (!reads)
		post(good_write(ep, draw_len(w, 100)));
	else if (r < 85)
		post(good_read(ep, draw_len(w, w->plan.len_max)));
	else if (r < 90)
		post_read_back(ep);
	else if (r < 95)
		post_read_then_write(ep);
	else
		post_read_then_send(ep);
}

static struct op *receive(struct ep *ep)
{
	struct world *w = ep->w;
	struct op *op = op_new(ep, RDMAP_RECV, draw_len(w, w->plan.len_max));
	uint32_t at = 0;

	if (!gather(op, op->recv.sge, op->len, ep->cfg.max_recv_sge)) {
		op_drop(op);
		return NULL;
	}
	op->recv.nsge = (uint8_t)op->nlocal;
	for (unsigned i = 0; i < op->nlocal; i++) {
		slice_land(op->local_mem[i], op, 0, at);
		at += op->local_mem[i]->len;
	}
	if (!chance(w, w->plan.mishap))
		return op;
	if (op->nlocal > 0 && op->local_mem[0]->len > 0 && chance(w, 5000))
		spoil_local(op, &op->recv.sge[0], true);
	else
		op->recv.status = op->local = RDMAP_LOC_SGE;
	return op;
}

void op_post_recvs(struct ep *ep, unsigned n)
{
	while (n-- > 0 && ep->rq_n < OPS_MAX && ep->rq_n - ep->rq_done < ep->cfg.rq_depth) {
		struct op *op = receive(ep);

		if (op)
			ep_post_recv(op);
	}
}
