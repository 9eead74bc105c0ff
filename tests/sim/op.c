/* SPDX-License-Identifier: BSD-2-Clause */
/* Random requests: legal ones, dependent pairs, and wrong ones. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

struct op *op_new(struct ep *ep, enum rdmap_op kind, uint32_t len)
{
	struct world *w = ep->w;
	struct op *op = alloc_zeroed(sizeof(*op));

	op->ep = ep;
	op->cookie = ++w->cookies;
	op->kind = kind;
	op->cid = ++w->contents;
	op->len = len;
	op->queue = op_delivers(kind) && !ep->cfg.raw ? 0 : -1;
	op->wr.cookie = op->recv.cookie = op->cookie;
	op->wr.op = (uint8_t)kind;
	if (chance(w, 7000))
		op->wr.flags |= RDMAP_SIGNALED;
	if (chance(w, 1000))
		op->wr.flags |= RDMAP_FENCE;
	if (op->queue == 0 && chance(w, 3000))
		op->wr.flags |= RDMAP_SOLICITED;
	return op;
}

void op_drop(struct op *op)
{
	for (unsigned i = 0; i < op->nlocal; i++)
		slice_put(op->local_mem[i]);
	slice_put(op->target);
	free(op);
}

uint32_t op_draw_len(struct world *w, uint32_t max)
{
	uint64_t r = random_below(w, 100);

	if (r < 6)
		return 0;
	if (r < 50)
		return (uint32_t)random_below(w, (max < 200 ? max : 200) + 1);
	return (uint32_t)random_below(w, (uint64_t)max + 1);
}

/* ---- memory of a request ---- */

static unsigned domain(const struct ep *ep)
{
	return (unsigned)ep->cfg.accessor.pd - 1;
}

/* An empty piece cannot be revoked, so it belongs to the shared region. */
static struct slice *local_slice(struct ep *ep, uint32_t len)
{
	struct region *choice[] = {ep->node->shared[domain(ep)], ep->local_region, ep->local_region,
				   ep->open_region};
	struct region *rg = choice[len ? random_below(ep->w, 4) : 0];

	return rg && !rg->dead ? slice_new(rg, len) : NULL;
}

static void add_elem(struct op *op, struct sgl_elem *sge, struct slice *s)
{
	sge[op->nlocal] = (struct sgl_elem){slice_to(s), s->len, s->rg->stag};
	op->local_mem[op->nlocal++] = s;
}

/* A list of up to max elements for len bytes. False if there is not enough memory. */
static bool gather(struct op *op, struct sgl_elem *sge, uint32_t len, unsigned max)
{
	struct world *w = op->ep->w;
	unsigned n = chance(w, 6000) ? 1 : 1 + (unsigned)random_below(w, max);

	if (len == 0 && chance(w, 5000))
		return true; /* no element at all */
	for (unsigned i = 0; i < n; i++) {
		uint32_t part = i + 1 == n ? len : (uint32_t)random_below(w, (uint64_t)len + 1);
		struct slice *s = local_slice(op->ep, part);

		if (!s)
			return false;
		add_elem(op, sge, s);
		len -= part;
	}
	return true;
}

bool op_source(struct op *op)
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

bool op_sink(struct op *op, uint32_t len)
{
	struct slice *s = local_slice(op->ep, len);

	if (!s)
		return false;
	add_elem(op, op->wr.sge, s);
	op->wr.nsge = 1;
	slice_receive(s, op, op->cid, op->from);
	return true;
}

bool op_sinks(struct op *op)
{
	uint32_t at = 0;

	if (!gather(op, op->wr.sge, op->len, SGL_MAX))
		return false;
	op->wr.nsge = (uint8_t)op->nlocal;
	for (unsigned i = 0; i < op->nlocal; i++) {
		slice_receive(op->local_mem[i], op, op->cid, op->from + at);
		at += op->local_mem[i]->len;
	}
	return true;
}

bool op_has_target(const struct ep *ep)
{
	const struct ep *other = ep_other(ep);

	return other && other->state != EP_OVER;
}

/* Of the peer's memory that has the right, without a window. */
static struct region *remote_region(struct ep *ep, uint32_t right)
{
	struct ep *other = ep_other(ep);
	struct region *choice[] = {other->open_region, other->scoped_region,
				   other->node->shared[domain(other)]};
	struct region *rg = choice[random_below(ep->w, 3)];

