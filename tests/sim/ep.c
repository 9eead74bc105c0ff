/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: their rings, and the callbacks of their owner. */
#include <stdlib.h>
#include <string.h>

#include "proto/rdmap/hold.h"
#include "tests/lib/names.h"
#include "tests/sim/world.h"

/* The protocol may process the peer's Accept before its event is read. */
static bool has_session(const struct ep *ep)
{
	if (ep->state == EP_CONNECTING)
		return ep->sess->answer == ANS_ACCEPT;
	return ep->state == EP_OPEN || ep->state == EP_CLOSING;
}

static bool take_send(void *user, struct rdmap_wr *ret)
{
	struct ep *ep = user;
	struct op *op;

	if (!has_session(ep))
		fail(ep->w, "ep%u: asked for work without a session", ep->id);
	ep->wake_due = ep->sq_taken == ep->sq_n || ep->cq_room == 0;
	if (ep->wake_due)
		return false;
	if (ep->state == EP_CLOSING && ep->sq_taken >= ep->sq_last)
		fail(ep->w, "ep%u: work was taken after the close", ep->id);
	op = ep->sq[ep->sq_taken++];
	if (ep->sq_taken - ep->sq_done > ep->cfg.sq_depth)
		fail(ep->w, "ep%u: more requests taken than its depth", ep->id);
	ep->cq_room--;
	op->state = OP_TAKEN;
	*ret = op->wr;
	trace(ep->w, "ep%u takes %s #%llu len %u flags %x", ep->id, names_op(op->kind),
	      (unsigned long long)op->cookie, op->len, op->wr.flags);
	return true;
}

static bool take_recv(void *user, struct rdmap_recv *ret)
{
	struct ep *ep = user;
	struct op *op;

	if (!has_session(ep))
		fail(ep->w, "ep%u: asked for a receive without a session", ep->id);
	if (ep->errored)
		fail(ep->w, "ep%u: asked for a receive after the error", ep->id);
	ep->recv_due = ep->rq_taken == ep->rq_n;
	if (ep->recv_due)
		return false;
	op = ep->rq[ep->rq_taken++];
	if (ep->rq_taken - ep->rq_done > ep->cfg.rq_depth)
		fail(ep->w, "ep%u: more receives taken than its depth", ep->id);
	op->state = OP_TAKEN;
	*ret = op->recv;
	return true;
}

/* Those that are wrong take no message. */
static uint32_t recvs(void *user)
{
	const struct ep *ep = user;
	uint32_t n = 0;

	for (unsigned i = ep->rq_taken; i < ep->rq_n; i++)
		n += ep->rq[i]->local == RDMAP_SUCCESS;
	return n;
}

/* Wakes only where the contract requires it: an unneeded wake would hide a missing one. */
static void wake(struct ep *ep)
{
	bool last_ones = ep->state == EP_CLOSING && ep->sq_taken < ep->sq_last;

	if (!(ep->state == EP_OPEN || last_ones) || !ep->wake_due)
		return;
	ep->wake_due = false;
	assoc_tx_wake(ep->end->assoc, ep->r);
	assoc_end_wake(ep->end);
}

static void drain(void *obj, void *arg)
{
	struct ep *ep = obj;

	(void)arg;
	ep->cq_room++;
	if (ep->sq_taken < ep->sq_n)
		wake(ep);
}

static void complete(void *user, const struct rdmap_done *done)
{
	struct ep *ep = user;

	if (!has_session(ep))
		fail(ep->w, "ep%u: completion without a session", ep->id);
	done_check(ep, done);
	if (done->op != RDMAP_RECV && done->op != RDMAP_RECV_TAGGED)
		simclock_after(ep->w->clock, random_below(ep->w, ep->w->plan.drain_us + 1), drain,
			       ep, NULL);
}

static const struct rdmap_ops ops = {
	.take_send = take_send,
	.take_recv = take_recv,
	.recvs = recvs,
	.complete = complete,
};

