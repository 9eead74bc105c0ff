/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/association/assoc.h"

#include <assert.h>
#include <string.h>

#include "proto/association/assoc_impl.h"
#include "util/checked.h"
#include "util/minmax.h"

enum { ALIGN = 64 };

/* ---- memory ---- */

static size_t streams_size(const struct assoc_cfg *cfg)
{
	return checked_round_up(assoc_streams_size(cfg), ALIGN);
}

static size_t refusals_size(const struct assoc_cfg *cfg)
{
	return checked_round_up(assoc_refusals_size(cfg), ALIGN);
}

static size_t store_size(const struct assoc_cfg *cfg)
{
	return checked_round_up(ssn_store_size(cfg->records_max), ALIGN);
}

size_t assoc_size(const struct assoc_cfg *cfg)
{
	return checked_round_up(sizeof(struct assoc), ALIGN) + ALIGN + streams_size(cfg) +
	       refusals_size(cfg) + store_size(cfg);
}

uint32_t assoc_blocks(void)
{
	/* the private data of the event that is reported */
	return assoc_streams_blocks() + 1;
}

/* With 2,048 streams an idle association touches, and reads, its first page alone. */
struct assoc *assoc_init(void *mem, const struct assoc_cfg *cfg)
{
	struct assoc *a = mem;
	uint8_t *at = (uint8_t *)(a + 1);

	a->cfg = *cfg;
	at += -(uintptr_t)at & (ALIGN - 1);
	a->refusals = (struct assoc_refusals *)(void *)at;
	at += refusals_size(cfg);
	assoc_streams_init(a, at);
	at += streams_size(cfg);
	assoc_shares_init(a);
	ssn_store_init(&a->store, cfg->pool, at, cfg->records_max);
	early_queue_init(&a->early, &cfg->early_memory, cfg->early_max);
	a->room = DDP_TX_NO_ROOM;
	list_init(&a->waiting);
	list_init(&a->later);
	list_init(&a->undecided);
	list_init(&a->grace);
	list_init(&a->sending_last);
	list_init(&a->closing);
	list_init(&a->stalled);
	list_init(&a->resuming);
	list_init(&a->not_ready);
	list_init(&a->awaiting);
	list_init(&a->quarantine);
	list_init(&a->unused);
	list_init(&a->event_streams);
	return a;
}

void assoc_clear(struct assoc *a)
{
	if (!a)
		return;
	assoc_streams_clear(a);
	assoc_shares_clear(a);
	blocks_put(a->cfg.pool, a->event_priv);
	a->event_priv = NULL;
	ssn_store_clear(&a->store);
	early_queue_clear(&a->early);
}

/* ---- actions of a session ---- */

void assoc_reason(struct assoc_stream *s, enum assoc_reason reason, const struct perr_at *at)
{
	if (s->reason_known)
		return;
	s->reason_known = true;
	s->reason = reason;
	if (at)
		s->at = *at;
}

/* Unbinds the endpoint and reports why. */
static void unbind_endpoint(struct assoc *a, struct assoc_stream *s, enum assoc_ev_type type)
{
	if (!s->ep)
		return;
	assoc_hold_drop(a, s);
	assoc_rnr_drop(s);
	rdmap_unbind(s->ep, s->reason_known && s->reason == ASSOC_REASON_PEER);
	s->ep = NULL;
	assoc_share_part(a, s);
	assoc_queue_event(a, s, type);
}

static void withdraw_request(struct assoc *a, struct assoc_stream *s)
{
	if (s->events & 1U << ASSOC_EV_REQUEST)
		assoc_cancel_events(s, 1U << ASSOC_EV_REQUEST); /* not reported yet */
	else
		assoc_queue_event(a, s, ASSOC_EV_WITHDRAWN);
}

