/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions: checks requests, answers and the reasons of their ends. */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/assoc_test.h"
#include "tests/lib/names.h"
#include "tests/sim/world.h"
#include "util/be.h"

static const char *reason_str(enum assoc_reason reason)
{
	static const char *const names[] = {"local",  "peer",      "error",
					    "remote", "violation", "lost"};

	return names[reason];
}

struct sess *sess_new(struct ep *ep)
{
	struct world *w = ep->w;
	struct sess *s = alloc_zeroed(sizeof(*s));

	s->id = w->nsessions++;
	s->ep[0] = ep;
	s->begun_us = simclock_now(w->clock);
	list_add_tail(&w->sessions, &s->link);
	ep->sess = s;
	ep->side = 0;
	s->raw = ep->cfg.raw;
	params_draw(s);
	sess_private(s, 0);
	return s;
}

void sess_private(struct sess *s, unsigned which)
{
	struct world *w = s->ep[0]->w;
	static const uint16_t lens[] = {4, 5, 100, WIRE_PRIVATE_MAX};
	uint16_t len = lens[random_below(w, 4)];

	if (s->enhanced && len == WIRE_PRIVATE_MAX)
		len -= WIRE_ENH_LEN;
	if (s->ep[0]->credits && len > WIRE_PRIVATE_MAX - WIRE_ENH_LEN - WIRE_OFFER_LEN)
		len -= WIRE_OFFER_LEN;

	if (which == 1 && chance(w, 3000))
		len = 0;
	s->priv_len[which] = len;
	content_fill(s->priv[which], ++w->contents, 0, len);
	if (which == 0)
		be_put32(s->priv[0], s->id);
}

struct assoc_params sess_params(const struct sess *s, unsigned which)
{
	const struct wire_enh *e = &s->given[which];
	bool wishes = e->ird != WIRE_ENH_UNCHANGED || e->ord != WIRE_ENH_UNCHANGED;

	return (struct assoc_params){
		.priv = s->priv[which],
		.len = s->priv_len[which],
		.enh = (which ? wishes : s->enhanced) ? e : NULL,
	};
}

static void check_private(struct world *w, const struct sess *s, unsigned which,
			  const struct assoc_event *ev)
{
	if (ev->priv_len != s->priv_len[which] ||
	    (ev->priv_len && memcmp(ev->priv, s->priv[which], ev->priv_len) != 0))
		fail(w, "session %u: private data of the %s is not what was given", s->id,
		     which ? "answer" : "Initiate");
	params_reported(w, s, which, ev);
}

/* ---- the passive side decides ---- */

static struct sess *find(struct world *w, const struct assoc_event *ev)
{
	uint32_t id = ev->priv_len >= 4 ? be_get32(ev->priv) : UINT32_MAX;

	list_foreach (it, &w->sessions) {
		struct sess *s = list_entry(it, struct sess, link);

		if (s->id == id)
			return s;
	}
	fail(w, "a request on stream %u without a requester", ev->sid);
}

static void release(void *obj, void *arg);

/* About the time when the Accept reaches the peer, or its first messages arrive. */
static void release_soon(struct ep *ep)
{
	const struct sim_faults *f = &ep->w->plan.faults;
	uint64_t transit = f->delay_us + f->jitter_us;

	simclock_after(ep->w->clock, random_below(ep->w, 3 * transit), release, ep, NULL);
}

static void release(void *obj, void *arg)
{
	struct ep *ep = obj;

	(void)arg;
	if (ep->state == EP_OPEN && chance(ep->w, 5000)) {
		program_close(ep);
		release_soon(ep);
	} else if (ep->state != EP_OVER) {
		program_release(ep);
	}
}

/* The enhanced parameters count as private data. */
static void check_too_long(struct assoc_end *p, const struct sess *s, struct ep *ep)
{
	struct assoc_params params = {.priv = s->priv[1],
				      .len = WIRE_PRIVATE_MAX - WIRE_ENH_LEN + 1};

	if (s->enhanced && assoc_accept(p->assoc, s->sid, ep->r, &params) != ASSOC_E_LEN)
		fail(ep->w, "session %u: private data too long for its parameters", s->id);
}

