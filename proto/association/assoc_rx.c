/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "proto/association/assoc_impl.h"
#include "proto/rdmap/rdmap_rx.h"
#include "proto/rdmap/rdmap_term.h"
#include "util/be.h"

enum { FUNC_UNKNOWN = 0xff }; /* ssn_rec.func of an unknown function code */

/* ---- reading the message ---- */

static bool parse_control(const struct assoc_msg *m, struct ssn_rec *c)
{
	uint16_t func;

	if (m->len < WIRE_CONTROL_LEN || m->head_len < m->len)
		return false;
	func = be_get16(m->head + WIRE_SSN_LEN);
	c->func = func >= WIRE_INITIATE && func <= WIRE_ENH_REJECT ? (uint8_t)func : FUNC_UNKNOWN;
	return true;
}

static bool parse_segment(const struct assoc_msg *m, struct ssn_rec *c)
{
	const uint8_t *p = m->head + WIRE_SSN_LEN;

	if (m->head_len < WIRE_SSN_LEN + WIRE_TAGGED_LEN || m->head_len > m->len)
		return false;
	c->hlen = (uint8_t)wire_ddp_get(p, m->head_len - WIRE_SSN_LEN, &c->ddp);
	memcpy(c->ctl, p, sizeof(c->ctl));
	return c->hlen > 0;
}

/* False if this is not a DDP message: too short, too long, or an unknown PPID. */
static bool parse_message(const struct assoc_msg *m, struct ssn_rec *ret)
{
	*ret = (struct ssn_rec){.sid = m->sid};
	if (m->len < WIRE_SSN_LEN || m->head_len < WIRE_SSN_LEN ||
	    m->len - WIRE_SSN_LEN > WIRE_MULPDU_MAX)
		return false;
	ret->ssn = be_get16(m->head);
	ret->len = (uint16_t)(m->len - WIRE_SSN_LEN);
	if (m->ppid == WIRE_PPID_CONTROL)
		return parse_control(m, ret);
	return m->ppid == WIRE_PPID_SEGMENT && parse_segment(m, ret);
}

/* Bytes after the function code: enhanced parameters (RFC 6581), if any, and private data. */
static uint32_t params_len(const struct ssn_rec *c)
{
	return c->func ? c->len - (WIRE_CONTROL_LEN - WIRE_SSN_LEN) : 0;
}

static bool params_fit(const struct ssn_rec *c, uint32_t least)
{
	return params_len(c) >= least && params_len(c) <= WIRE_PRIVATE_MAX;
}

/* RFC 6581 7, 10: the answer is of the same kind as the request. A plain Reject is tolerated,
 * because the refusal is clear. */
static enum session_event answer_of(const struct assoc_stream *s, const struct ssn_rec *c)
{
	bool enhanced = wire_func_enhanced(c->func);
	bool accept = c->func == WIRE_ACCEPT || c->func == WIRE_ENH_ACCEPT;

	if (enhanced != s->enhanced && c->func != WIRE_REJECT)
		return SESSION_RX_VIOLATION;
	if (!params_fit(c, c->func == WIRE_ENH_ACCEPT ? WIRE_ENH_LEN : 0))
		return SESSION_RX_VIOLATION;
	return accept ? SESSION_RX_ACCEPT : SESSION_RX_REJECT;
}

/* RFC 5043 5.2.3, RFC 6581 7: the event that a chunk is for the session. */
static enum session_event event_of(const struct assoc *a, const struct assoc_stream *s,
				   const struct ssn_rec *c)
{
	if (!c->func)
		return SESSION_RX_SEGMENT; /* most messages */
	switch (c->func) {
	case WIRE_INITIATE:
		return params_fit(c, 0) ? SESSION_RX_INITIATE : SESSION_RX_UNWANTED;
	case WIRE_ENH_INITIATE:
		return params_fit(c, WIRE_ENH_LEN) && !a->cfg.plain_only ? SESSION_RX_INITIATE
									 : SESSION_RX_UNWANTED;
	case WIRE_ACCEPT:
	case WIRE_REJECT:
	case WIRE_ENH_ACCEPT:
	case WIRE_ENH_REJECT:
		return answer_of(s, c);
	case WIRE_TERMINATE: /* further bytes are ignored */
		return SESSION_RX_TERMINATE;
	default:
		return SESSION_RX_VIOLATION;
	}
}

