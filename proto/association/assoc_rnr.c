/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiver not ready: the peer has reported that it has no receive for a message. Each time of the
 * peer's timer counts as one refusal, which retries of rdmap_set_rnr() answer; the refusal without
 * one ends the session, unless the peer has delivered the message until then. The oldest message
 * that may be the one has RDMAP_RNR_RETRY_EXC_ERR.
 */
#include "proto/association/assoc_impl.h"
#include "proto/rdmap/rdmap_term.h"

static struct rdmap *waiting_ep(struct list *l)
{
	return list_entry(l, struct rdmap, rnr.wait);
}

static void begin(struct assoc *a, struct rdmap *ep, const struct wire_credit *c)
{
	struct list *at = a->not_ready.prev;

	ep->rnr.pos = c->pos;
	ep->rnr.deadline = a->now + (ep->rnr.retry + UINT64_C(1)) * c->wait_ms;
	while (at != &a->not_ready && waiting_ep(at)->rnr.deadline > ep->rnr.deadline)
		at = at->prev;
	list_add_tail(at->next, &ep->rnr.wait);
}

void assoc_rnr_heard(struct assoc *a, struct assoc_stream *s, const struct wire_credit *c)
{
	struct rdmap *ep = s->ep;

	if (list_linked(&ep->rnr.wait) && !credit_tx_is_stalled(&ep->credit_tx, ep->rnr.pos))
		list_del(&ep->rnr.wait);
	if (c->wait_ms == 0 || !ep->rnr.agreed || !credit_tx_is_stalled(&ep->credit_tx, c->pos))
		return;
	ep->rnr.heard++;
	if (ep->rnr.retry < RDMAP_RNR_NO_END && !list_linked(&ep->rnr.wait))
		begin(a, ep, c);
}

void assoc_rnr_drop(struct assoc_stream *s)
{
	list_del(&s->ep->rnr.wait);
}

struct assoc_stream *assoc_rnr_give_up(struct assoc *a)
{
	struct rdmap *ep;

	if (assoc_rnr_expiry(a) > a->now)
		return NULL;
	ep = waiting_ep(a->not_ready.next);
	list_del(&ep->rnr.wait);
	rdmap_sq_not_ready(ep);
	rdmap_term_fail(ep, PERR_NOT_READY, NULL, NULL);
	return ep->stream;
}

uint64_t assoc_rnr_expiry(const struct assoc *a)
{
	return list_empty(&a->not_ready) ? UINT64_MAX : waiting_ep(a->not_ready.next)->rnr.deadline;
}
