/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that are kept in the hold of their endpoint. A stream whose next message finds no
 * receive stalls: that message and those that follow it wait until there is one, but not longer
 * than the endpoint allows, or with RDMAP_RNR its sender. An endpoint that places in order keeps
 * every message that arrives out of order.
 */
#include "proto/association/assoc_impl.h"

struct hold *assoc_hold(const struct assoc_stream *s)
{
	return s->ep && s->ep->hold.mem && rdmap_fsm_may_receive(s->ep->state) ? &s->ep->hold
									       : NULL;
}

bool assoc_hold_all(const struct assoc_stream *s)
{
	return assoc_hold(s) && (list_linked(&s->stall) || s->ep->options & RDMAP_PLACE_IN_ORDER);
}

bool assoc_hold_waits(const struct assoc_stream *s)
{
	/* After our end no receive is posted, and the peer may use the stream again as soon as we
	 * have acknowledged its own. */
	bool open = s->session.state == SESSION_OPEN ||
		    (s->session.state == SESSION_ENDING && assoc_sends_last(s));

	return open && assoc_hold(s) && s->ep->hold_ms > 0 && !s->hold_over;
}

bool assoc_hold_keep(struct assoc_stream *s, const struct assoc_msg *m, uint16_t ssn,
		     struct assoc_place *ret)
{
	struct rdmap *ep = s->ep;
	uint32_t reach = hold_reach(&ep->hold, m->len);
	uint8_t *p;

	if (reach == 0 || (ep->ops->keep && !ep->ops->keep(ep->user, reach)))
		return false;
	p = hold_add(&ep->hold, ssn, m->len);
	if (!p)
		return false;
	ret->skip = 0;
	ret->len = m->len;
	ret->dst[0] = (struct span){p, m->len};
	ret->ndst = 1;
	s->ahead++;
	return true;
}

void assoc_hold_go_on(struct assoc *a, struct assoc_stream *s)
{
	uint32_t len;

	if (s->ep && s->ep->hold.n > 0 && hold_find(&s->ep->hold, s->rx_ssn, &len) &&
	    !list_linked(&s->resume))
		list_add_tail(&a->resuming, &s->resume);
}

/* Puts the stream on the list, by deadline: endpoints differ in how long they wait. */
static void start_clock(struct assoc *a, struct assoc_stream *s)
{
	struct list *at = a->stalled.prev;

	s->stall_deadline = s->ep->rnr.agreed ? UINT64_MAX : a->now + s->ep->hold_ms;
	while (at != &a->stalled &&
	       list_entry(at, struct assoc_stream, stall)->stall_deadline > s->stall_deadline)
		at = at->prev;
	list_add_tail(at->next, &s->stall);
}

void assoc_hold_stall(struct assoc *a, struct assoc_stream *s)
{
	if (s->ep->more_recvs)
		assoc_hold_go_on(a, s); /* no wake is due: valid receives may follow */
	if (list_linked(&s->stall))
		return;
	a->count.rx_held++;
	s->ep->held_msgs++;
	if (s->ep->rnr.agreed && credit_rx_stall(&s->ep->credit_rx))
		assoc_ready(a, s);
	start_clock(a, s);
}

void assoc_hold_end_follows(struct assoc *a, struct assoc_stream *s)
{
	if (!s->ep || !s->ep->rnr.agreed)
		return;
	s->ep->rnr.agreed = false;
	if (!list_linked(&s->stall))
		return;
	list_del(&s->stall);
	start_clock(a, s);
}

void assoc_hold_give_up(struct assoc *a, struct assoc_stream *s)
{
	s->hold_over = true;
	list_del(&s->stall);
	assoc_hold_go_on(a, s);
}

void assoc_hold_end(struct assoc_stream *s)
{
	hold_del(&s->ep->hold, s->rx_ssn);
	s->ahead--;
	s->hold_over = false;
	list_del(&s->stall);
}

bool assoc_hold_next(struct assoc *a, struct assoc_msg *ret)
{
	while (!list_empty(&a->resuming)) {
		struct list *l = list_pop(&a->resuming);
		struct assoc_stream *s = list_entry(l, struct assoc_stream, resume);
		uint8_t *p = s->ep ? hold_find(&s->ep->hold, s->rx_ssn, &ret->len) : NULL;

		if (!p)
			continue;
		ret->sid = s->session.sid;
		ret->ppid = WIRE_PPID_SEGMENT;
		ret->head = p;
		ret->head_len = ret->len;
		return true;
	}
	return false;
}

void assoc_hold_drop(struct assoc *a, struct assoc_stream *s)
{
	list_del(&s->stall);
	list_del(&s->resume);
	s->hold_over = false;
	if (!s->ep || s->ep->hold.n == 0)
		return;
	a->count.rx_dropped += s->ep->hold.n;
	s->ahead -= s->ep->hold.n;
	hold_clear(&s->ep->hold);
}

void assoc_hold_expire(struct assoc *a)
{
	while (!list_empty(&a->stalled)) {
		struct assoc_stream *s = list_entry(a->stalled.next, struct assoc_stream, stall);

		if (s->stall_deadline > a->now)
			return;
		assoc_hold_give_up(a, s);
	}
}

uint64_t assoc_hold_expiry(const struct assoc *a)
{
	if (!list_empty(&a->resuming))
		return a->now;
	if (list_empty(&a->stalled))
		return UINT64_MAX;
	return list_entry(a->stalled.next, struct assoc_stream, stall)->stall_deadline;
}

void assoc_rx_wake(struct assoc *a, struct rdmap *ep)
{
	struct assoc_stream *s = ep->stream;

	if (s && s->ep == ep && list_linked(&s->stall))
		assoc_hold_go_on(a, s);
}