static void accept_session(struct pending_req *d, struct ep *ep)
{
	struct sess *s = d->sess;
	struct assoc_end *p = d->end;
	struct assoc_params params = sess_params(s, 1);
	uint64_t at_once = chance(ep->w, 5000) ? random_below(ep->w, 8) : 0;
	struct rdmap_info info;

	s->ep[1] = ep;
	s->answer = ANS_ACCEPT;
	ep->sess = s;
	ep->side = 1;
	ep->end = p;
	ep->sid = s->sid;
	ep->state = EP_OPEN;
	op_post_recvs(ep, (unsigned)random_below(ep->w, 20));
	check_too_long(p, s, ep);
	if (assoc_accept(p->assoc, s->sid, ep->r, &params) != ASSOC_E_OK)
		fail(ep->w, "session %u: cannot be accepted", s->id);
	rdmap_query(ep->r, &info);
	ep->ord = info.ord; /* params.c checks them when the Accept is sent */
	ep->ird = info.ird;
	trace(ep->w, "n%u ep%u accepts session %u", p->node->id, ep->id, s->id);
	ep_wait_for_receives(ep); /* messages were posted before anybody knew for whom */
	while (at_once-- > 0)
		op_post_random(ep); /* messages sent now may overtake the Accept */
	if (chance(ep->w, ep->w->plan.close))
		program_close(ep); /* but a Terminate must not */
	else if (chance(ep->w, ep->w->plan.unbind * 40))
		release_soon(ep);
}

static void less_pending(struct assoc_end *p)
{
	if (p->pending-- == p->node->w->plan.pending_max)
		p->full_us = simclock_now(p->node->w->clock);
}

static void answer(struct pending_req *d)
{
	struct world *w = d->end->node->w;
	struct assoc *a = d->end->assoc;
	struct sess *s = d->sess;
	struct assoc_params params;
	uint64_t r = random_below(w, 100);
	struct ep *ep = r < 80 ? ep_new(d->end->node, s->raw) : NULL;
	int e;

	params_answer(s, ep);
	sess_private(s, 1);
	less_pending(d->end);
	if (ep) {
		accept_session(d, ep);
		return;
	}
	s->answer = r < 90 ? ANS_REJECT : ANS_REFUSE;
	params = sess_params(s, 1);
	trace(w, "n%u %s session %u", d->end->node->id,
	      s->answer == ANS_REJECT ? "rejects" : "refuses", s->id);
	if (s->answer == ANS_REJECT)
		e = assoc_reject(a, s->sid, &params);
	else
		e = assoc_refuse(a, s->sid);
	if (e != ASSOC_E_OK)
		fail(w, "session %u: cannot be rejected", s->id);
}

void sess_decide(struct pending_req *d)
{
	if (!d->gone) {
		answer(d);
		assoc_end_wake(d->end);
	}
	list_del(&d->link);
	free(d);
}

static void decide_later(void *obj, void *arg)
{
	struct pending_req *d = obj;

	(void)arg;
	if (!d->gone)
		assoc_end_tick(d->end); /* which may withdraw it */
	sess_decide(d);
}

void sess_request(struct assoc_end *p, const struct assoc_event *ev)
{
	struct world *w = p->node->w;
	struct sess *s = find(w, ev);
	struct pending_req *d = alloc_zeroed(sizeof(*d));

	check_private(w, s, 0, ev);
	if (s->requested || s->sid != ev->sid || ev->ep)
		fail(w, "session %u: requested twice, or on the wrong stream", s->id);
	s->requested = true;
	*d = (struct pending_req){.end = p, .sess = s};
	list_add_tail(&w->pending_reqs, &d->link);
	p->pending++;
	if (p->pending > w->plan.pending_max)
		fail(w, "node %u: %u requests wait, the limit is %u", p->node->id, p->pending,
		     w->plan.pending_max);
	trace(w, "n%u request for session %u", p->node->id, s->id);
	if (chance(w, 3000))
		sess_decide(d);
	else
		simclock_after(w->clock, random_below(w, w->plan.decide_us), decide_later, d, NULL);
}

