/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/stack/init.h"

#include "sctp/assoc/assoc_end.h"
#include "sctp/assoc/assoc_new.h"
#include "sctp/assoc/handshake.h"
#include "sctp/assoc/handshake_send.h"
#include "sctp/assoc/moved.h"
#include "sctp/assoc/path_state.h"
#include "sctp/assoc/paths.h"
#include "sctp/assoc/shutdown.h"
#include "sctp/assoc/states.h"
#include "sctp/base/admission.h"
#include "sctp/base/lookup.h"
#include "sctp/base/path_select.h"
#include "sctp/base/reply.h"
#include "util/be.h"
#include "util/minmax.h"

/* ---- reading ---- */

/* Reads INIT or INIT ACK; leaves out addresses that lead to other hosts than the sender, and all
 * that are listed in a covered one: their hosts have not shown who they are (RFC 8261). */
static enum sctp_init_result read_init(const struct sctp_chunk *c, const struct sctp_flow *from,
				       struct sctp_init *ret)
{
	enum sctp_init_result r = sctp_init_get(c, ret);
	unsigned n = 0;

	for (unsigned i = 0; i < ret->naddrs; i++) {
		struct sctp_addr *a = &ret->addr[i];

		if (from->covered || !sctp_addr_reachable(a, &from->peer))
			continue;
		if (sctp_addr_link_local(a))
			a->scope = from->peer.scope;
		ret->addr[n++] = *a;
	}
	ret->naddrs = n;
	return r;
}

/* The association with one of the listed addresses (5.1.2). */
static struct sctp_path *find_listed(struct sctp *s, const struct sctp_flow *from,
				     const struct sctp_head *head, const struct sctp_init *i)
{
	struct sctp_flow flow = *from;
	struct sctp_path *p = NULL;

	for (unsigned k = 0; !p && k < i->naddrs; k++) {
		flow.peer = i->addr[k];
		p = sctp_lookup(s, &flow, head->dst, head->src);
	}
	return p;
}

/* ---- INIT arrives ---- */

/* Whether INIT can be used at all; answers it if not. */
static bool acceptable(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *head,
		       enum sctp_init_result r, const struct sctp_init *i)
{
	switch (r) {
	case SCTP_INIT_OK:
	case SCTP_INIT_NO_COOKIE:
		return true;
	case SCTP_INIT_BAD_STREAMS:
	case SCTP_INIT_BAD_RWND:
		sctp_reply_abort(s, from, head, i->tag, false, SCTP_CAUSE_INVALID, NULL, 0);
		break;
	case SCTP_INIT_HOST_NAME:
		sctp_reply_abort(s, from, head, i->tag, false, SCTP_CAUSE_ADDRESS, i->unknown[0].p,
				 i->unknown[0].len);
		break;
	case SCTP_INIT_MALFORMED:
	case SCTP_INIT_BAD_TAG:
		break;
	}
	s->st.bad_packets++;
	return false;
}

static void put_new_addr(struct sctp_writer *w, const struct sctp_addr *addr)
{
	bool v4 = sctp_addr_is_v4(addr);
	uint32_t at = sctp_begin_tlv(w, v4 ? SCTP_PARAM_IPV4 : SCTP_PARAM_IPV6);

	sctp_put_bytes(w, addr->ip + (v4 ? 12 : 0), v4 ? 4 : 16);
	sctp_end_chunk(w, at);
}

/* An INIT for an association that exists must not add addresses to it (5.2.2). */
static bool adds_addrs(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *head,
		       const struct sctp_init *i, struct sctp_assoc *a)
{
	uint8_t value[20 * SCTP_MAX_PATHS];
	struct sctp_writer w = {.p = value, .size = sizeof(value)};
	bool source = !sctp_assoc_find_path(a, &from->peer);

	if (source)
		put_new_addr(&w, &from->peer);
	for (unsigned k = 0; k < i->naddrs; k++)
		if (!sctp_assoc_find_path(a, &i->addr[k]) &&
		    !(source && sctp_addr_equal(&i->addr[k], &from->peer)))
			put_new_addr(&w, &i->addr[k]);
	if (w.len == 0)
		return false;
	sctp_reply_abort(s, from, head, i->tag, false, SCTP_CAUSE_NEW_ADDRESS, value, w.len);
	return true;
}

/* Nor may it arrive from another UDP port than the association's: else programs of other users of
 * the peer's host, and other hosts behind its address translator, could end the association. A peer
 * that restarts with a new port is served when the association has ended (moved.c). */
static bool moves_port(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *head,
		       const struct sctp_init *i, struct sctp_assoc *a)
{
	uint16_t port = sctp_assoc_find_path(a, &from->peer)->flow.udp_port;
	uint8_t value[4];

	if (port == from->udp_port || i->tag == a->id.peer_tag)
		return false; /* the peer's tag: a late INIT of this association, no restart */
	be_put16(value, port);
	be_put16(value + 2, from->udp_port);
	sctp_reply_abort(s, from, head, i->tag, false, SCTP_CAUSE_NEW_UDP_PORT, value,
			 sizeof(value));
	sctp_moved_ask(a);
	return true;
}

