/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "proto/association/assoc_impl.h"
#include "proto/rdmap/rdmap_tx.h"
#include "util/be.h"

/* The next message of a stream. */
enum next {
	NOTHING, /* until assoc_ready() */
	SEGMENT,
	WAITING, /* the same, in the middle of a message: no other may be sent before its end */
	NOT_YET, /* not before everything is acknowledged */
	YIELDED, /* not before the next assoc_tick(): others take their turn */
};

/* ---- order of control messages ---- */

/*
 * RFC 5043 6.6: a control message may not overtake an earlier one of its session. Our first one has
 * arrived if the peer sent something that only it permits, or if everything was acknowledged since.
 */
static bool first_has_arrived(const struct assoc *a, const struct assoc_stream *s)
{
	return !s->tx_started || s->first_delivered || s->first_epoch != a->acked_epoch;
}

/* ---- making messages ---- */

static void make_control(struct assoc *a, const struct assoc_stream *s, uint16_t func,
			 struct assoc_seg *ret)
{
	ret->ppid = WIRE_PPID_CONTROL;
	be_put16(ret->head + WIRE_SSN_LEN, func);
	ret->head_len = WIRE_CONTROL_LEN;
	if (wire_func_enhanced(func)) {
		wire_enh_put(ret->head + WIRE_CONTROL_LEN, &s->enh_local);
		ret->head_len += WIRE_ENH_LEN;
	}
	ret->nbody = 0;
	ret->len = ret->head_len;
	ret->urgent = true;
	if (func != WIRE_TERMINATE && s->priv_len > 0) {
		ret->body[ret->nbody++] = (struct span){(uint8_t *)s->priv, s->priv_len};
		ret->len += s->priv_len;
	}
	if (assoc_credit_put_offer(a, s, func)) {
		ret->body[ret->nbody++] = (struct span){a->offer, WIRE_OFFER_LEN};
		ret->len += WIRE_OFFER_LEN;
	}
}

static int make_segment(struct assoc *a, struct assoc_stream *s, uint32_t mulpdu,
			struct assoc_seg *ret)
{
	struct rdmap_seg seg = {
		.head = ret->head + WIRE_SSN_LEN, .body = ret->body, .room = a->room};
	int r = rdmap_tx_next(s->ep, mulpdu, &seg);

	if (r == RDMAP_TX_FAILED) {
		assoc_failed(a, s, ASSOC_REASON_ERROR);
		r = rdmap_tx_next(s->ep, mulpdu, &seg); /* the Terminate */
	}
	if (r != RDMAP_TX_SEGMENT)
		return r;
	assert(seg.len <= mulpdu); /* RFC 5043 9 */
	ret->ppid = WIRE_PPID_SEGMENT;
	ret->head_len = (uint16_t)(WIRE_SSN_LEN + seg.head_len);
	ret->nbody = seg.nbody;
	ret->len = WIRE_SSN_LEN + seg.len;
	ret->urgent = rdmap_tx_awaited(s->ep); /* else the peer may delay its SACK */
	return r;
}

/* A segment of the stream's endpoint, if there is one and it may be sent. */
static enum next next_segment(struct assoc *a, struct assoc_stream *s, uint32_t mulpdu,
			      struct assoc_seg *ret)
{
	uint32_t room = ASSOC_UNACKED_MAX - assoc_unacked(a, s);

	if (!s->ep || s->session.state == SESSION_LOCAL_ENDED)
		return NOTHING;
	if (room <= ASSOC_UNACKED_ENDS && !rdmap_tx_ending(s->ep)) {
		a->full = true;
		return s->terminate_due && !rdmap_tx_busy(s->ep) && !assoc_sends_last(s) ? NOTHING
											 : NOT_YET;
	}
	switch (make_segment(a, s, mulpdu, ret)) {
	case RDMAP_TX_SEGMENT:
		if (s->ep->credit_tx.window > 0 && !assoc_credit_may_send(s, ret->len))
			return WAITING;
		return SEGMENT;
	case RDMAP_TX_WAIT:
		return WAITING;
	case RDMAP_TX_YIELD:
		return YIELDED;
	default:
		return NOTHING;
	}
}

