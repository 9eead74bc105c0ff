/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/stack/cookie_echo.h"

#include "sctp/assoc/assoc_end.h"
#include "sctp/assoc/assoc_new.h"
#include "sctp/assoc/handshake.h"
#include "sctp/assoc/path_state.h"
#include "sctp/assoc/paths.h"
#include "sctp/assoc/states.h"
#include "sctp/base/admission.h"
#include "sctp/base/lookup.h"
#include "sctp/base/path_select.h"
#include "sctp/base/ports.h"
#include "sctp/base/reply.h"
#include "util/be.h"

/* ---- the active side: COOKIE ECHO is sent, COOKIE ACK received ---- */

/* RFC 5043 section 4: the peer has to send DDP's indication. */
static bool indicated(const struct sctp *s, bool has, uint32_t value)
{
	return has && value == s->cfg.adaptation;
}

static bool check_indication(struct sctp_assoc *a)
{
	static const char text[] = "the adaptation indication is not the expected one";

	if (indicated(a->s, a->agreed.has_adaptation, a->agreed.adaptation))
		return true;
	sctp_assoc_break(a, SCTP_END_INDICATION, SCTP_CAUSE_USER, text, sizeof(text) - 1,
			 a->agreed.has_adaptation ? "" : "no adaptation indication");
	return false;
}

void sctp_got_cookie_ack(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;

	if (a->state == SCTP_COOKIE_ECHOED && check_indication(a)) {
		sctp_path_answered(p);
		sctp_assoc_step(a, SCTP_EV_COOKIE_ACK);
	}
}

/* 5.2.6 (1): another INIT, without a wish for a longer life. */
void sctp_got_stale_cookie(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;

	if (a->state != SCTP_COOKIE_ECHOED)
		return;
	if (!sctp_handshake_stale(a)) {
		sctp_assoc_end(a, SCTP_END_NO_ANSWER, SCTP_CAUSE_STALE_COOKIE, NULL, 0);
		return;
	}
	a->state = SCTP_CLOSED;
	sctp_assoc_step(a, SCTP_EV_ASSOCIATE);
}

/* ---- the passive side: COOKIE ECHO is received ---- */

static void send_cookie_ack(struct sctp_path *p, bool shutting_down)
{
	struct sctp_writer w = sctp_reply_to(p);

	if (shutting_down) {
		uint32_t at;

		sctp_put_plain(&w, SCTP_SHUTDOWN_ACK, 0);
		at = sctp_begin_chunk(&w, SCTP_ERROR, 0);
		sctp_put_cause(&w, SCTP_CAUSE_COOKIE_SHUTDOWN, NULL, 0);
		sctp_end_chunk(&w, at);
	} else {
		sctp_put_plain(&w, SCTP_COOKIE_ACK, 0);
	}
	sctp_reply_end(p->assoc->s, &w);
}

/* Paths to all addresses in the cookie. */
static bool add_paths(struct sctp_assoc *a, const struct sctp_cookie *k)
{
	struct sctp_flow flow = sctp_primary(a)->flow;
	unsigned n = a->paths.n;

	for (unsigned i = 0; i < k->naddrs; i++)
		n += !sctp_assoc_find_path(a, &k->addr[i]);
	if (!sctp_assoc_reserve(a, n))
		return false;
	for (unsigned i = 0; i < k->naddrs; i++) {
		flow.peer = k->addr[i];
		if (!sctp_assoc_find_path(a, &flow.peer))
			sctp_assoc_add_path(a, &flow, 0);
	}
	return true;
}

static struct sctp_agreed agreed_in(const struct sctp_cookie *k)
{
	return (struct sctp_agreed){.out_streams = k->out_streams,
				    .in_streams = k->in_streams,
				    .has_adaptation = k->has_adaptation,
				    .adaptation = k->adaptation,
				    .takes_batches = k->takes_batches,
				    .zero_checksum = k->zero_checksum};
}

/* Those that INIT ACK listed, unless another listener has the port since then, which names none. */
static void choose_own_addrs(struct sctp_assoc *a, const struct sctp_cookie *k,
			     const struct sctp_listener *l)
{
	a->local.all = k->all_local;
	if (k->all_local && l->n > 0)
		sctp_assoc_own_addrs(a, l->local, l->n);
	else
		sctp_assoc_own_addrs(a, &k->from.local, 1);
}

