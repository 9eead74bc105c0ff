/* SPDX-License-Identifier: BSD-2-Clause */
/* Enhanced sessions, RFC 6581: draws the parameters, and checks answers and Terminate codes. */
#include <string.h>

#include "tests/sim/world.h"

enum { ALL_RTR = WIRE_RTR_SEND | WIRE_RTR_WRITE | WIRE_RTR_READ };

static uint16_t draw_depth(struct world *w, uint16_t max, unsigned unchanged)
{
	if (chance(w, unchanged))
		return WIRE_ENH_UNCHANGED;
	return (uint16_t)random_below(w, max + 1U);
}

void params_draw(struct sess *s)
{
	const struct ep *ep = s->ep[0];
	struct wire_enh *e = &s->given[0];
	struct world *w = ep->w;

	if (ep->cfg.raw || !chance(w, w->plan.negotiate))
		return;
	s->enhanced = true;
	e->p2p = chance(w, 6000);
	e->rtr = e->p2p ? (uint8_t)(1 + random_below(w, ALL_RTR)) : 0;
	e->ird = draw_depth(w, ep->cfg.ird, 2500);
	e->ord = draw_depth(w, ep->cfg.ord, 2500);
}

void params_answer(struct sess *s, const struct ep *ep)
{
	struct world *w = s->ep[0]->w;

	s->given[1].ird = draw_depth(w, ep ? ep->cfg.ird : WIRE_ENH_UNCHANGED - 1, 5000);
	s->given[1].ord = draw_depth(w, ep ? ep->cfg.ord : WIRE_ENH_UNCHANGED - 1, 5000);
}

static bool same(const struct wire_enh *a, const struct wire_enh *b)
{
	return a->p2p == b->p2p && a->rtr == b->rtr && a->ird == b->ird && a->ord == b->ord;
}

static void check(const struct sess *s, bool good, const char *what)
{
	const struct wire_enh *i = &s->wire_params[0], *r = &s->wire_params[1];

	if (!good)
		fail(s->ep[0]->w,
		     "session %u: %s (A %d BCD %u IRD %u ORD %u; answer A %d BCD %u IRD %u ORD %u)",
		     s->id, what, i->p2p, i->rtr, i->ird, i->ord, r->p2p, r->rtr, r->ird, r->ord);
}

/* RFC 6581 9.1: one pair of depths, the responder's side of it. */
static void check_depth(const struct sess *s, uint16_t mirror, uint16_t depth, uint16_t wish,
			uint16_t have, bool raised)
{
	if (mirror == WIRE_ENH_UNCHANGED) {
		check(s, depth == WIRE_ENH_UNCHANGED,
		      "a depth is negotiated although it must not be");
		return;
	}
	check(s, depth <= have, "more than the responder has");
	if (wish != WIRE_ENH_UNCHANGED && !raised)
		check(s, depth <= wish, "more than the responder wants");
}

static void check_accept(struct sess *s)
{
	const struct wire_enh *i = &s->wire_params[0], *r = &s->wire_params[1];
	const struct rdmap_cfg *cfg = &s->ep[1]->cfg;
	uint8_t can = cfg->ird > 0 ? ALL_RTR : ALL_RTR & ~WIRE_RTR_READ;
	bool raised = r->rtr & WIRE_RTR_READ && r->ird == 1;

	check(s, r->p2p == i->p2p, "bit A is not echoed");
	check(s, r->p2p ? r->rtr != 0 : r->rtr == 0, "bits B, C, D do not fit A");
	check(s, !r->p2p || (r->rtr & i->rtr & can) == (i->rtr & can), "an RTR kind is missing");
	check(s, (r->rtr & can) == r->rtr, "an RTR kind that the responder does not support");
	check_depth(s, i->ord, r->ird, s->given[1].ird, cfg->ird, raised);
	check_depth(s, i->ird, r->ord, s->given[1].ord, cfg->ord, false);
	check(s, i->ird == WIRE_ENH_UNCHANGED || r->ord <= i->ird, "ORD is above IRD");
	s->rtr = i->rtr & r->rtr;
	if (s->ep[0]->cfg.ord == 0 || r->ird == 0)
		s->rtr &= (uint8_t)~WIRE_RTR_READ;
}