static void do_endpoint(struct assoc *a, struct assoc_stream *s, unsigned todo)
{
	if (s->ep && todo & (SESSION_DO_OPEN | SESSION_DO_ACCEPT)) {
		rdmap_bind(s->ep, &s->terms);
		assoc_credit_begin(a, s);
		s->ep->acks = a->cfg.acks;
	}
	if (s->ep && todo & SESSION_DO_STOP && !assoc_sends_last(s))
		rdmap_stop(s->ep);
	if (s->ep && todo & SESSION_DO_FAIL)
		rdmap_abort(s->ep);
	if (todo & SESSION_DO_OPEN)
		assoc_queue_event(a, s, ASSOC_EV_ACCEPTED);
	if (todo & SESSION_DO_HALF_CLOSED)
		assoc_queue_event(a, s, ASSOC_EV_HALF_CLOSED);
	if (todo & SESSION_DO_REJECTED)
		unbind_endpoint(a, s, ASSOC_EV_REJECTED);
	if (todo & SESSION_DO_REFUSED)
		unbind_endpoint(a, s, ASSOC_EV_REFUSED);
	if (todo & SESSION_DO_END)
		unbind_endpoint(a, s, ASSOC_EV_CLOSED);
}

/* RFC 6581 10: Initiate and answer of a session are both enhanced or both plain. */
static uint8_t match_kind(const struct assoc_stream *s, enum wire_func plain,
			  enum wire_func enhanced)
{
	return (uint8_t)(s->enhanced ? enhanced : plain);
}

static void do_control(struct assoc *a, struct assoc_stream *s, unsigned todo)
{
	if (todo & SESSION_DO_INITIATE)
		s->first = match_kind(s, WIRE_INITIATE, WIRE_ENH_INITIATE);
	if (todo & SESSION_DO_ACCEPT)
		s->first = match_kind(s, WIRE_ACCEPT, WIRE_ENH_ACCEPT);
	if (todo & SESSION_DO_REJECT)
		s->first = match_kind(s, WIRE_REJECT, WIRE_ENH_REJECT);
	if (todo & SESSION_DO_TERMINATE)
		s->terminate_due = true;
	if (todo & SESSION_DO_REQUEST)
		assoc_queue_event(a, s, ASSOC_EV_REQUEST);
	if (todo & SESSION_DO_WITHDRAW)
		withdraw_request(a, s);
	if (todo & (SESSION_DO_OPEN | SESSION_DO_INITIATE | SESSION_DO_ACCEPT | SESSION_DO_REJECT |
		    SESSION_DO_TERMINATE))
		assoc_ready(a, s);
}

static bool is_session(enum session_state state)
{
	switch (state) {
	case SESSION_IDLE:
	case SESSION_QUARANTINE:
	case SESSION_DEAD:
		return false;
	default:
		return true;
	}
}

void assoc_start_grace(struct assoc *a, struct assoc_stream *s)
{
	list_del(&s->timer);
	s->deadline = a->now + a->cfg.close_ms / 2;
	list_add_tail(&a->grace, &s->timer);
}

/* Puts the stream on the list of its new state and starts the clock of that state. */
static void enlist(struct assoc *a, struct assoc_stream *s)
{
	if (assoc_sends_last(s))
		return; /* assoc_close_after() has set its time, which progress does not change */
	list_del(&s->timer);
	switch (s->session.state) {
	case SESSION_PENDING:
		s->deadline = a->now + a->cfg.answer_ms;
		list_add_tail(&a->undecided, &s->timer);
		break;
	case SESSION_HALF_CLOSED:
		assoc_start_grace(a, s);
		break;
	case SESSION_ENDING:
	case SESSION_LOCAL_ENDED:
	case SESSION_PEER_ENDED:
		s->deadline = a->now + a->cfg.close_ms;
		list_add_tail(&a->closing, &s->timer);
		break;
	case SESSION_QUARANTINE:
		list_add_tail(&a->quarantine, &s->timer);
		break;
	case SESSION_IDLE:
	case SESSION_DEAD:
		list_add_tail(&a->unused, &s->timer);
		break;
	default:
		break;
	}
}

/* Drops messages that arrived out of order, because the missing ones will not be delivered. */
static void drop_arrivals(struct assoc *a, struct assoc_stream *s)
{
	uint32_t early = early_queue_drop(&a->early, s->session.sid);

	assoc_hold_drop(a, s);
	if (s->ahead > 0)
		ssn_store_drop(&a->store, s->session.sid, s->rx_ssn);
	a->count.rx_violations += early;
	a->count.rx_dropped += early + s->ahead;
	s->ahead = 0;
}