static uint16_t draw_reads(struct world *w)
{
	static const uint16_t choice[] = {0, 1, 1, 2, 2, 4, 8, 16};

	return choice[random_below(w, sizeof(choice) / sizeof(choice[0]))];
}

static void draw_raw(struct rdmap_cfg *cfg, struct world *w)
{
	cfg->raw = true;
	cfg->queues = (uint8_t)(1 + random_below(w, RDMAP_RAW_QUEUES));
	cfg->notify_mask = (uint8_t)simclock_random(w->clock);
}

static void draw_cfg(struct ep *ep, bool raw)
{
	struct world *w = ep->w;

	/* One random number per statement: C leaves the order within an expression undefined. */
	ep->cfg.stags = ep->node->stags;
	ep->cfg.pool = &ep->node->pool->blocks;
	ep->cfg.accessor.pd = 1 + random_below(w, 2);
	ep->cfg.accessor.scope = ep->id + 1;
	ep->cfg.ord = draw_reads(w);
	ep->cfg.ird = draw_reads(w);
	ep->cfg.sq_depth = (uint16_t)(1u << random_below(w, 7));
	ep->cfg.rq_depth = (uint16_t)(1u << random_below(w, 7));
	ep->cfg.max_recv_sge = (uint8_t)(1 + random_below(w, SGL_MAX));
	ep->cq_room = 1 + (unsigned)random_below(w, 32);
	if (raw)
		draw_raw(&ep->cfg, w);
	else
		ep->cfg.plain_rdmap = chance(w, w->plan.old_ep);
}

/* Small windows, in which the longest segment fits twice; 0: for the peer only. */
static void draw_credits(struct ep *ep, unsigned options)
{
	struct world *w = ep->w;
	const struct sim_faults *f = &w->plan.faults;
	uint32_t longest = 2 * w->plan.len_max + WIRE_HEAD_MAX;
	/* Both are drawn alone: the lower bound counts if it is above the upper one. */
	uint32_t packet = f->message_min > f->message_max ? f->message_min : f->message_max;
	/* Real paths may become wider than they are at the beginning. */
	uint32_t least = 2 * hold_room(packet < longest && !w->sctp ? packet : longest);

	if (!chance(w, 6000))
		return;
	ep->credits = true;
	ep->rnr = ep->patient && chance(w, 7000); /* else messages would wait without end */
	if (ep->patient)
		ep->ahead_max = least + (uint32_t)random_below(w, 10000);
	rdmap_set_options(ep->r, options | RDMAP_CREDITS | (ep->rnr ? RDMAP_RNR : 0U));
	rdmap_set_window(ep->r, ep->ahead_max);
}

/* A receive that turns out to be bad was announced to the peer, and takes no message. */
static bool announced_bad(const struct ep *ep)
{
	for (unsigned i = 0; i < ep->rq_taken; i++)
		if (ep->rq[i]->local != RDMAP_SUCCESS || ep->rq[i]->uncertain)
			return true;
	return false;
}

void ep_check_window(const struct ep *ep)
{
	struct rdmap_info info;

	if (!ep->r || !ep->ahead_max || ep->in_order || !ep->sess || !ep->sess->agreed)
		return;
	rdmap_query(ep->r, &info);
	if (info.held_bytes > ep->ahead_max && !announced_bad(ep))
		fail(ep->w, "ep%u: holds %u bytes, more than its window of %u", ep->id,
		     info.held_bytes, ep->ahead_max);
}

/* Room for all that can wait, or for little; with little, messages that find no receive may still
 * end the session. */