static void check_reject(const struct sess *s)
{
	const struct wire_enh *i = &s->wire_params[0], *r = &s->wire_params[1];
	const struct wire_enh *wish = &s->given[1];

	check(s, r->p2p == i->p2p, "bit A is not echoed");
	check(s, r->p2p ? r->rtr != 0 : r->rtr == 0, "bits B, C, D do not fit A");
	check(s, r->ird == (i->ord == WIRE_ENH_UNCHANGED ? WIRE_ENH_UNCHANGED : wish->ird),
	      "the IRD differs from the one that the program wants");
	check(s, r->ord == (i->ird == WIRE_ENH_UNCHANGED ? WIRE_ENH_UNCHANGED : wish->ord),
	      "the ORD differs from the one that the program wants");
}

void params_sent(struct sess *s, unsigned which, const struct wire_enh *e)
{
	s->wire_params[which] = *e;
	s->ep[0]->w->sum.enhanced += which == 0;
	if (which == 0)
		check(s, same(e, &s->given[0]), "the Initiate has other parameters");
	else if (s->answer == ANS_ACCEPT)
		check_accept(s);
	else
		check_reject(s);
}

void params_reported(struct world *w, const struct sess *s, unsigned which,
		     const struct assoc_event *ev)
{
	if (ev->enhanced != s->enhanced)
		fail(w, "session %u: reported as %senhanced", s->id, ev->enhanced ? "" : "not ");
	if (s->enhanced && !same(&ev->enh, &s->wire_params[which]))
		fail(w, "session %u: the reported parameters differ from those on the wire", s->id);
}

/* The depth of one side at the begin: `local` is its own parameter, `remote` the other's. */
static uint16_t agreed(uint16_t local, uint16_t remote, uint16_t have)
{
	if (local == WIRE_ENH_UNCHANGED)
		local = have;
	return remote < local ? remote : local;
}

/* RFC 6581 9.1: no side has more Reads outstanding than the other holds, if the depths were
 * negotiated. */
static void check_pair(const struct sess *s, uint16_t depth, uint16_t ord, uint16_t ird)
{
	check(s, !s->enhanced || depth == WIRE_ENH_UNCHANGED || ord <= ird,
	      "one side has more Reads than the other holds");
}

void params_in_force(struct ep *ep)
{
	const struct sess *s = ep->sess;
	const struct wire_enh *own = &s->wire_params[ep->side],
			      *remote = &s->wire_params[!ep->side];
	uint16_t ird = ep->cfg.ird, ord = ep->cfg.ord;
	struct rdmap_info info;

	rdmap_query(ep->r, &info);
	if (s->enhanced) {
		ird = agreed(own->ird, WIRE_ENH_UNCHANGED, ird);
		ord = agreed(own->ord, ep->side == 0 ? remote->ird : WIRE_ENH_UNCHANGED, ord);
		if (ep->side == 0 && ord == 0 && info.ord == 1 && s->rtr & WIRE_RTR_READ)
			ord = 1; /* or there could be no ready-to-receive message */
		ep->w->sum.dropped_ord += ord < ep->cfg.ord;
	}
	if (info.ird != ird || info.ord != ord)
		fail(ep->w, "ep%u: IRD %u ORD %u are in force, expected %u and %u", ep->id,
		     info.ird, info.ord, ird, ord);
	ep->ird = ird;
	ep->ord = ord;
	if (ep->side == 1 || !s->ep[1] || s->ep[1]->state == EP_OVER)
		return;
	check_pair(s, s->wire_params[0].ord, ord, s->ep[1]->ird);
	check_pair(s, s->wire_params[0].ird, s->ep[1]->ord, ird);
}

bool params_no_rtr(const struct sess *s)
{
	return s->enhanced && s->wire_params[0].p2p && s->answer == ANS_ACCEPT && s->rtr == 0;
}
