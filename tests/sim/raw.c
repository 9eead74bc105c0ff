/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams without RDMAP: the programs choose queues and RsvdULP; an error is reported to the
 * program, which may send one more message; the two halves end separately (RFC 5041 6.2).
 */
#include "tests/lib/names.h"
#include "tests/sim/world.h"

enum {
	SLACK_US = 10 * 1000 * 1000, /* for a transport that is slow */
	TICK_US = 2000,
};

/* ---- requests ---- */

/* The mark requests a notice, if there is a receive for it. */
static void draw_mark(struct op *op)
{
	const struct ep *other = ep_other(op->ep);
	uint8_t mark = (uint8_t)simclock_random(op->ep->w->clock);
	bool notice = mark & other->cfg.notify_mask;

	if (notice && !op_next_receive(op->ep, QUEUE_TAGGED)) {
		if (op->ep->w->plan.overrun_receives)
			op->may |= perr_bit(PERR_NO_BUFFER);
		else
			mark &= (uint8_t)~other->cfg.notify_mask;
		notice = op->ep->w->plan.overrun_receives;
	}
	op->wr.raw.rsvd = mark;
	op->queue = notice ? QUEUE_TAGGED : -1;
}

/* Flushed requests leave gaps, so later ones use other receives than planned. */
static void mark_op_uncertain(struct op *op)
{
	if (op->queue >= 0)
		op->may |= perr_bit(PERR_TOO_LONG) | perr_bit(PERR_NO_BUFFER);
}

void raw_post(struct ep *ep)
{
	unsigned before = ep->sq_n;
	struct world *w = ep->w;
	uint64_t r = random_below(w, 100);
	struct op *op;

	if (r < 50 || !op_has_target(ep)) {
		op_post(op_good_send(ep, RDMAP_SEND));
	} else if (r < 52 && w->plan.bad_op) {
		bad_op_post(ep);
	} else {
		op = op_good_write(ep, op_draw_len(w, w->plan.len_max));
		if (op)
			draw_mark(op);
		op_post(op);
	}
	for (unsigned i = before; ep->errored && i < ep->sq_n; i++)
		mark_op_uncertain(ep->sq[i]);
}

/* ---- the end ---- */

static void close_later(void *obj, void *arg)
{
	struct ep *ep = obj;

	(void)arg;
	if (ep->state == EP_OPEN)
		program_close(ep);
}

/* Some programs close, some at once, some never. */
static void plan_close(struct ep *ep)
{
	struct world *w = ep->w;
	uint64_t r = random_below(w, 100);

	ep->since_us = simclock_now(w->clock);
	if (r < 70)
		simclock_after(w->clock, random_below(w, r < 20 ? 1 : 5000000), close_later, ep,
			       NULL);
}

static void check_all_done(struct ep *ep)
{
	const struct flow *f = &ep->end->tx[ep->sid];
	unsigned left = ep->sq_taken - ep->sq_done;

	ep->finishing = f->in_msg;
	if (ep->rq_taken != ep->rq_done || left > (ep->finishing ? 1 : 0))
		fail(ep->w, "ep%u: %u requests and %u receives are left after an error", ep->id,
		     left, ep->rq_taken - ep->rq_done);
}

/* Messages after the error, of which only one may be sent. */
static void post_more(struct ep *ep)
{
	uint64_t n = random_below(ep->w, 4);

	while (n-- > 0)
		op_post_random(ep);
}

static void failed(struct ep *ep, const struct assoc_event *ev)
{
	struct ep *other = ep_other(ep);

	trace(ep->w, "ep%u gets the error %s", ep->id, names_perr(ev->at.perr));
	if (ep->errored || ep->half_closed || ep->state != EP_OPEN)
		fail(ep->w, "ep%u: an error although nothing is received any more", ep->id);
	if (!ep->sess->uncertain && !(ep_errors(other) & perr_bit(sess_error(ep, ev->at.perr))))
		fail(ep->w, "ep%u: its peer did not cause the error %s", ep->id,
		     names_perr(ev->at.perr));
	if (!ev->term || WIRE_TERM_WORD(ev->term->layer, ev->term->etype, ev->term->code) !=
				 perr_term(ev->at.perr))
		fail(ep->w, "ep%u: the error and its Terminate differ", ep->id);
	check_all_done(ep);
	ep->errored = true;
	ep->flushed = false; /* it continues for a while */
	for (unsigned i = ep->sq_taken; i < ep->sq_n; i++)
		mark_op_uncertain(ep->sq[i]);
	ep->w->sum.raw_errors++;
	ep->w->sum.found[ev->at.perr]++;
	plan_close(ep);
	post_more(ep);
}

static void half_closed(struct ep *ep)
{
	struct ep *other = ep_other(ep);
	const struct flow *f = &ep->sess->end[!ep->side]->tx[ep->sid];

	trace(ep->w, "ep%u is half-closed", ep->id);
	if (ep->half_closed || ep->state != EP_OPEN)
		fail(ep->w, "ep%u: half-closed twice, or after its end", ep->id);
	if (!f->ended)
		fail(ep->w, "ep%u: half-closed, but its peer has not ended", ep->id);
	ep->half_closed = true;
	ep->w->sum.half_closed++;
	if (other && !ep->errored && !ep->sess->uncertain && !ep_errors(other) &&
	    ep_undelivered(other))
		fail(ep->w, "ep%u: half-closed without Send #%llu", ep->id,
		     (unsigned long long)ep_undelivered(other)->cookie);
	plan_close(ep);
	post_more(ep);
}

void raw_event(struct ep *ep, const struct assoc_event *ev)
{
	if (!ep->cfg.raw)
		fail(ep->w, "ep%u: an event for raw endpoints only", ep->id);
	if (ev->type == ASSOC_EV_ERROR)
		failed(ep, ev);
	else
		half_closed(ep);
}

void raw_check_end(const struct ep *ep)
{
	uint64_t took = simclock_now(ep->w->clock) - ep->since_us;
	uint64_t grace = (uint64_t)ep->w->plan.close_ms * 1000 / 2;

	if (!ep->cfg.raw || ep->state != EP_OPEN || ep->w->plan.tight || ep->sess->uncertain)
		return;
	if (!ep->errored && !ep->half_closed)
		fail(ep->w, "ep%u: no side has ended its session", ep->id);
	if (took + TICK_US < grace || (!ep->w->sctp && took > grace + SLACK_US))
		fail(ep->w, "ep%u: its time ended after %llu us", ep->id, (unsigned long long)took);
	if (ep->errored && ep->msgs_after_error == 0 && ep->sq_taken < ep->sq_n && ep->cq_room > 0)
		fail(ep->w, "ep%u: it could not send one more message", ep->id);
	ep->w->sum.raw_timeouts++;
}

bool raw_may_begin(struct ep *ep)
{
	if (!ep->errored)
		return true;
	ep->w->sum.msgs_after_error++;
	return ++ep->msgs_after_error == 1;
}