void assoc_release_early(struct assoc *a, struct assoc_stream *s)
{
	if (s->ep && s->ep->wait)
		early_queue_release_ssn(&a->early, s->session.sid, s->rx_ssn);
	else
		early_queue_release(&a->early, s->session.sid);
}

/* The peer has ended the session in order: requests no longer wait for a response. */
static void stop_pacing(struct assoc *a, struct assoc_stream *s)
{
	rdmap_sq_unpace(s->ep, a->tx_count);
	rdmap_sq_acked(s->ep, a->tx_acked);
	rdmap_sq_report(s->ep);
	assoc_await_acks(a, s);
}

void assoc_stop(struct assoc *a, struct assoc_stream *s)
{
	assoc_reason(s, ASSOC_REASON_LOCAL, NULL);
	if (s->ep)
		rdmap_stop(s->ep);
	if (s->ep && s->session.state == SESSION_PEER_ENDED && s->ahead == 0)
		stop_pacing(a, s);
	enlist(a, s);
	if (list_linked(&s->stall))
		assoc_hold_give_up(a, s);
	assoc_ready(a, s);
}

static void enter_state(struct assoc *a, struct assoc_stream *s, enum session_state old)
{
	enum session_state now = s->session.state;

	if (now == old)
		return;
	a->sessions = (uint16_t)(a->sessions + is_session(now) - is_session(old));
	if (s->by_peer)
		a->peer_sessions = (uint16_t)(a->peer_sessions + is_session(now) - is_session(old));
	a->undecided_count += (now == SESSION_PENDING) - (old == SESSION_PENDING);
	enlist(a, s);
	if (now == SESSION_OPEN || now == SESSION_ENDING)
		assoc_release_early(a, s);
	if (now == SESSION_PEER_ENDED && s->ep && s->ahead == 0)
		stop_pacing(a, s);
	if (now == SESSION_PEER_ENDED && assoc_sends_last(s))
		assoc_reason(s, ASSOC_REASON_LOCAL, NULL); /* we have closed first */
	if (!is_session(now) || now == SESSION_LAST_CHUNK)
		drop_arrivals(a, s);
	if (!is_session(now) && !s->terminate_due)
		assoc_not_ready(a, s);
}

/* A new session: both directions begin at 0 (RFC 5043 6.1). */
static void begin_session(struct assoc_stream *s)
{
	s->tx_ssn = 0;
	s->tx_started = false;
	s->rx_ssn = 0;
	s->first = 0;
	s->terminate_due = false;
	s->peer_early = false;
	s->first_delivered = false;
	s->by_peer = s->session.state == SESSION_PENDING;
	s->unacked = 0;
}

unsigned assoc_session(struct assoc *a, struct assoc_stream *s, enum session_event ev)
{
	enum session_state old = s->session.state;
	unsigned todo = session_event(&s->session, ev);

	if (todo == SESSION_DO_DELIVER && !s->has_priv)
		return todo; /* a segment: the session stays as it is */
	if (!is_session(old) && is_session(s->session.state))
		begin_session(s);
	do_endpoint(a, s, todo);
	do_control(a, s, todo);
	enter_state(a, s, old);
	if (todo & SESSION_DO_FAIL) { /* the endpoint no longer waits */
		assoc_release_early(a, s);
		assoc_hold_give_up(a, s);
	}
	/* If everything is acknowledged already, no further acknowledgment follows. */
	if (s->session.state == SESSION_QUARANTINE && assoc_unacked(a, s) == 0)
		assoc_session(a, s, SESSION_ACKED);
	if (s->has_priv)
		assoc_trim_priv(a, s);
	return todo;
}

void assoc_failed(struct assoc *a, struct assoc_stream *s, enum assoc_reason reason)
{
	assoc_reason(s, reason, &s->ep->at);
	assoc_session(a, s, SESSION_CLOSE);
	assoc_ready(a, s);
}