static void withdrawn(struct assoc_end *p, const struct assoc_event *ev)
{
	struct world *w = p->node->w;

	list_foreach (it, &w->pending_reqs) {
		struct pending_req *d = list_entry(it, struct pending_req, link);

		if (d->end != p || d->sess->sid != ev->sid || d->gone)
			continue;
		d->gone = true;
		d->sess->withdrawn = true;
		less_pending(p);
		w->sum.withdrawn++;
		trace(w, "n%u session %u is withdrawn", p->node->id, d->sess->id);
		return;
	}
	fail(w, "node %u: stream %u: withdrawn, but not requested", p->node->id, ev->sid);
}

/* ---- the end ---- */

static void check_delivered(struct ep *ep)
{
	struct ep *other = ep_other(ep);

	if (ep->w->plan.tight || ep->uncertain || ep->sess->uncertain || ep->errored || !other ||
	    ep_errors(other) || params_no_rtr(ep->sess))
		return;
	if (ep->side == 0 && !ep->sess->established)
		return; /* it did not wait for the answer */
	if (ep->patient && ep->close_requested)
		return; /* no message waits for a receive any more */
	if (ep_undelivered(other))
		fail(ep->w, "ep%u: the session ends without Send #%llu", ep->id,
		     (unsigned long long)ep_undelivered(other)->cookie);
}

/* True if only the end of this side ended the session. */
static bool ended_alone(const struct ep *ep, const struct assoc_event *ev)
{
	const struct ep *other = ep_other(ep);
	const struct sess *s = ep->sess;

	return ev->reason == ASSOC_REASON_LOCAL && !ep->end->gone && s->established && other &&
	       !other->close_requested && !other->errored && !s->released[!ep->side] &&
	       !ep->w->plan.tight && !ep->uncertain && !s->uncertain;
}

/* What was posted before the end was sent, and answered, unless there was no time. */
static void check_sent_first(const struct ep *ep, const struct assoc_event *ev)
{
	if (!ended_alone(ep, ev) || simclock_now(ep->w->clock) >= ep->sq_last_by_us)
		return;
	for (unsigned i = 0; i < ep->sq_last; i++)
		if (ep->sq[i]->state != OP_DONE || ep->sq[i]->status == RDMAP_FLUSH_ERR)
			fail(ep->w, "ep%u: %s #%llu was posted before the end and is not done",
			     ep->id, names_op(ep->sq[i]->kind),
			     (unsigned long long)ep->sq[i]->cookie);
	ep->w->sum.sent_first += ep->sq_last > 0;
}

static bool found(uint32_t bits, unsigned perr)
{
	return perr != PERR_NONE && perr < 32 && (bits >> perr & 1);
}

enum perr sess_error(const struct ep *ep, enum perr perr)
{
	for (unsigned i = 0; perr == PERR_BAD_RECEIVE && i < ep->rq_taken; i++)
		if (ep->rq[i]->local != RDMAP_SUCCESS)
			return PERR_NO_BUFFER;
	return perr;
}

static bool may_end(struct ep *ep, const struct assoc_event *ev)
{
	struct ep *other = ep_other(ep);
	struct sess *s = ep->sess;

	if (params_no_rtr(s) && ev->at.perr == PERR_ENH_RTR)
		return ev->reason == (ep->side ? ASSOC_REASON_REMOTE : ASSOC_REASON_ERROR);
	switch (ev->reason) {
	case ASSOC_REASON_LOCAL:
		return ep->close_requested;
	case ASSOC_REASON_PEER:
		if (ep->w->plan.tight)
			return true;
		return other && (other->close_requested || other->errored ||
				 s->released[!ep->side] || s->over[!ep->side] ||
				 (s->raw && s->uncertain)); /* its message could not be finished */
	case ASSOC_REASON_ERROR:
		return s->uncertain || found(ep_errors(other), sess_error(ep, ev->at.perr));
	case ASSOC_REASON_REMOTE:
		return s->uncertain || found(ep_errors(ep), ev->at.perr);
	case ASSOC_REASON_LOST:
		return ep->end->gone;
	default:
		return ep->w->plan.tight;
	}
}