static void draw_options(struct ep *ep)
{
	enum { AMPLE = 16 << 20, LITTLE = 2000, LONG_MS = 30000 };
	struct world *w = ep->w;
	bool acked = chance(w, w->plan.hold), hold = chance(w, w->plan.hold);
	bool in_order = hold && chance(w, 5000), late = hold && chance(w, 7000);
	uint32_t bytes = in_order || late ? AMPLE : LITTLE;
	unsigned options;

	if (ep->cfg.raw)
		return;
	ep->acked = acked;
	ep->in_order = in_order;
	ep->patient = late && ep->late_region;
	if (hold) {
		ep->hold = alloc_zeroed(hold_size(bytes));
		rdmap_set_hold(ep->r, ep->hold, bytes, late ? LONG_MS : !in_order);
	}
	options = (in_order ? RDMAP_PLACE_IN_ORDER : 0U) | (acked ? RDMAP_ACKED : 0U);
	rdmap_set_options(ep->r, options);
	if (w->plan.hold)
		draw_credits(ep, options);
	w->sum.in_order += in_order;
	w->sum.acked += acked;
}

static bool draw_memory(struct ep *ep)
{
	enum {
		HIDDEN = STAG_LOCAL_WRITE | STAG_BIND_WINDOWS,
		MOST = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ,
		ALL = MOST | STAG_REMOTE_ATOMIC | STAG_BIND_WINDOWS,
	};
	struct node *n = ep->node;
	uint32_t len = 2 * ep->w->plan.len_max + 1024;
	uint64_t pd = ep->cfg.accessor.pd;

	ep->local_region = region_new(n, ep, pd, 0, STAG_LOCAL_WRITE, 2 * len);
	ep->open_region = region_new(n, ep, pd, 0, ALL, len);
	ep->scoped_region = region_new(n, ep, pd, ep->cfg.accessor.scope, MOST, len / 2);
	ep->windowed_region = region_new(n, ep, pd, 0, HIDDEN, len / 2);
	if (ep->w->plan.hold)
		ep->late_region = region_new(n, ep, pd, 0, STAG_LOCAL_WRITE, len / 2);
	if (!ep->local_region || !ep->open_region || !ep->scoped_region || !ep->windowed_region)
		return false;
	window_init(ep);
	return true;
}

static void free_memory(struct ep *ep)
{
	window_deinit(ep);
	list_foreach_safe (it, &ep->node->regions) {
		struct region *rg = list_entry(it, struct region, link);

		if (rg->owner == ep)
			region_free(rg);
	}
	ep->late_region = ep->local_region = ep->open_region = ep->scoped_region =
		ep->windowed_region = NULL;
	if (ep->r) {
		rdmap_clear(ep->r);
		blocks_unreserve(ep->cfg.pool, rdmap_blocks(&ep->cfg));
	}
	free(ep->r);
	free(ep->hold);
	ep->r = NULL;
	ep->hold = NULL;
}

struct queue *ep_queue(struct ep *ep, unsigned i)
{
	struct queue *l = &ep->queue[i];

	if (!l->all) {
		l->all = alloc_zeroed(OPS_MAX * sizeof(*l->all));
		l->good = alloc_zeroed(OPS_MAX * sizeof(*l->good));
		l->sent = alloc_zeroed(OPS_MAX * sizeof(*l->sent));
		l->lens = alloc_zeroed(OPS_MAX * sizeof(*l->lens));
	}
	return l;
}

struct ep *ep_new(struct node *n, bool raw)
{
	struct ep *ep = alloc_zeroed(sizeof(*ep));

	ep->w = n->w;
	ep->node = n;
	ep->id = n->w->neps++;
	list_add_tail(&n->eps, &ep->link);
	list_init(&ep->grants);
	draw_cfg(ep, raw);
	if (!draw_memory(ep)) {
		ep->state = EP_OVER;
		free_memory(ep);
		return NULL;
	}
	if (!blocks_reserve(ep->cfg.pool, rdmap_blocks(&ep->cfg)))
		fail(ep->w, "ep%u: no blocks", ep->id);
	ep->r = rdmap_init(alloc_zeroed(rdmap_size(&ep->cfg)), &ep->cfg, &ops, ep);
	draw_options(ep);
	trace(ep->w, "n%u ep%u pd %llu ord %u ird %u sq %u rq %u sge %u room %u%s%s", n->id, ep->id,
	      (unsigned long long)ep->cfg.accessor.pd, ep->cfg.ord, ep->cfg.ird, ep->cfg.sq_depth,
	      ep->cfg.rq_depth, ep->cfg.max_recv_sge, ep->cq_room, raw ? " raw" : "",
	      ep->cfg.plain_rdmap ? " plain" : "");
	return ep;
}