/* ---- calls ---- */

static void bind_ep(struct assoc *a, struct assoc_stream *s, struct rdmap *ep)
{
	assert(!ep->stream);
	ep->stream = s;
	s->ep = ep;
	s->event_ep = ep;
	assoc_share_join(a, s);
	s->hold_over = false;
	s->reason_known = false;
	s->at = (struct perr_at){0};
}

/* RFC 6581 7: the enhanced parameters count as private data. So does an offer of credits. */
static bool priv_fits(const struct assoc_stream *s, size_t len, uint32_t offer)
{
	return len <= WIRE_PRIVATE_MAX - (s->enhanced ? WIRE_ENH_LEN : 0U) - offer;
}

static struct wire_enh wanted_params(const struct assoc_params *o)
{
	return o->enh ? *o->enh
		      : (struct wire_enh){.ird = WIRE_ENH_UNCHANGED, .ord = WIRE_ENH_UNCHANGED};
}

/* Computes the parameters of an Accept and the terms of the endpoint. */
static void negotiate(struct assoc_stream *s, const struct rdmap *ep, const struct assoc_params *o)
{
	struct enh_terms have = rdmap_terms(ep);
	struct wire_enh want = wanted_params(o);

	s->terms = have;
	if (!s->enhanced)
		return;
	enh_answer(&s->enh_peer, &have, &want, &s->enh_local, &s->terms);
	s->terms.wait = s->terms.wait && !ep->raw; /* raw has no ready-to-receive message */
}

/* The lowest free stream of our parity that has no events left to report. NULL: there is none, or
 * no memory for it. */
static struct assoc_stream *find_free(struct assoc *a)
{
	for (uint32_t sid = a->cfg.even ? 0 : 1; sid < a->cfg.streams; sid += 2) {
		struct assoc_stream *s;

		if (assoc_stream_is_dead(a, sid))
			continue;
		s = assoc_stream_get(a, (uint16_t)sid);
		if (!s || (s->session.state == SESSION_IDLE && s->events == 0))
			return s;
	}
	return NULL;
}

int assoc_connect(struct assoc *a, struct rdmap *ep, const struct assoc_params *params,
		  uint16_t *ret_sid)
{
	struct assoc_stream *s = a->lost ? NULL : find_free(a);

	if (!s)
		return ASSOC_E_NO_STREAM;
	bind_ep(a, s, ep);
	s->terms = rdmap_terms(ep);
	s->enh_local = wanted_params(params);
	s->enhanced = params->enh;
	assoc_credit_propose(a, s);
	assert(priv_fits(s, params->len, s->credits ? WIRE_OFFER_LEN : 0));
	assoc_set_priv(a, s, params->priv, params->len);
	assoc_session(a, s, SESSION_CONNECT);
	*ret_sid = s->session.sid;
	return ASSOC_E_OK;
}

bool assoc_full(struct assoc *a)
{
	return a->lost || !find_free(a);
}

/* The stream if its Initiate waits for a decision, or NULL. */
static struct assoc_stream *find_pending(struct assoc *a, uint16_t sid)
{
	struct assoc_stream *s = sid < a->cfg.streams ? assoc_stream_used(a, sid) : NULL;

	return s && s->session.state == SESSION_PENDING ? s : NULL;
}

int assoc_accept(struct assoc *a, uint16_t sid, struct rdmap *ep, const struct assoc_params *params)
{
	struct assoc_stream *s = find_pending(a, sid);

	if (!s)
		return ASSOC_E_STATE;
	if (!priv_fits(s, params->len, assoc_credit_answer_len(s, ep)))
		return ASSOC_E_LEN;
	bind_ep(a, s, ep);
	assoc_credit_agree(a, s);
	negotiate(s, ep, params);
	assoc_set_priv(a, s, params->priv, params->len);
	assoc_session(a, s, SESSION_ACCEPT);
	return ASSOC_E_OK;
}