/* For rows.c. */
static void count_closed(const struct ep *ep, const struct assoc_event *ev)
{
	const struct ep *other = ep_other(ep);
	struct totals *sum = &ep->w->sum;
	bool here = ep->sq_wire > 0, there = other && other->sq_wire > 0;

	sum->lost += ev->reason == ASSOC_REASON_LOST;
	sum->no_segments += ep->sess->established && !here && !there;
	sum->oneway += here != there;
	if (ev->reason != ASSOC_REASON_ERROR)
		return;
	sum->errors++;
	if (!ep->errored)
		sum->found[ev->at.perr]++;
	sum->survived += assoc_sessions(ep->end->assoc) > 0;
}

static void closed(struct ep *ep, const struct assoc_event *ev)
{
	struct world *w = ep->w;

	w->sum.no_rtr += ev->at.perr == PERR_ENH_RTR && ep->side == 0;

	trace(w, "ep%u session %u closed: %s, %s", ep->id, ep->sess->id, reason_str(ev->reason),
	      names_perr(ev->at.perr));
	if (!may_end(ep, ev))
		fail(w,
		     "ep%u: session %u cannot end with \"%s\", %s, stag 0x%08x to 0x%llx len %u "
		     "msn %u",
		     ep->id, ep->sess->id, reason_str(ev->reason), names_perr(ev->at.perr),
		     ev->at.stag, (unsigned long long)ev->at.to, ev->at.len, ev->at.msn);
	if (ep->sq_taken != ep->sq_done || ep->rq_taken != ep->rq_done)
		fail(w, "ep%u: the session is over, %u requests and %u receives are not completed",
		     ep->id, ep->sq_taken - ep->sq_done, ep->rq_taken - ep->rq_done);
	if (params_no_rtr(ep->sess) && ep->side == 0 && !ep->close_requested &&
	    ev->at.perr != PERR_ENH_RTR && !ep->end->gone)
		fail(w, "ep%u: there is no ready-to-receive message, and no error is reported",
		     ep->id);
	if (ep->remote_error && ev->reason != ASSOC_REASON_REMOTE && !ep->close_requested)
		fail(w, "ep%u: a request reports an error of the peer, the session does not",
		     ep->id);
	if (!ep->end->gone && (ev->reason == ASSOC_REASON_PEER || ev->reason == ASSOC_REASON_LOCAL))
		check_delivered(ep);
	if (!ep->end->gone && ep->sess->established && ep->sess->terminates == 0)
		fail(w, "ep%u: session %u ends without a Terminate", ep->id, ep->sess->id);
	check_sent_first(ep, ev);
	count_closed(ep, ev);
	ep->sess->reason[ep->side] = ev->reason;
	ep_over(ep);
}

/* ---- the active side gets the answer ---- */

static bool nothing_taken(const struct ep *ep)
{
	return ep->state == EP_OPEN && ep->sq_taken == 0 && ep->rq_taken == 0;
}

/* Both sides begin with numbers that wrap after a few messages. */
static void wrap_soon(struct sess *s)
{
	struct world *w = s->ep[0]->w;
	bool rtr = s->enhanced && s->wire_params[0].p2p;
	unsigned queues = s->raw ? RDMAP_RAW_QUEUES : WIRE_QN_ATOMIC_RESP + 1;
	uint32_t msn[2][RDMAP_RAW_QUEUES];
	uint16_t ssn[2];

	if (!nothing_taken(s->ep[0]) || !nothing_taken(s->ep[1]) || !wire_fresh(s->end[0], s->sid))
		return;
	for (unsigned i = 0; i < 2; i++) {
		ssn[i] = chance(w, 5000) ? 65535 : 32767;
		ssn[i] = (uint16_t)(ssn[i] - random_below(w, 6));
		for (unsigned q = 0; q < queues; q++)
			msn[i][q] = UINT32_MAX - (uint32_t)random_below(w, 6);
		if (rtr)
			msn[i][WIRE_QN_SEND] =
				1; /* this number identifies the region to be checked */
		if (!s->raw)
			msn[i][WIRE_QN_TERMINATE] = 1;
	}
	for (unsigned i = 0; i < 2; i++) {
		assoc_test_preset(s->end[i]->assoc, s->sid, ssn[i], ssn[!i]);
		for (unsigned q = 0; q < queues; q++)
			assoc_test_preset_msn(s->ep[i]->r, q, msn[i][q], msn[!i][q]);
		wire_preset(s->end[i], s->sid, ssn[i], msn[i]);
	}
	w->sum.wrapped++;
}