/* ---- examining it ---- */

/* RFC 5043 6.1: without a session only an Initiate with DDP-SSN 0 is legal. */
static int classify_first(const struct ssn_rec *c)
{
	bool initiate = c->func == WIRE_INITIATE || c->func == WIRE_ENH_INITIATE;

	return initiate && c->ssn == 0 ? ASSOC_DELIVER : ASSOC_IGNORE;
}

/* Keeps a message until the Accept. */
static int keep_early(struct assoc *a, const struct assoc_msg *m, struct assoc_place *ret)
{
	uint8_t *p = early_queue_add(&a->early, m->sid, m->ppid, m->len);

	if (!p)
		return ASSOC_VIOLATION;
	ret->skip = 0;
	ret->len = m->len;
	ret->dst[0] = (struct span){p, m->len};
	ret->ndst = 1;
	return ASSOC_EARLY;
}

/* Without an endpoint yet: segments may overtake the Accept of either side. */
static int classify_early(struct assoc *a, struct assoc_stream *s, const struct assoc_msg *m,
			  struct assoc_place *ret)
{
	const struct ssn_rec *c = &a->in.chunk;
	int ahead = ssn_diff(c->ssn, s->rx_ssn);

	if (ahead < 0)
		return ASSOC_VIOLATION;
	if (s->session.state != SESSION_PENDING) {
		if (ahead > 0)
			return keep_early(a, m, ret);
		return s->first ? ASSOC_VIOLATION
				: ASSOC_DELIVER; /* an answer before our Initiate left */
	}
	if (c->func)
		return ASSOC_DELIVER;
	s->peer_early = true;
	return keep_early(a, m, ret);
}

/* True if a message of this number arrived out of order, or waits for a receive. */
static bool is_stored(struct assoc *a, const struct assoc_stream *s, uint16_t ssn)
{
	uint32_t len;

	return ssn_store_find(&a->store, s->session.sid, ssn) ||
	       (s->ep && hold_find(&s->ep->hold, ssn, &len));
}

/* RFC 5043 10: reordering cannot explain a number that was delivered or received already. */
static bool in_window(struct assoc *a, const struct assoc_stream *s, const struct ssn_rec *c)
{
	if (ssn_diff(c->ssn, s->rx_ssn) < 0)
		return false;
	return s->ahead == 0 || !is_stored(a, s, c->ssn);
}

/* A record for a chunk that arrived out of order, or NULL if the store is full. */
static struct ssn_rec *store_ahead(struct assoc *a, struct assoc_stream *s, const struct ssn_rec *c)
{
	struct ssn_rec *r = ssn_store_add(&a->store, c->sid, c->ssn);

	if (!r)
		return NULL;
	r->len = c->len;
	r->func = c->func;
	r->hlen = c->hlen;
	r->ddp = c->ddp;
	memcpy(r->ctl, c->ctl, sizeof(r->ctl));
	r->perr = c->perr;
	s->ahead++;
	a->count.rx_ahead++;
	return r;
}

/*
 * A ready-to-receive message that is a Send takes a message number but no receive. Before the first
 * message is known, the receives of later Sends cannot be determined.
 */
static bool is_renumbered(const struct assoc_stream *s, const struct ssn_rec *c)
{
	return s->ep && s->ep->wait & WIRE_RTR_SEND && !c->func && !c->ddp.tagged &&
	       c->ddp.qn == WIRE_QN_SEND;
}

/* It found no receive, and may wait for one. A request beyond IRD is an error of the peer. */
static bool may_wait(const struct assoc_stream *s, const struct ssn_rec *c)
{
	bool bad = c->perr == PERR_BAD_RECEIVE && !rdmap_is_strict(s->ep);

	return (c->perr == PERR_NO_BUFFER || bad) && c->ddp.qn == WIRE_QN_SEND &&
	       assoc_hold_waits(s);
}