bool ep_post_room(const struct ep *ep)
{
	return ep->sq_n + 2 < OPS_MAX && ep->sq_n - ep->sq_done < 64;
}

static void count_op(struct world *w, const struct op *op)
{
	w->sum.sends += op->kind == RDMAP_SEND || op->kind == RDMAP_SEND_INV;
	w->sum.writes += op->kind == RDMAP_WRITE;
	w->sum.reads += op->kind == RDMAP_READ;
	w->sum.inlined += (op->wr.flags & RDMAP_INLINE) != 0;
	w->sum.fenced += (op->wr.flags & RDMAP_FENCE) != 0;
	w->sum.imms += op->kind == RDMAP_IMM;
	w->sum.atomics += op_is_atomic(op->kind);
	w->sum.windowed += op->via != NULL;
}

uint32_t ep_expected(const struct ep *ep)
{
	const struct ep *other = ep_other(ep);
	unsigned n = ep->queue[0].good_n;

	return other && n < other->queue[0].posted ? other->queue[0].lens[n] : 0;
}

static bool lacks_receives(const struct ep *ep)
{
	const struct ep *other = ep_other(ep);
	const struct queue *l = other ? &other->queue[0] : NULL;

	if (ep->state == EP_OVER || !l)
		return false;
	return ep->queue[0].good_n < (other->state == EP_OVER ? l->sent_n : l->posted);
}

static void post_late(void *obj, void *arg)
{
	struct ep *ep = obj;
	unsigned before;

	(void)arg;
	ep->late_due = false;
	if (!lacks_receives(ep))
		return;
	before = ep->rq_n;
	if (has_session(ep))
		op_post_recvs(ep, 1 + (unsigned)random_below(ep->w, 4));
	ep->late_more_us = ep->rq_n > before ? 0 : 2 * ep->late_more_us + 1;
	ep_wait_for_receives(ep);
}

/* While it could not post any, it looks less and less often: to connect and to end can take
 * seconds, and late_us a few microseconds. */
void ep_wait_for_receives(struct ep *ep)
{
	enum { MOST_US = 10000 };
	struct world *w = ep->w;
	uint64_t us;

	if (!ep->patient || ep->late_due || !lacks_receives(ep))
		return;
	if (ep->late_more_us > MOST_US)
		ep->late_more_us = MOST_US;
	us = 1 + random_below(w, w->plan.late_us) + ep->late_more_us;
	ep->late_due = true;
	simclock_after(w->clock, us, post_late, ep, NULL);
}

static void count_message(struct ep *ep, const struct op *op)
{
	struct queue *l = ep_queue(ep, (unsigned)op->queue);
	struct ep *other = ep_other(ep);

	l->lens[l->posted++] = op->len;
	if (other && op->queue == 0)
		ep_wait_for_receives(other);
}

void ep_post(struct op *op)
{
	struct ep *ep = op->ep;

	op->at = ep->sq_n;
	ep->sq[ep->sq_n++] = op;
	if (op->queue >= 0 && op->local == RDMAP_SUCCESS)
		count_message(ep, op);
	count_op(ep->w, op);
	trace(ep->w, "ep%u posts %s #%llu len %u flags %x stag %08x inv %08x%s%s", ep->id,
	      names_op(op->kind), (unsigned long long)op->cookie, op->len, op->wr.flags,
	      op->wr.rstag, op->wr.inv_stag, op->local ? " bad" : "", op->must ? " wrong" : "");
	if (ep->cq_room > 0)
		wake(ep);
}