/* Sets up a new association from the cookie. False: no address of ours is of the peer's family any
 * more. */
static bool fill_from_cookie(struct sctp_assoc *a, const struct sctp_cookie *k,
			     const struct sctp_flow *from)
{
	struct sctp_flow flow = k->from;

	/* RFC 6951 5.4: the newer UDP port of the same address. */
	if (sctp_addr_equal(&from->peer, &flow.peer))
		flow.udp_port = from->udp_port;
	a->origin.passive = true;
	sctp_assoc_use_port(a, k->own_port);
	a->id.peer_port = k->peer_port;
	a->id.own_tag = k->own_tag;
	a->id.peer_tag = k->peer_tag;
	a->agreed = agreed_in(k);
	if (!sctp_assoc_add_path(a, &flow, 0))
		return false;
	add_paths(a, k);
	sctp_queue_init(&a->tx, k->own_tsn);
	sctp_assoc_start(a, k->peer_tsn, k->peer_rwnd);
	/* 5.4 (1): INIT ACK went to this address, and the peer has returned its cookie. */
	sctp_path_set_state(&a->paths.at[0], SCTP_PATH_ACTIVE);
	return true;
}

static struct sctp_path *make_association(struct sctp *s, const struct sctp_cookie *k,
					  const struct sctp_flow *from, struct sctp_listener *l)
{
	struct sctp_assoc *a = NULL;

	if (sctp_may_accept(s, &k->from.peer))
		a = sctp_assoc_new(s, &k->from.peer, k->naddrs);
	if (a)
		choose_own_addrs(a, k, l);
	if (!a || !fill_from_cookie(a, k, from)) {
		s->st.refused_handshakes++;
		sctp_assoc_free(a);
		return NULL;
	}
	a->origin.listener = l;
	sctp_assoc_step(a, SCTP_EV_COOKIE_ECHO);
	send_cookie_ack(&a->paths.at[0], false);
	return &a->paths.at[0];
}

/* RFC 5061 4.2.6: the user judges the indication. So the peer's association is established and
 * aborted at once; this side sets up none. */
static void refuse_indication(struct sctp *s, const struct sctp_flow *from,
			      const struct sctp_head *got, uint32_t tag)
{
	static const char text[] = "the adaptation indication is not the expected one";
	const struct sctp_head head = {got->dst, got->src, tag};
	struct sctp_writer w = sctp_reply_to_unknown(s, from, &head);

	sctp_put_plain(&w, SCTP_COOKIE_ACK, 0);
	sctp_reply_end(s, &w);
	sctp_reply_abort(s, from, got, tag, false, SCTP_CAUSE_USER, text, sizeof(text) - 1);
}

static struct sctp_path *begin_association(struct sctp *s, const struct sctp_flow *from,
					   const struct sctp_head *head,
					   const struct sctp_cookie *k)
{
	struct sctp_listener *l = sctp_lookup_listener(s, k->own_port, k->from.local);
	struct sctp_path *p;

	if (!l) {
		sctp_reply_abort(s, from, head, k->peer_tag, false, SCTP_CAUSE_NONE, NULL, 0);
		return NULL;
	}
	if (!indicated(s, k->has_adaptation, k->adaptation)) {
		refuse_indication(s, from, head, k->peer_tag);
		return NULL;
	}
	p = make_association(s, k, from, l);
	if (!p)
		sctp_reply_abort(s, from, head, k->peer_tag, false, SCTP_CAUSE_RESOURCE, NULL, 0);
	return p;
}

/* 5.2.4 (A): the peer has begun again. The old association ends for its user; a new one takes its
 * place. */
static struct sctp_path *restart_association(struct sctp_path *p, const struct sctp_flow *from,
					     const struct sctp_head *head,
					     const struct sctp_cookie *k)
{
	struct sctp_assoc *a = p->assoc;
	struct sctp *s = a->s;

	if (a->state == SCTP_SHUTDOWN_ACK_SENT) {
		send_cookie_ack(p, true);
		return NULL;
	}
	sctp_assoc_end(a, SCTP_END_RESTART, 0, NULL, 0);
	return begin_association(s, from, head, k);
}