static void add_cookie_addr(struct sctp_cookie *k, const struct sctp_addr *addr)
{
	for (unsigned i = 0; i < k->naddrs; i++)
		if (sctp_addr_equal(&k->addr[i], addr))
			return;
	if (k->naddrs < SCTP_MAX_PATHS)
		k->addr[k->naddrs++] = *addr;
}

/* Tags and TSN of the answer: in a collision those of our own INIT (5.2.1), else new ones with
 * tie-tags (5.2.2). */
static void choose_tags(struct sctp *s, struct sctp_cookie *k, const struct sctp_assoc *a)
{
	k->own_tag = sctp_new_tag(s);
	k->own_tsn = sctp_random32(s);
	if (!a)
		return;
	if (a->state == SCTP_COOKIE_WAIT || a->state == SCTP_COOKIE_ECHOED) {
		k->own_tag = a->id.own_tag;
		k->own_tsn = a->tx.initial_tsn;
	}
	if (a->state != SCTP_COOKIE_WAIT) {
		k->tie_own = a->id.tie_own;
		k->tie_peer = a->id.tie_peer;
	}
}

static struct sctp_cookie make_cookie(struct sctp *s, const struct sctp_flow *from,
				      const struct sctp_head *head, const struct sctp_init *i,
				      const struct sctp_assoc *a, bool all_local)
{
	struct sctp_cookie k = {
		.created_us = s->now,
		.peer_tag = i->tag,
		.peer_tsn = i->tsn,
		.peer_rwnd = i->a_rwnd,
		.own_port = head->dst,
		.peer_port = head->src,
		.out_streams = min_u16(s->cfg.streams, i->in_streams),
		.in_streams = min_u16(s->cfg.streams, i->out_streams),
		.from = *from,
		.all_local = all_local && !from->covered,
		.has_adaptation = i->has_adaptation,
		.takes_batches = i->takes_batches,
		.zero_checksum = sctp_init_takes_zero_checksum(i, from->covered),
		.adaptation = i->adaptation,
	};

	choose_tags(s, &k, a);
	add_cookie_addr(&k, &from->peer);
	for (unsigned n = 0; n < i->naddrs; n++)
		add_cookie_addr(&k, &i->addr[n]);
	return k;
}

static void send_init_ack(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *got,
			  const struct sctp_init *peer, const struct sctp_cookie *k,
			  const uint8_t *local, unsigned nlocal)
{
	const struct sctp_head head = {got->dst, got->src, peer->tag};
	struct sctp_init i = sctp_own_init(s, from->covered, k->own_tag, k->own_tsn);
	struct sctp_writer w = sctp_reply_to_unknown(s, from, &head);
	uint8_t cookie[SCTP_COOKIE_MAX];

	i.out_streams = k->out_streams;
	i.cookie = cookie;
	i.cookie_len = sctp_cookie_seal(&s->keys, &s->cfg, k, s->now, cookie);
	sctp_list_addrs(s, &i, local, nlocal, from);
	sctp_init_put(&w, SCTP_INIT_ACK, &i, peer->unknown, peer->nunknown);
	sctp_reply_end(s, &w);
}

/* to: where INIT ACK goes, usually the source of INIT. */
static void answer_init(struct sctp *s, const struct sctp_flow *to, const struct sctp_flow *from,
			const struct sctp_head *head, const struct sctp_init *i,
			const struct sctp_assoc *a, const struct sctp_listener *l)
{
	struct sctp_cookie k = make_cookie(s, to, head, i, a, a ? a->local.all : l->all_addrs);

	add_cookie_addr(&k, &from->peer);
	if (k.all_local)
		send_init_ack(s, to, head, i, &k, a ? a->local.addr : l->local,
			      a ? a->local.n : l->n);
	else
		send_init_ack(s, to, head, i, &k, NULL, 0);
}

/* Answers an INIT that cannot be accepted with ABORT. */
static bool refuses(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *head,
		    const struct sctp_init *i, const struct sctp_listener *l)
{
	bool full = !sctp_may_accept(s, &from->peer);

	if (l && !full)
		return false;
	s->st.refused_handshakes += full;
	sctp_reply_abort(s, from, head, i->tag, false, l ? SCTP_CAUSE_RESOURCE : SCTP_CAUSE_NONE,
			 NULL, 0);
	return true;
}

void sctp_got_init(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *head,
		   const struct sctp_chunk *c, struct sctp_path *p)
{
	struct sctp_listener *l = sctp_lookup_listener(s, head->dst, from->local);
	struct sctp_assoc *a;
	struct sctp_init i;

	if (!acceptable(s, from, head, read_init(c, from, &i), &i))
		return;
	if (!p)
		p = find_listed(s, from, head, &i);
	a = p ? p->assoc : NULL;
	if (!a && refuses(s, from, head, &i, l))
		return;
	if (a && a->state == SCTP_SHUTDOWN_ACK_SENT) {
		sctp_send_shutdown_ack(a);
		return;
	}
	if (a && a->state != SCTP_COOKIE_WAIT && adds_addrs(s, from, head, &i, a))
		return;
	if (a && a->state >= SCTP_ESTABLISHED && moves_port(s, from, head, &i, a))
		return;
	/* 5.2.1: in a collision only an address that the user named gets INIT ACK. */
	answer_init(s, a && !sctp_assoc_find_path(a, &from->peer) ? &p->flow : from, from, head, &i,
		    a, l);
}