/* Finds the placement target of a segment. False if it may wait for a receive instead. */
static bool place_segment(struct assoc *a, const struct assoc_stream *s, const struct assoc_msg *m,
			  struct assoc_place *ret)
{
	struct ssn_rec *c = &a->in.chunk;
	uint32_t skip = WIRE_SSN_LEN + c->hlen;

	if (c->func || !s->ep || !rdmap_fsm_may_receive(s->ep->state))
		return true;
	ret->skip = skip;
	ret->len = ddp_rx_payload(c);
	c->perr = (uint16_t)rdmap_rx_place(s->ep, c, m->head + skip, m->head_len - skip, ret->dst,
					   &ret->ndst);
	return !may_wait(s, c);
}

/* Out of order: places a segment at once and stores its header, or keeps the whole message. */
static int classify_ahead(struct assoc *a, struct assoc_stream *s, const struct assoc_msg *m,
			  struct assoc_place *ret)
{
	const struct ssn_rec *c = &a->in.chunk;
	bool all = !c->func && assoc_hold_all(s);

	if (all && assoc_hold_keep(s, m, c->ssn, ret))
		return ASSOC_KEPT;
	if (is_renumbered(s, c))
		return keep_early(a, m, ret);
	if (!all && !place_segment(a, s, m, ret) && assoc_hold_keep(s, m, c->ssn, ret))
		return ASSOC_KEPT;
	if (!store_ahead(a, s, c))
		return ASSOC_VIOLATION;
	if (c->func)
		assoc_hold_end_follows(a, s);
	return all ? ASSOC_OVERFLOW : ASSOC_AHEAD;
}

/* A kept message is the next in order. Its bytes were counted when it arrived. */
static int classify_kept(struct assoc *a, struct assoc_stream *s, const struct assoc_msg *m,
			 struct assoc_place *ret)
{
	if (place_segment(a, s, m, ret))
		return ASSOC_DELIVER_KEPT;
	assoc_hold_stall(a, s);
	return ASSOC_WAIT;
}

/* Places a segment at once, if it does not have to wait for earlier ones or for a receive. */
static int classify_live(struct assoc *a, struct assoc_stream *s, const struct assoc_msg *m,
			 struct assoc_place *ret)
{
	const struct ssn_rec *c = &a->in.chunk;

	if (s->ahead > 0 && s->ep && hold_has(&s->ep->hold, m->head))
		return classify_kept(a, s, m, ret);
	if (!in_window(a, s, c))
		return ASSOC_VIOLATION;
	if (c->ssn != s->rx_ssn)
		return classify_ahead(a, s, m, ret);
	if (place_segment(a, s, m, ret) || !assoc_hold_keep(s, m, c->ssn, ret))
		return ASSOC_DELIVER;
	assoc_hold_stall(a, s);
	return ASSOC_KEPT;
}

static int classify(struct assoc *a, struct assoc_stream *s, const struct assoc_msg *m,
		    struct assoc_place *ret)
{
	bool readable = parse_message(m, &a->in.chunk);

	switch (s->session.state) {
	case SESSION_IDLE:
	case SESSION_QUARANTINE:
		return readable ? classify_first(&a->in.chunk) : ASSOC_IGNORE;
	case SESSION_REQUESTING:
	case SESSION_CANCELED:
	case SESSION_PENDING:
		return readable ? classify_early(a, s, m, ret) : ASSOC_VIOLATION;
	case SESSION_OPEN:
	case SESSION_ENDING:
	case SESSION_LOCAL_ENDED:
		return readable ? classify_live(a, s, m, ret) : ASSOC_VIOLATION;
	case SESSION_HALF_CLOSED: /* after the peer's Terminate */
	case SESSION_PEER_ENDED:
		return ASSOC_VIOLATION;
	default:
		return ASSOC_IGNORE;
	}
}

/* RFC 5043 6.4: the number of undecided requests is limited. */
static bool may_request(const struct assoc *a, const struct assoc_stream *s)
{
	/* Private data of an earlier session on this stream may not have been reported yet. */
	return a->undecided_count < a->cfg.pending_max && !(s->events & 1U << ASSOC_EV_REJECTED);
}