/* 5.2.4 (B): both sides sent INIT. */
static struct sctp_path *collide_with_init(struct sctp_path *p, const struct sctp_flow *from,
					   const struct sctp_cookie *k)
{
	struct sctp_assoc *a = p->assoc;

	if (a->state != SCTP_COOKIE_WAIT && a->state != SCTP_COOKIE_ECHOED)
		return NULL;
	/* Without memory: the peer repeats COOKIE ECHO. */
	if (!add_paths(a, k) || !sctp_assoc_find_path(a, &k->from.peer))
		return NULL;
	if (a->state == SCTP_COOKIE_WAIT)
		sctp_assoc_keep_paths(a, k->addr, k->naddrs);
	a->id.peer_tag = k->peer_tag;
	a->agreed = agreed_in(k);
	if (!check_indication(a))
		return NULL;
	p = sctp_assoc_find_path(a, &k->from.peer);
	sctp_assoc_start(a, k->peer_tsn, k->peer_rwnd);
	sctp_path_set_state(p, SCTP_PATH_ACTIVE);
	sctp_learn(p, from);
	sctp_assoc_step(a, SCTP_EV_COOKIE_ECHO);
	send_cookie_ack(p, false);
	return p;
}

/* 5.2.4 (D): the COOKIE ACK was lost, or ours and the peer's INIT crossed. */
static struct sctp_path *repeat_cookie_ack(struct sctp_path *p, const struct sctp_flow *from)
{
	struct sctp_assoc *a = p->assoc;

	sctp_learn(p, from);
	if (a->state == SCTP_COOKIE_ECHOED) {
		if (!check_indication(a))
			return NULL;
		sctp_assoc_step(a, SCTP_EV_COOKIE_ECHO);
	}
	send_cookie_ack(p, false);
	return p;
}

static void refuse_stale(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *got,
			 const struct sctp_cookie *k, uint64_t late_us)
{
	const struct sctp_head head = {got->dst, got->src, k->peer_tag};
	struct sctp_writer w = sctp_reply_to_unknown(s, from, &head);
	uint32_t at = sctp_begin_chunk(&w, SCTP_ERROR, 0);
	uint8_t value[4];

	be_put32(value, late_us < UINT32_MAX ? (uint32_t)late_us : UINT32_MAX);
	sctp_put_cause(&w, SCTP_CAUSE_STALE_COOKIE, value, sizeof(value));
	sctp_end_chunk(&w, at);
	sctp_reply_end(s, &w);
}

static bool cookie_expired(struct sctp *s, const struct sctp_flow *from,
			   const struct sctp_head *head, const struct sctp_cookie *k)
{
	uint64_t age = s->now - k->created_us;

	if (s->now < k->created_us || age <= s->cfg.cookie_us)
		return false;
	refuse_stale(s, from, head, k, age - s->cfg.cookie_us);
	return true;
}

struct sctp_path *sctp_got_cookie_echo(struct sctp *s, const struct sctp_flow *from,
				       const struct sctp_head *head, const struct sctp_chunk *c,
				       struct sctp_path *p)
{
	struct sctp_cookie k;
	struct sctp_assoc *a;
	bool own, peer;

	if (!sctp_cookie_open(&s->keys, c->p + SCTP_CHUNK_HEAD, c->len - SCTP_CHUNK_HEAD, &k) ||
	    k.own_port != head->dst || k.peer_port != head->src || k.own_tag != head->tag ||
	    k.from.covered != from->covered) {
		s->st.bad_packets++;
		return NULL;
	}
	/* The peer may send it from another of its addresses. */
	if (!p)
		p = sctp_lookup(s, &k.from, head->dst, head->src);
	if (!p)
		return cookie_expired(s, from, head, &k) ? NULL
							 : begin_association(s, from, head, &k);
	a = p->assoc;
	own = a->id.own_tag == k.own_tag;
	peer = a->id.peer_tag == k.peer_tag;
	if (own && peer)
		return repeat_cookie_ack(p, from);
	if (cookie_expired(s, from, head, &k))
		return NULL;
	if (own)
		return collide_with_init(p, from, &k);
	if (!peer && k.tie_own == a->id.tie_own && k.tie_peer == a->id.tie_peer)
		return restart_association(p, from, head, &k);
	s->st.bad_packets++; /* (C): a cookie that arrived late */
	return NULL;
}