int assoc_reject(struct assoc *a, uint16_t sid, const struct assoc_params *params)
{
	struct assoc_stream *s = find_pending(a, sid);
	struct wire_enh want = wanted_params(params);

	if (!s)
		return ASSOC_E_STATE;
	if (!priv_fits(s, params->len, 0))
		return ASSOC_E_LEN;
	enh_reject(&s->enh_peer, &want, &s->enh_local);
	assoc_set_priv(a, s, params->priv, params->len);
	assoc_session(a, s, SESSION_REJECT);
	return ASSOC_E_OK;
}

int assoc_refuse(struct assoc *a, uint16_t sid)
{
	struct assoc_stream *s = find_pending(a, sid);

	if (!s)
		return ASSOC_E_STATE;
	assoc_session(a, s, SESSION_REFUSE);
	return ASSOC_E_OK;
}

void assoc_lost(struct assoc *a)
{
	const struct perr_at at = {.perr = PERR_LLP_LOST, .term = perr_term(PERR_LLP_LOST)};

	a->lost = true;
	a->out.stream = NULL;
	assoc_refusals_drop(a);
	for (uint32_t i = 0; i < a->touched; i++) {
		struct assoc_stream *s = assoc_stream_used(a, i);

		if (!s)
			continue;
		assoc_reason(s, ASSOC_REASON_LOST, &at);
		assoc_session(a, s, SESSION_LOST);
		s->first = 0; /* no message is sent from now on */
		s->terminate_due = false;
		assoc_not_ready(a, s);
		assoc_trim_priv(a, s);
	}
}

bool assoc_idle(const struct assoc *a)
{
	return a->sessions == 0 && a->ready == 0 && list_empty(&a->waiting) &&
	       list_empty(&a->later) && list_empty(&a->quarantine);
}

/* ---- time ---- */

void assoc_restart_clock(struct assoc *a, struct assoc_stream *s)
{
	bool grace =
		s->session.state == SESSION_OPEN && s->ep && s->ep->raw && list_linked(&s->timer);

	if (s->session.state == SESSION_ENDING || s->session.state == SESSION_PEER_ENDED)
		enlist(a, s);
	else if (grace || s->session.state == SESSION_HALF_CLOSED)
		assoc_start_grace(a, s);
}

/* The deadlines of a list are in order, because all its streams have the same time limit. */
static struct assoc_stream *due(const struct list *by_deadline, uint64_t now)
{
	struct assoc_stream *s;

	if (list_empty(by_deadline))
		return NULL;
	s = list_entry(by_deadline->next, struct assoc_stream, timer);
	return s->deadline <= now ? s : NULL;
}

void assoc_set_time(struct assoc *a, uint64_t now_ms)
{
	a->now = now_ms;
}

void assoc_tick(struct assoc *a, uint64_t now_ms)
{
	struct assoc_stream *s;

	a->now = now_ms;
	assoc_unpark_all(a, &a->later);
	assoc_hold_expire(a);
	while ((s = assoc_rnr_give_up(a)))
		assoc_failed(a, s, ASSOC_REASON_ERROR);
	while ((s = due(&a->undecided, now_ms)))
		assoc_session(a, s, SESSION_TIMEOUT);
	while ((s = due(&a->grace, now_ms)))
		assoc_session(a, s, SESSION_TIMEOUT);
	while ((s = due(&a->sending_last, now_ms)))
		assoc_stop(a, s);
	while ((s = due(&a->closing, now_ms)))
		assoc_session(a, s, SESSION_TIMEOUT);
}

static uint64_t earliest(const struct list *by_deadline, uint64_t at)
{
	const struct assoc_stream *s = due(by_deadline, UINT64_MAX);

	return s && s->deadline < at ? s->deadline : at;
}

uint64_t assoc_expiry(const struct assoc *a)
{
	uint64_t at = min_u64(assoc_hold_expiry(a), assoc_rnr_expiry(a));

	if (!list_empty(&a->later))
		return a->now;
	at = earliest(&a->sending_last, earliest(&a->closing, at));
	return earliest(&a->undecided, earliest(&a->grace, at));
}

void assoc_set_trace(struct assoc *a, assoc_trace_fn *fn, void *user)
{
	a->trace.fn = fn;
	a->trace.user = user;
}