/* Stores enhanced parameters and private data. An enhanced Reject may lack the parameters. */
static void keep_params(struct assoc *a, struct assoc_stream *s, const struct ssn_rec *c,
			const uint8_t *p)
{
	bool answer = c->func != WIRE_INITIATE && c->func != WIRE_ENH_INITIATE;
	uint32_t len = params_len(c);

	s->enh_peer = (struct wire_enh){.ird = WIRE_ENH_UNCHANGED, .ord = WIRE_ENH_UNCHANGED};
	s->peer_enhanced = wire_func_enhanced(c->func);
	if (s->peer_enhanced && len >= WIRE_ENH_LEN) {
		wire_enh_get(p, &s->enh_peer);
		if (!s->enh_peer.p2p)
			s->enh_peer.rtr = 0; /* ignored, RFC 6581 9.2 */
		p += WIRE_ENH_LEN;
		len -= WIRE_ENH_LEN;
	}
	if (c->func != WIRE_REJECT && c->func != WIRE_ENH_REJECT)
		len = assoc_credit_take_offer(s, answer, p, len);
	assoc_set_priv(a, s, p, len);
}

/* Stores those parts of a control message that an event reports. */
static void keep_private(struct assoc *a, struct assoc_stream *s, const struct assoc_msg *m)
{
	const struct ssn_rec *c = &a->in.chunk;
	enum session_event ev = event_of(a, s, c);
	enum session_state state = s->session.state;
	bool initiate = ev == SESSION_RX_INITIATE &&
			(state == SESSION_IDLE || state == SESSION_QUARANTINE) && may_request(a, s);
	bool answer =
		(ev == SESSION_RX_ACCEPT || ev == SESSION_RX_REJECT) && state == SESSION_REQUESTING;

	if (!initiate && !answer)
		return;
	if (initiate)
		s->enhanced = c->func == WIRE_ENH_INITIATE;
	keep_params(a, s, c, m->head + WIRE_CONTROL_LEN);
}

static void count_message(struct assoc *a, const struct assoc_msg *m)
{
	if (a->in.verdict == ASSOC_EARLY)
		a->count.rx_early++; /* counted again by its kind when it is examined */
	else if (a->in.verdict == ASSOC_CREDIT_TAKEN)
		a->count.rx_credits++;
	else if (a->in.verdict == ASSOC_WAIT || a->in.verdict == ASSOC_DELIVER_KEPT)
		return; /* counted when it arrived */
	else if (m->ppid == WIRE_PPID_CONTROL)
		a->count.rx_control++;
	else
		a->count.rx_segments++;
}

int assoc_rx(struct assoc *a, const struct assoc_msg *msg, struct assoc_place *ret)
{
	struct assoc_stream *s = a->lost ? NULL : assoc_stream_for(a, msg);

	ret->ndst = 0;
	a->in.stream = s;
	a->in.verdict = ASSOC_IGNORE;
	if (msg->ppid == WIRE_PPID_CREDIT && assoc_credit_rx(a, s, msg)) {
		a->in.verdict = ASSOC_CREDIT_TAKEN;
	} else if (!s && !a->lost && assoc_refusal_add(a, msg)) {
		a->in.verdict = ASSOC_REFUSED;
	} else if (s) {
		a->in.verdict = classify(a, s, msg, ret);
		if (a->in.verdict == ASSOC_DELIVER && a->in.chunk.func)
			keep_private(a, s, msg);
	}
	count_message(a, msg);
	return ret->ndst > 0 ? ASSOC_RX_PLACE : ASSOC_RX_DONE;
}

bool assoc_rx_early(struct assoc *a, struct assoc_msg *ret)
{
	uint8_t *p;

	if (!early_queue_take(&a->early, &ret->sid, &ret->ppid, &p, &ret->len))
		return assoc_hold_next(a, ret);
	ret->head = p;
	ret->head_len = ret->len;
	return true;
}