	return rg && !rg->dead && !rg->revoke_due && (rg->rights & right) == right ? rg : NULL;
}

struct slice *op_remote_slice(struct ep *ep, uint32_t len, uint32_t right, uint32_t align,
			      struct grant **ret_via)
{
	struct grant *g = chance(ep->w, 5000) ? window_pick(ep_other(ep), right, len) : NULL;
	struct region *rg = g ? NULL : remote_region(ep, right);
	struct slice *s = NULL;

	if (g)
		s = window_slice(g, len, align);
	else if (rg)
		s = slice_new_in(rg, rg->off, rg->len, len, align);
	*ret_via = s ? g : NULL;
	return s;
}

void op_set_target(struct op *op, struct slice *s)
{
	op->target = s;
	op->wr.rstag = op->via ? op->via->stag : s->rg->stag;
	op->wr.rto = slice_to(s);
}

/* ---- valid requests ---- */

struct op *op_good_write(struct ep *ep, uint32_t len)
{
	struct op *op = op_new(ep, RDMAP_WRITE, len);
	struct slice *s = NULL;

	if (len)
		s = op_remote_slice(ep, len, STAG_REMOTE_WRITE, 1, &op->via);

	if (s) {
		op_set_target(op, s);
		slice_receive(s, op, op->cid, op->from);
	} else if (len == 0) {
		op->wr.rstag = (uint32_t)simclock_random(ep->w->clock);
		op->wr.rto = simclock_random(ep->w->clock);
	}
	if ((len && !s) || !op_source(op)) {
		op_drop(op);
		return NULL;
	}
	return op;
}

struct op *op_good_read(struct ep *ep, uint32_t len)
{
	struct op *op = op_new(ep, RDMAP_READ, len);
	struct slice *s = NULL;

	if (len)
		s = op_remote_slice(ep, len, STAG_REMOTE_READ, 1, &op->via);

	if (s) {
		op_set_target(op, s);
		slice_fill(s, op->cid, op->from);
	} else {
		op->wr.rstag = (uint32_t)simclock_random(ep->w->clock);
		op->wr.rto = simclock_random(ep->w->clock);
	}
	if ((len && !s) || !op_sinks(op)) {
		op_drop(op);
		return NULL;
	}
	return op;
}

const struct op *op_next_receive(const struct ep *ep, unsigned queue)
{
	const struct ep *other = ep_other(ep);
	unsigned n = ep->queue[queue].posted;

	return other && n < other->queue[queue].good_n ? other->queue[queue].good[n] : NULL;
}

/* Raw: a queue of the peer. */
static unsigned draw_send_queue(struct ep *ep)
{
	const struct ep *other = ep_other(ep);

	return ep->cfg.raw ? (unsigned)random_below(ep->w, (other ? other : ep)->cfg.queues) : 0;
}

static struct op *send_op(struct ep *ep, enum rdmap_op kind, uint32_t len, unsigned queue)
{
	struct op *op = op_new(ep, kind, len);

	op->queue = (int)queue;
	if (ep->cfg.raw) {
		op->wr.raw.qn = queue;
		op->wr.raw.rsvd = simclock_random(ep->w->clock) >> 24;
	} else if (kind == RDMAP_IMM) {
		op->wr.imm = simclock_random(ep->w->clock);
	}
	return op;
}

/* True if the peer posts the receive when the message waits for it. */
static bool may_be_late(const struct ep *ep)
{
	enum { MOST = 32, SPARE = 200 };
	const struct ep *other = ep_other(ep);

	return other && other->patient && other->state < EP_CLOSING &&
	       other->rq_n + SPARE < OPS_MAX && ep->queue[0].posted < other->queue[0].good_n + MOST;
}

struct op *op_good_send(struct ep *ep, enum rdmap_op kind)
{
	unsigned queue = draw_send_queue(ep);
	const struct op *recv = op_next_receive(ep, queue);
	struct world *w = ep->w;
	uint32_t max = recv ? recv->len : w->plan.len_max;
	bool late = !recv && may_be_late(ep);
	struct op *op;