/* ---- INIT ACK arrives ---- */

/* 3.3.3 and 5.1: which defects of INIT ACK end the association. */
static bool usable_init_ack(struct sctp_path *p, const struct sctp_flow *from,
			    const struct sctp_head *head, enum sctp_init_result r,
			    const struct sctp_init *i)
{
	struct sctp_assoc *a = p->assoc;
	uint8_t missing[6];

	switch (r) {
	case SCTP_INIT_OK:
		return true;
	case SCTP_INIT_MALFORMED:
		a->s->st.bad_packets++;
		return false;
	case SCTP_INIT_BAD_RWND:
		sctp_reply_abort(a->s, from, head, i->tag, false, SCTP_CAUSE_INVALID, NULL, 0);
		return false;
	case SCTP_INIT_BAD_TAG:
		sctp_reply_abort(a->s, from, head, head->tag, true, SCTP_CAUSE_NONE, NULL, 0);
		break;
	case SCTP_INIT_BAD_STREAMS:
		sctp_reply_abort(a->s, from, head, i->tag, false, SCTP_CAUSE_INVALID, NULL, 0);
		break;
	case SCTP_INIT_NO_COOKIE:
		be_put32(missing, 1);
		be_put16(missing + 4, SCTP_PARAM_COOKIE);
		sctp_reply_abort(a->s, from, head, i->tag, false, SCTP_CAUSE_MISSING, missing,
				 sizeof(missing));
		break;
	case SCTP_INIT_HOST_NAME:
		sctp_reply_abort(a->s, from, head, i->tag, false, SCTP_CAUSE_ADDRESS,
				 i->unknown[0].p, i->unknown[0].len);
		break;
	}
	sctp_assoc_end(a, SCTP_END_PROTOCOL, 0, "the peer's INIT ACK is invalid", 30);
	return false;
}

/* The addresses of the peer are the source of INIT ACK and those that it lists. */
static bool set_peer_paths(struct sctp_assoc *a, const struct sctp_flow *from,
			   const struct sctp_init *i)
{
	struct sctp_addr addr[SCTP_MAX_PATHS];
	struct sctp_flow flow = *from;
	unsigned n = 0;

	addr[n++] = from->peer;
	for (unsigned k = 0; k < i->naddrs; k++)
		addr[n++] = i->addr[k];
	if (!sctp_assoc_reserve(a, a->paths.n + n))
		return false;
	if (!sctp_assoc_find_path(a, &from->peer) && !sctp_assoc_add_path(a, from, 0))
		return false;
	sctp_assoc_keep_paths(a, addr, n);
	for (unsigned k = 1; k < n; k++) {
		flow.peer = addr[k];
		if (!sctp_assoc_find_path(a, &flow.peer))
			sctp_assoc_add_path(a, &flow, 0);
	}
	a->paths.primary = sctp_assoc_find_path(a, &from->peer)->index;
	sctp_path_set_state(sctp_primary(a), SCTP_PATH_ACTIVE);
	return true;
}

struct sctp_path *sctp_init_ack_path(struct sctp *s, const struct sctp_flow *from,
				     const struct sctp_head *head, const struct sctp_chunk *c)
{
	struct sctp_init i;

	(void)read_init(c, from, &i);
	return find_listed(s, from, head, &i);
}

void sctp_got_init_ack(struct sctp_path *p, const struct sctp_flow *from,
		       const struct sctp_head *head, const struct sctp_chunk *c)
{
	struct sctp_assoc *a = p->assoc;
	struct sctp_init i;

	if (a->state != SCTP_COOKIE_WAIT ||
	    !usable_init_ack(p, from, head, read_init(c, from, &i), &i))
		return;
	a->id.peer_tag = i.tag;
	if (!sctp_handshake_keep_cookie(a, &i) || !set_peer_paths(a, from, &i)) {
		sctp_assoc_break(a, SCTP_END_MEMORY, SCTP_CAUSE_RESOURCE, NULL, 0, "");
		return;
	}
	a->agreed.has_adaptation = i.has_adaptation;
	a->agreed.adaptation = i.adaptation;
	a->agreed.takes_batches = i.takes_batches;
	a->agreed.zero_checksum = sctp_init_takes_zero_checksum(&i, from->covered);
	a->agreed.out_streams = min_u16(a->s->cfg.streams, i.in_streams);
	a->agreed.in_streams = min_u16(a->s->cfg.streams, i.out_streams);
	sctp_handshake_keep_report(a, &i);
	sctp_assoc_start(a, i.tsn, i.a_rwnd);
	sctp_assoc_step(a, SCTP_EV_INIT_ACK);
}