/* ---- delivering it, in order of DDP-SSN ---- */

/* Gives the event to the session and notes violations. Returns the actions of the session. */
static unsigned feed_session(struct assoc *a, struct assoc_stream *s, enum session_event ev)
{
	bool ended =
		s->session.state == SESSION_PEER_ENDED || s->session.state == SESSION_HALF_CLOSED;
	unsigned todo = assoc_session(a, s, ev);

	if (ev == SESSION_RX_TERMINATE || ev == SESSION_RX_HALF_CLOSE)
		assoc_reason(s, s->ahead ? ASSOC_REASON_VIOLATION : ASSOC_REASON_PEER, NULL);
	if (todo & SESSION_DO_BAD) {
		a->count.rx_violations++;
		a->count.rx_dropped++;
		if (ended && s->reason == ASSOC_REASON_PEER)
			s->reason = ASSOC_REASON_VIOLATION; /* not an orderly end: RFC 5041 6.2.1 */
		assoc_reason(s, ASSOC_REASON_VIOLATION, NULL);
	}
	return todo;
}

/*
 * RFC 5043 6.6: a message of the peer after our first control message proves that ours arrived,
 * unless this peer sends without waiting for it.
 */
static void note_first_delivered(struct assoc *a, struct assoc_stream *s, enum session_event ev)
{
	bool answer = ev == SESSION_RX_ACCEPT;

	if (!answer && s->session.state != SESSION_OPEN && s->session.state != SESSION_ENDING)
		return;
	if (s->first)
		s->peer_early = true; /* ours has not left yet */
	else if (answer || !s->peer_early)
		s->first_delivered = true;
	if (s->first_delivered && s->terminate_due)
		assoc_ready(a, s);
}

/* Raw: the ULP reacts to an error (RFC 5041 6.2). */
static void report_error(struct assoc *a, struct assoc_stream *s)
{
	assoc_reason(s, ASSOC_REASON_ERROR, &s->ep->at);
	assoc_ready(a, s);
	if (s->session.state != SESSION_OPEN)
		return; /* the ULP has closed already */
	assoc_queue_event(a, s, ASSOC_EV_ERROR);
	assoc_start_grace(a, s);
}

static void deliver_segment(struct assoc *a, struct assoc_stream *s, const struct ssn_rec *c)
{
	bool waited = s->ep && s->ep->wait;

	if (!s->ep || !rdmap_fsm_may_receive(s->ep->state)) {
		a->count.rx_dropped++; /* after the first error, or without an endpoint */
		return;
	}
	switch (rdmap_rx_deliver(s->ep, c)) {
	case RDMAP_RX_WAKE_TX:
		assoc_ready(a, s);
		break;
	case RDMAP_RX_FAILED:
		assoc_failed(a, s, ASSOC_REASON_ERROR);
		break;
	case RDMAP_RX_TERMINATED:
		assoc_failed(a, s, ASSOC_REASON_REMOTE);
		break;
	case RDMAP_RX_REPORTED:
		report_error(a, s);
		break;
	default:
		break;
	}
	if (waited && !s->ep->wait)
		assoc_release_early(a, s);
}

/*
 * RFC 6581 9: the terms follow from the parameters of the Accept. If there is no agreement, the
 * endpoint is opened only to send its Terminate.
 */
static enum perr settle_terms(struct assoc_stream *s)
{
	struct enh_terms have;

	if (!s->ep || !s->enhanced)
		return PERR_NONE;
	have = rdmap_terms(s->ep);
	return enh_settle(&s->enh_local, &have, &s->enh_peer, &s->terms);
}

static void fail_opening(struct assoc *a, struct assoc_stream *s, enum perr perr)
{
	assoc_cancel_events(s, 1U << ASSOC_EV_ACCEPTED);
	rdmap_term_fail(s->ep, perr, NULL, NULL);
	assoc_failed(a, s, ASSOC_REASON_ERROR);
}

/* True if the ULP decides when a Terminate is answered. */
static bool ulp_terminates(const struct assoc_stream *s)
{
	return s->ep && s->ep->raw && s->session.state == SESSION_OPEN;
}

