/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Credits of sessions (proto/rdmap/credit.h): the agreement in Initiate and Accept, the messages,
 * and the segments that wait for them. A credit has no DDP-SSN, because it must not wait behind
 * messages of its own direction that wait for a receive: both ends would wait for each other. Its
 * tag names the session, since it may arrive when the stream carries the next one.
 */
#include "proto/association/assoc_impl.h"
#include "proto/rdmap/rdmap_tx.h"

/* ---- the agreement ---- */

static bool wants_credits(const struct rdmap *ep)
{
	return ep->options & RDMAP_CREDITS;
}

static uint32_t new_tag(struct assoc *a, const struct rdmap *ep)
{
	return (++a->credit_tag & (WIRE_TAG_RNR - 1)) |
	       (ep->options & RDMAP_RNR ? WIRE_TAG_RNR : 0);
}

void assoc_credit_propose(struct assoc *a, struct assoc_stream *s)
{
	s->credits = wants_credits(s->ep) ? ASSOC_CREDITS_OFFERED : ASSOC_CREDITS_NONE;
	s->ep->credit_tag = new_tag(a, s->ep);
}

uint32_t assoc_credit_take_offer(struct assoc_stream *s, bool answer, const uint8_t *priv,
				 uint32_t len)
{
	bool expected = !answer || s->credits == ASSOC_CREDITS_OFFERED;
	bool found = expected && wire_offer_get(priv, len, answer, &s->offer);

	if (!answer)
		s->credits = found ? ASSOC_CREDITS_ASKED : ASSOC_CREDITS_NONE;
	else
		s->credits = found ? ASSOC_CREDITS_AGREED : ASSOC_CREDITS_NONE;
	return found ? len - WIRE_OFFER_LEN : len;
}

uint32_t assoc_credit_answer_len(const struct assoc_stream *s, const struct rdmap *ep)
{
	return s->credits == ASSOC_CREDITS_ASKED && wants_credits(ep) ? WIRE_OFFER_LEN : 0;
}

void assoc_credit_agree(struct assoc *a, struct assoc_stream *s)
{
	bool agreed = assoc_credit_answer_len(s, s->ep) > 0;

	s->credits = agreed ? ASSOC_CREDITS_AGREED : ASSOC_CREDITS_NONE;
	s->ep->credit_tag = new_tag(a, s->ep);
}

void assoc_credit_begin(struct assoc *a, struct assoc_stream *s)
{
	bool agreed = s->credits == ASSOC_CREDITS_AGREED;

	s->ep->peer_tag = s->offer.tag;
	s->ep->rnr.agreed = agreed && s->ep->credit_tag & s->offer.tag & WIRE_TAG_RNR;
	credit_rx_begin(&s->ep->credit_rx, agreed ? s->ep->window : 0);
	credit_tx_begin(&s->ep->credit_tx, agreed ? s->offer.window : 0, s->offer.receives);
	a->credits = a->credits || agreed;
}

bool assoc_credit_put_offer(struct assoc *a, const struct assoc_stream *s, uint16_t func)
{
	bool initiate = func == WIRE_INITIATE || func == WIRE_ENH_INITIATE;
	bool accept = func == WIRE_ACCEPT || func == WIRE_ENH_ACCEPT;
	struct wire_offer o;

	if (!s->ep || !((initiate && s->credits == ASSOC_CREDITS_OFFERED) ||
			(accept && s->credits == ASSOC_CREDITS_AGREED)))
		return false;
	o = (struct wire_offer){
		.tag = s->ep->credit_tag,
		.window = s->ep->window,
		.receives = s->ep->ops->recvs ? s->ep->ops->recvs(s->ep->user) : 0,
	};
	wire_offer_put(a->offer, accept, &o);
	return true;
}

/* ---- sending ---- */

/* After an orderly end the peer holds no messages and sends no credit. A message that was begun is
 * finished; a request that was posted before our own end does not begin without credit. */
bool assoc_credit_may_send(const struct assoc_stream *s, uint32_t len)
{
	uint32_t msn;
	bool takes = rdmap_tx_takes_receive(s->ep, &msn);
	bool finishes = s->session.state == SESSION_PEER_ENDED && !assoc_sends_last(s);

	return rdmap_tx_ending(s->ep) || finishes ||
	       credit_tx_may(&s->ep->credit_tx, hold_room(len), takes, msn);
}

void assoc_credit_sent(const struct assoc_stream *s, uint32_t len)
{
	uint32_t msn;
	bool takes = rdmap_tx_takes_receive(s->ep, &msn);

	credit_tx_sent(&s->ep->credit_tx, hold_room(len), takes, msn);
}

/* The endpoint of a session that has credits now, or NULL. */
static struct rdmap *credit_ep(const struct assoc_stream *s)
{
	bool open = s && (s->session.state == SESSION_OPEN || s->session.state == SESSION_ENDING);

	return open && s->credits == ASSOC_CREDITS_AGREED ? s->ep : NULL;
}

bool assoc_credit_rx(struct assoc *a, struct assoc_stream *s, const struct assoc_msg *m)
{
	struct rdmap *ep = credit_ep(s);
	struct wire_credit c;

	if (m->ppid != WIRE_PPID_CREDIT || !a->credits || m->head_len < m->len ||
	    !wire_credit_get(m->head, m->len, &c))
		return false;
	if (!ep || c.tag != ep->credit_tag) {
		a->count.rx_dropped++; /* of a session that is over */
		return true;
	}
	if (credit_tx_update(&ep->credit_tx, c.pos, c.limit))
		assoc_ready(a, s);
	assoc_rnr_heard(a, s, &c);
	return true;
}

/* ---- receiving ---- */

void assoc_credit_delivered(struct assoc *a, struct assoc_stream *s, const struct ssn_rec *c)
{
	bool takes = !c->ddp.tagged && c->ddp.qn == WIRE_QN_SEND;
	struct rdmap *ep = credit_ep(s);

	if (ep && credit_rx_add(&ep->credit_rx, hold_room(WIRE_SSN_LEN + c->len), takes))
		assoc_ready(a, s);
}

bool assoc_credit_make(const struct assoc_stream *s, struct assoc_seg *ret)
{
	const struct rdmap *ep = credit_ep(s);
	struct wire_credit c;

	if (!ep || !(ep->credit_rx.due || ep->credit_rx.not_ready))
		return false;
	c = (struct wire_credit){
		.tag = ep->peer_tag,
		.limit = rdmap_rq_limit(ep),
		.pos = ep->credit_rx.got,
		.wait_ms = ep->credit_rx.not_ready ? ep->rnr.timer_ms : 0,
	};
	ret->len = wire_credit_put(ret->head, &c);
	ret->head_len = (uint16_t)ret->len;
	ret->ppid = WIRE_PPID_CREDIT;
	ret->nbody = 0;
	ret->urgent = false;
	return true;
}