/* We have closed, and the requests before that are sent and answered; or they have to wait, and the
 * peer has ended, too. */
static bool stop_if_spent(struct assoc *a, struct assoc_stream *s, enum next r)
{
	bool waits = r == WAITING && s->session.state == SESSION_PEER_ENDED;

	if (!waits && !rdmap_tx_spent(s->ep))
		return false;
	assoc_stop(a, s);
	return true;
}

/* RFC 5043 6.4: a Terminate is the only message on the stream. */
static enum next next_refusal(struct assoc *a, struct assoc_stream *s, struct assoc_seg *ret)
{
	if (!assoc_refusal_next(a, &a->out.sid))
		return NOTHING;
	a->out.what = ASSOC_REFUSAL;
	ret->sid = a->out.sid;
	make_control(a, s, WIRE_TERMINATE, ret);
	return SEGMENT;
}

/* The next message of a stream: first control message, segments, Terminate. */
static enum next next_message(struct assoc *a, struct assoc_stream *s, uint32_t mulpdu,
			      struct assoc_seg *ret)
{
	enum next r;

	a->out = (struct assoc_departure){.stream = s};
	ret->sid = s->session.sid;
	be_put16(ret->head, s->tx_ssn);
	if (assoc_refusal_is(a, s))
		return next_refusal(a, s, ret);
	if (s->first) {
		a->out.what = ASSOC_FIRST;
		make_control(a, s, s->first, ret);
		return SEGMENT;
	}
	if (s->credits == ASSOC_CREDITS_AGREED && assoc_credit_make(s, ret)) {
		a->out.what = ASSOC_CREDIT;
		a->out.pos = s->ep->credit_rx.got;
		return SEGMENT;
	}
	a->out.what = ASSOC_SEGMENT;
	if (assoc_sends_last(s))
		stop_if_spent(a, s, NOTHING);
	do
		r = next_segment(a, s, mulpdu, ret);
	while (r != SEGMENT && assoc_sends_last(s) && stop_if_spent(a, s, r));
	if (r != NOTHING || !s->terminate_due || assoc_sends_last(s))
		return r;
	if (!first_has_arrived(a, s))
		return NOT_YET;
	if (s->ep && rdmap_sq_unacked(s->ep))
		return NOTHING; /* until assoc_tx_progress() or a response completes requests that
				   were sent */
	a->out.what = ASSOC_END;
	make_control(a, s, WIRE_TERMINATE, ret);
	return SEGMENT;
}

static struct assoc_stream *next_stream(struct drr *of)
{
	struct drr *leaf = drr_next(of);

	return leaf ? list_entry(leaf, struct assoc_stream, turn) : NULL;
}

static bool next_of(struct assoc *a, struct drr *of, uint32_t mulpdu, struct assoc_seg *ret)
{
	struct assoc_stream *s;

	while (!a->lost && (s = next_stream(of))) {
		enum next r = next_message(a, s, mulpdu, ret);

		if (r == SEGMENT) {
			a->out.len = ret->len;
			return true;
		}
		if (r == NOT_YET)
			assoc_park(a, s, &a->waiting);
		else if (r == YIELDED)
			assoc_park(a, s, &a->later);
		else
			assoc_not_ready(a, s);
	}
	a->out.stream = NULL;
	return false;
}

bool assoc_tx_next(struct assoc *a, uint32_t mulpdu, struct assoc_seg *ret)
{
	return next_of(a, &a->root, mulpdu, ret);
}

bool assoc_tx_next_of(struct assoc_share *h, uint32_t mulpdu, struct assoc_seg *ret)
{
	return next_of(h->assoc, &h->turn, mulpdu, ret);
}

void assoc_set_room(struct assoc *a, uint32_t room)
{
	a->room = room;
}

/* ---- reports of the transport ---- */