static void deliver_chunk(struct assoc *a, struct assoc_stream *s, const struct ssn_rec *c)
{
	enum session_event ev = event_of(a, s, c);
	enum perr perr = PERR_NONE;
	unsigned todo;

	if (ev == SESSION_RX_INITIATE && !may_request(a, s))
		ev = SESSION_RX_UNWANTED;
	if (ev == SESSION_RX_TERMINATE && ulp_terminates(s))
		ev = SESSION_RX_HALF_CLOSE;
	if (ev == SESSION_RX_ACCEPT && s->session.state == SESSION_REQUESTING)
		perr = settle_terms(s);
	note_first_delivered(a, s, ev);
	todo = feed_session(a, s, ev);
	s->rx_ssn = (uint16_t)(c->ssn + 1);
	if (todo & SESSION_DO_DELIVER) {
		deliver_segment(a, s, c);
		if (s->credits == ASSOC_CREDITS_AGREED)
			assoc_credit_delivered(a, s, c);
	}
	if (perr != PERR_NONE)
		fail_opening(a, s, perr);
}

/* Delivers stored messages that are in order now. */
static void deliver_ahead(struct assoc *a, struct assoc_stream *s)
{
	while (s->ahead > 0) {
		struct ssn_rec *r = ssn_store_find(&a->store, s->session.sid, s->rx_ssn);
		struct ssn_rec c;

		if (!r) {
			assoc_hold_go_on(a, s);
			return;
		}
		c = *r;
		ssn_store_del(&a->store, r);
		s->ahead--;
		deliver_chunk(a, s, &c);
	}
}

/* A message that has to be kept finds no room: RFC 5041 7.1, if receives are missing. */
static void overflow(struct assoc *a, struct assoc_stream *s)
{
	if (list_linked(&s->stall)) {
		assoc_hold_give_up(a, s);
		return;
	}
	rdmap_term_fail(s->ep, PERR_HOLD_FULL, NULL, NULL);
	assoc_failed(a, s, ASSOC_REASON_ERROR);
}

/* The endpoint leaves: messages that were kept for it count as arrived. A stream is not used again
 * if there is no room for records of them. */
void assoc_rx_release(struct assoc *a, struct assoc_stream *s)
{
	struct assoc_msg m = {.sid = s->session.sid, .ppid = WIRE_PPID_SEGMENT};
	uint32_t pos = 0;
	uint8_t *p;
	uint16_t ssn;

	while (hold_take(&s->ep->hold, &pos, &ssn, &p, &m.len)) {
		struct ssn_rec c;

		m.head = p;
		m.head_len = m.len;
		s->ahead--;
		if (parse_message(&m, &c))
			store_ahead(a, s, &c);
	}
	list_del(&s->stall);
	list_del(&s->resume);
}

void assoc_rx_stored(struct assoc *a, struct assoc_stream *s)
{
	deliver_ahead(a, s);
}

void assoc_rx_placed(struct assoc *a)
{
	struct assoc_stream *s = a->in.stream;

	switch (a->in.verdict) {
	case ASSOC_IGNORE:
		a->count.rx_violations++;
		a->count.rx_dropped++;
		break;
	case ASSOC_VIOLATION:
		feed_session(a, s, SESSION_RX_VIOLATION);
		break;
	case ASSOC_REFUSED:
		a->count.rx_refused++;
		a->count.rx_dropped++;
		break;
	case ASSOC_EARLY:
	case ASSOC_AHEAD:
	case ASSOC_KEPT:
	case ASSOC_WAIT:
	case ASSOC_CREDIT_TAKEN:
		break;
	case ASSOC_OVERFLOW:
		overflow(a, s);
		break;
	case ASSOC_DELIVER_KEPT:
		assoc_hold_end(s);
		deliver_chunk(a, s, &a->in.chunk);
		deliver_ahead(a, s);
		break;
	case ASSOC_DELIVER:
		deliver_chunk(a, s, &a->in.chunk);
		deliver_ahead(a, s);
		break;
	}
	a->in.stream = NULL;
}