	if (!recv && !late && !w->plan.overrun_receives)
		return NULL;
	op = send_op(ep, kind, kind == RDMAP_IMM ? 0 : op_draw_len(w, max), queue);
	if (!recv && !late)
		op->may |= perr_bit(PERR_NO_BUFFER) | perr_bit(PERR_TOO_LONG) | perr_bit(PERR_QN);
	if (kind != RDMAP_IMM && !op_source(op)) {
		op_drop(op);
		return NULL;
	}
	return op;
}

/* ---- choosing ---- */

void op_post(struct op *op)
{
	if (!op)
		return;
	if (chance(op->ep->w, op->ep->w->plan.bad_op))
		bad_op(op);
	ep_post(op);
}

/* A Write, then a Read of the same memory: the Read returns the data of the Write. */
static void post_read_back(struct ep *ep)
{
	struct op *wr = op_good_write(ep, 1 + op_draw_len(ep->w, ep->w->plan.len_max - 1)), *rd;

	if (!wr)
		return;
	if (wr->via && !(wr->via->rights & STAG_REMOTE_READ)) {
		ep_post(wr);
		return;
	}
	rd = op_new(ep, RDMAP_READ, wr->len);
	rd->cid = wr->cid;
	rd->needs = wr;
	rd->via = wr->via;
	op_set_target(rd, slice_pin(wr->target));
	ep_post(wr);
	if (op_sinks(rd))
		ep_post(rd);
	else
		op_drop(rd);
}

/* A Read, then a fenced Write to its source: the Read returns the previous data. */
static void post_read_then_write(struct ep *ep)
{
	struct op *rd = op_good_read(ep, 1 + op_draw_len(ep->w, ep->w->plan.len_max - 1)), *wr;

	if (!rd)
		return;
	if (rd->via && !(rd->via->rights & STAG_REMOTE_WRITE)) {
		ep_post(rd);
		return;
	}
	wr = op_new(ep, RDMAP_WRITE, rd->len);
	wr->wr.flags |= RDMAP_FENCE;
	wr->via = rd->via;
	op_set_target(wr, slice_pin(rd->target));
	ep_post(rd);
	if (op_source(wr)) {
		slice_receive(wr->target, wr, wr->cid, wr->from);
		ep_post(wr);
	} else {
		op_drop(wr);
	}
}

/* A Read, then a fenced Send of the data that was read. */
static void post_read_then_send(struct ep *ep)
{
	const struct op *recv = op_next_receive(ep, 0);
	struct op *rd, *send;

	if (!recv || recv->len == 0)
		return;
	rd = op_good_read(ep, 1 + op_draw_len(ep->w, recv->len - 1));
	if (!rd)
		return;
	send = op_new(ep, RDMAP_SEND, rd->len);
	send->wr.flags |= RDMAP_FENCE;
	send->cid = rd->cid;
	for (unsigned i = 0; i < rd->nlocal; i++)
		add_elem(send, send->wr.sge, slice_pin(rd->local_mem[i]));
	send->wr.nsge = (uint8_t)send->nlocal;
	ep_post(rd);
	ep_post(send);
}

bool op_names_stag(const struct ep *ep, uint32_t stag)
{
	for (unsigned i = ep->sq_done; i < ep->sq_n; i++)
		if (op_has_response(ep->sq[i]->kind) && ep->sq[i]->wr.rstag == stag)
			return true;
	return false;
}

/* The peer's region for this stream, or a window of it, is not needed any more. */
static void post_invalidation(struct ep *ep)
{
	struct grant *g = chance(ep->w, 5000) ? window_pick(ep_other(ep), 0, 0) : NULL;
	struct region *rg = ep_other(ep)->scoped_region;
	struct op *op;

	if (!g && (rg->dead || rg->revoke_due))
		return;
	op = op_good_send(ep, RDMAP_SEND);
	if (!op)
		return;
	op->kind = RDMAP_SEND_INV;
	op->wr.op = RDMAP_SEND_INV;
	op->wr.inv_stag = g ? g->stag : rg->stag;
	op->grant = g;
	if (g) {
		g->state = GRANT_CLOSING;
	} else {
		op->inv = rg;
		rg->revoke_due = true;
	}
	if (op_names_stag(ep, op->wr.inv_stag))
		op->wr.flags |= RDMAP_FENCE;
	ep_post(op);
}