/* For rows.c: both kinds of endpoints at the same time. */
static bool has_both(const struct ep *ep)
{
	list_foreach (it, &ep->node->eps) {
		const struct ep *e = list_entry(it, struct ep, link);

		if (e->end == ep->end && e->state == EP_OPEN && e->cfg.raw != ep->cfg.raw)
			return true;
	}
	return false;
}

/* Messages sent directly after a ready-to-receive message may overtake it. */
static void post_at_once(struct ep *ep)
{
	for (uint64_t n = random_below(ep->w, 8); n > 0; n--)
		op_post_random(ep);
}

static void accepted(struct ep *ep, const struct assoc_event *ev)
{
	struct sess *s = ep->sess;

	if (ep->state != EP_CONNECTING || s->answer != ANS_ACCEPT)
		fail(ep->w, "ep%u: session %u was not accepted", ep->id, s->id);
	check_private(ep->w, s, 1, ev);
	trace(ep->w, "ep%u session %u is established", ep->id, s->id);
	ep->state = EP_OPEN;
	s->established = true;
	ep_wait_for_receives(ep);
	params_in_force(ep);
	ep->w->sum.sessions++;
	ep->w->sum.raws += s->raw;
	ep->w->sum.mixed += has_both(ep);
	if (chance(ep->w, ep->w->plan.wrap))
		wrap_soon(s);
	if (chance(ep->w, 5000))
		post_at_once(ep);
}

static void not_accepted(struct ep *ep, const struct assoc_event *ev)
{
	struct world *w = ep->w;
	struct sess *s = ep->sess;
	const struct assoc_end *passive = s->end[1];
	bool full = passive->full_us >= s->begun_us || passive->pending == w->plan.pending_max;

	trace(w, "ep%u session %u is %s", ep->id, s->id,
	      ev->type == ASSOC_EV_REJECTED ? "rejected" : "refused");
	if (ep->state != EP_CONNECTING)
		fail(w, "ep%u: session %u is not waiting for an answer", ep->id, s->id);
	if (ev->type == ASSOC_EV_REJECTED) {
		if (s->answer != ANS_REJECT)
			fail(w, "ep%u: session %u was not rejected", ep->id, s->id);
		check_private(w, s, 1, ev);
		w->sum.rejected++;
		w->sum.enh_rejected += s->enhanced;
	} else if (s->answer == ANS_REFUSE || s->withdrawn) {
		w->sum.refused++;
	} else if (!s->requested && s->enhanced && passive->node->plain_only) {
		w->sum.enh_unsupported++;
	} else if (!s->requested && full) {
		w->sum.overflow++;
	} else {
		fail(w, "ep%u: session %u was refused without a reason", ep->id, s->id);
	}
	ep_over(ep);
}

void sess_event(struct assoc_end *p, const struct assoc_event *ev)
{
	struct ep *ep = ev->ep ? rdmap_user(ev->ep) : NULL;

	if (ev->type == ASSOC_EV_REQUEST) {
		sess_request(p, ev);
		return;
	}
	if (ev->type == ASSOC_EV_WITHDRAWN) {
		withdrawn(p, ev);
		return;
	}
	if (!ep || ep->state == EP_OVER || ep->end != p || ep->sid != ev->sid)
		fail(p->node->w, "node %u: an event for no session on stream %u", p->node->id,
		     ev->sid);
	if (ev->type == ASSOC_EV_ACCEPTED)
		accepted(ep, ev);
	else if (ev->type == ASSOC_EV_ERROR || ev->type == ASSOC_EV_HALF_CLOSED)
		raw_event(ep, ev);
	else if (ev->type == ASSOC_EV_CLOSED)
		closed(ep, ev);
	else
		not_accepted(ep, ev);
}