static void segment_taken(struct assoc *a, struct assoc_stream *s)
{
	if (s->ep->credit_tx.window > 0)
		assoc_credit_sent(s, a->out.len);
	rdmap_tx_taken(s->ep, a->tx_count);
	assoc_await_acks(a, s);
}

/* It has no DDP-SSN and does not count as progress of a session that ends. */
static void credit_taken(struct assoc *a, struct assoc_stream *s)
{
	a->count.tx_credits++;
	if (s->ep)
		credit_rx_reported(&s->ep->credit_rx, a->out.pos);
}

static void refusal_taken(struct assoc *a)
{
	a->count.tx_control++;
	a->count.tx_terminates++;
	assoc_refusal_sent(a, a->out.sid);
}

bool assoc_tx_accepted(struct assoc *a)
{
	struct assoc_stream *s = a->out.stream;
	bool over;

	if (!s)
		return true; /* the association was lost since assoc_tx_next() */
	a->out.stream = NULL;
	a->tx_count++;
	over = assoc_charge(a, s, a->out.len);
	if (a->out.what == ASSOC_CREDIT) {
		credit_taken(a, s);
		return over;
	}
	if (a->out.what == ASSOC_REFUSAL) {
		refusal_taken(a);
		return over;
	}
	s->unacked = assoc_unacked(a, s) + 1;
	s->unacked_epoch = a->acked_epoch;
	s->tx_ssn++;
	s->tx_started = true;
	assoc_restart_clock(a, s);
	switch (a->out.what) {
	case ASSOC_FIRST:
		a->count.tx_control++;
		s->first_epoch = a->acked_epoch;
		if (s->first == WIRE_REJECT || s->first == WIRE_ENH_REJECT)
			assoc_session(a, s, SESSION_LAST_SENT);
		s->first = 0;
		assoc_trim_priv(a, s);
		break;
	case ASSOC_SEGMENT:
		a->count.tx_segments++;
		if (s->ep)
			segment_taken(a, s);
		break;
	case ASSOC_CREDIT:
	case ASSOC_REFUSAL:
		break;
	case ASSOC_END:
		a->count.tx_control++;
		a->count.tx_terminates++;
		s->terminate_due = false;
		assoc_session(a, s, SESSION_LAST_SENT);
		if (s->session.state == SESSION_DEAD)
			assoc_streams_trim(a); /* it had only this to send */
		break;
	}
	return over;
}

void assoc_tx_check(struct assoc *a, uint32_t unacked)
{
	a->tx_seen = a->tx_count - unacked;
	if (a->full)
		assoc_unpark_all(a, &a->waiting);
	a->full = false;
}

bool assoc_tx_full(const struct assoc *a)
{
	return a->full;
}

void assoc_tx_progress(struct assoc *a, uint32_t unacked)
{
	assoc_tx_check(a, unacked);
	a->tx_acked = a->tx_seen;
	list_foreach_safe (it, &a->awaiting) {
		struct assoc_stream *s = list_entry(it, struct assoc_stream, await);

		if (s->ep)
			rdmap_sq_acked(s->ep, a->tx_acked);
		assoc_ready(a, s); /* a full window, or the session's Terminate, may have waited */
	}
}

void assoc_tx_report(struct assoc *a)
{
	list_foreach_safe (it, &a->awaiting) {
		struct assoc_stream *s = list_entry(it, struct assoc_stream, await);

		if (s->ep)
			rdmap_sq_report(s->ep);
		if (!s->ep || s->ep->sq.awaiting == 0)
			list_del(&s->await);
	}
}

void assoc_tx_acked(struct assoc *a)
{
	a->acked_epoch++;
	assoc_tx_progress(a, 0);
	assoc_unpark_all(a, &a->waiting);
	while (!list_empty(&a->quarantine))
		assoc_session(a, list_entry(a->quarantine.next, struct assoc_stream, timer),
			      SESSION_ACKED);
}

void assoc_tx_wake(struct assoc *a, struct rdmap *ep)
{
	if (ep->stream && ep->stream->ep == ep)
		assoc_ready(a, ep->stream);
}