/* The operations of RFC 7306, and windows. */
static void post_extension(struct ep *ep)
{
	bool peer_old = !op_has_target(ep) || ep_other(ep)->cfg.plain_rdmap;
	uint64_t r = random_below(ep->w, 100);

	if (r < 25)
		window_post(ep);
	else if (ep->cfg.plain_rdmap || peer_old)
		return;
	else if (r < 50)
		op_post(op_good_send(ep, RDMAP_IMM));
	else if (ep->ord == 0)
		return;
	else if (r < 85)
		atomic_post(ep);
	else
		atomic_post_pair(ep);
}

static void post_plain(struct ep *ep)
{
	struct world *w = ep->w;
	bool reads = ep->ord > 0, has_target = op_has_target(ep);
	uint64_t r = random_below(w, 100);

	if (r < 35 || !has_target)
		op_post(op_good_send(ep, RDMAP_SEND));
	else if (r < 60)
		op_post(op_good_write(ep, op_draw_len(w, w->plan.len_max)));
	else if (r < 64)
		post_invalidation(ep);
	else if (r < 65 && w->plan.bad_op)
		bad_op_post(ep);
	else if (!reads)
		op_post(op_good_write(ep, op_draw_len(w, 100)));
	else if (r < 85)
		op_post(op_good_read(ep, op_draw_len(w, w->plan.len_max)));
	else if (r < 90)
		post_read_back(ep);
	else if (r < 95)
		post_read_then_write(ep);
	else
		post_read_then_send(ep);
}

void op_post_random(struct ep *ep)
{
	if (!ep_post_room(ep))
		return;
	if (ep->cfg.raw)
		raw_post(ep);
	else if (random_below(ep->w, 100) < ep->w->plan.extensions)
		post_extension(ep);
	else
		post_plain(ep);
}

/* Raw: which queue the receive is for. */
static void draw_queue(struct op *op)
{
	uint8_t queues = op->ep->cfg.queues;
	unsigned q = (unsigned)random_below(op->ep->w, queues + 1U);

	op->queue = q == queues ? QUEUE_TAGGED : (int)q;
	op->recv.qn = q == queues ? RDMAP_QN_TAGGED : (uint8_t)q;
}

/* Memory that requests do not use: two endpoints that wait for each other's receives go on. */
static bool take_late_memory(struct op *op)
{
	struct region *rg = op->ep->late_region;
	struct slice *s = rg && !rg->dead ? slice_new(rg, op->len) : NULL;

	if (s)
		add_elem(op, op->recv.sge, s);
	return s != NULL;
}

/* Elements for the length of the receive, or for the message that waits for it. */
static bool take_memory(struct op *op, uint32_t least)
{
	if (gather(op, op->recv.sge, op->len, op->ep->cfg.max_recv_sge))
		return true;
	for (; op->nlocal > 0; op->nlocal--)
		slice_put(op->local_mem[op->nlocal - 1]);
	op->len = least;
	return least > 0 && take_late_memory(op);
}

static struct op *receive(struct ep *ep)
{
	struct world *w = ep->w;
	struct op *op = op_new(ep, RDMAP_RECV, op_draw_len(w, w->plan.len_max));
	uint32_t at = 0, least = ep->patient ? ep_expected(ep) : 0;

	op->queue = 0;
	if (op->len < least)
		op->len = least;
	w->sum.held += least > 0;
	if (!take_memory(op, least)) {
		op_drop(op);
		return NULL;
	}
	op->recv.nsge = (uint8_t)op->nlocal;
	if (ep->cfg.raw)
		draw_queue(op);
	for (unsigned i = 0; i < op->nlocal; i++) {
		slice_receive(op->local_mem[i], op, 0, at);
		at += op->local_mem[i]->len;
	}
	if (!chance(w, w->plan.bad_op))
		return op;
	if (op->nlocal > 0 && op->local_mem[0]->len > 0 && chance(w, 5000)) {
		bad_op_local_element(op, &op->recv.sge[0], true);
	} else if (ep->cfg.raw && ep->cfg.queues < RDMAP_RAW_QUEUES && chance(w, 5000)) {
		op->recv.qn = ep->cfg.queues; /* no such queue: a bad one of the first */
		op->queue = 0;
		op->local = RDMAP_LOC_OP_ERR;
	} else {
		op->recv.status = op->local = RDMAP_LOC_SGE_ERR;
	}
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