void ep_post_recv(struct op *op)
{
	struct ep *ep = op->ep;
	struct queue *l = ep_queue(ep, (unsigned)op->queue);

	op->at = ep->rq_n;
	ep->rq[ep->rq_n++] = op;
	l->all[l->n++] = op;
	if (op->local == RDMAP_SUCCESS)
		l->good[l->good_n++] = op;
	trace(ep->w, "ep%u posts receive #%llu queue %d len %u%s", ep->id,
	      (unsigned long long)op->cookie, op->queue, op->len, op->local ? " bad" : "");
	if (!ep->hold || !ep->recv_due || !has_session(ep))
		return;
	ep->recv_due = false;
	assoc_rx_wake(ep->end->assoc, ep->r);
	assoc_end_wake(ep->end);
}

static void release(struct op *op)
{
	for (unsigned i = 0; i < op->nlocal; i++) {
		if (op->local_mem[i])
			slice_settle(op->local_mem[i]);
		op->local_mem[i] = slice_put(op->local_mem[i]);
	}
}

/* No byte is placed in this endpoint's memory any more. */
static void release_targets(struct ep *other)
{
	for (unsigned i = 0; other && i < other->sq_n; i++) {
		struct op *op = other->sq[i];

		if (op->target)
			slice_settle(op->target);
		op->target = slice_put(op->target);
	}
}

void ep_over(struct ep *ep)
{
	ep->state = EP_OVER;
	for (unsigned i = 0; i < ep->sq_n; i++)
		release(ep->sq[i]);
	for (unsigned i = 0; i < ep->rq_n; i++)
		release(ep->rq[i]);
	release_targets(ep_other(ep));
	free_memory(ep);
	if (ep->sess)
		ep->sess->over[ep->side] = true;
}

void ep_settle_writes(struct ep *ep, unsigned before, bool all)
{
	for (unsigned i = 0; i < before; i++) {
		struct op *op = ep->sq[i];

		if (op->kind != RDMAP_WRITE || !op->target || !op->sent)
			continue;
		if (slice_received(op->target))
			op->target = slice_put(op->target);
		else if (all && !op->uncertain)
			fail(ep->w, "ep%u: Write #%llu was overtaken by a later message", ep->id,
			     (unsigned long long)op->cookie);
	}
}

void ep_check_in_order(const struct ep *ep)
{
	const struct ep *other = ep_other(ep);
	bool whole = true;

	for (unsigned i = 0; other && i < other->sq_n; i++) {
		struct op *op = other->sq[i];
		bool write = op->kind == RDMAP_WRITE && op->begun && op->target;

		if (!write || op->uncertain || op->must || !op_known(op) || op->target->rg->dead)
			continue;
		if (!whole && slice_changed(op->target))
			fail(ep->w, "ep%u: Write #%llu is placed before an earlier one", ep->id,
			     (unsigned long long)op->cookie);
		whole &= slice_prefix(op->target);
	}
}

const struct op *ep_undelivered(const struct ep *ep)
{
	for (unsigned l = 0; l < QUEUES; l++)
		for (unsigned i = 0; i < ep->queue[l].sent_n; i++)
			if (ep->queue[l].sent[i]->sent && !ep->queue[l].sent[i]->delivered)
				return ep->queue[l].sent[i];
	return NULL;
}

uint32_t ep_errors(const struct ep *ep)
{
	const struct ep *other = ep ? ep_other(ep) : NULL;
	uint32_t bits = 0;

	if (!ep)
		return 0;
	for (unsigned i = 0; i < ep->sq_n; i++) {
		const struct op *op = ep->sq[i];

		if (op->local != RDMAP_SUCCESS)
			continue;
		bits |= op->may;
		if (op_has_response(op->kind) && other && ep->ord > other->ird)
			bits |= perr_bit(PERR_NO_BUFFER);
		if (op->must && op->sent)
			break;
	}
	return bits;
}
