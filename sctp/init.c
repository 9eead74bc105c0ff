/* SPDX-License-Identifier: BSD-2-Clause */
/* INIT and INIT ACK: RFC 9260 5.1, 5.2.1, 5.2.2, 5.2.3. The cookie: cookie_echo.c. */
#include "sctp/assoc.h"
#include "util/be.h"

/* ---- sending ---- */

/* Our addresses are listed if there are several; else the source of the packet says it. */
static void list_addrs(const struct sctp *s, struct sctp_init *i, const uint8_t *local, unsigned n)
{
	i->naddrs = 0;
	for (unsigned k = 0; n > 1 && k < n; k++)
		i->addr[i->naddrs++] = s->cfg.local[local[k]];
}

static struct sctp_init own_init(const struct sctp *s, uint32_t tag, uint32_t tsn)
{
	return (struct sctp_init){
		.tag = tag,
		.a_rwnd = s->cfg.recv_buffer,
		.tsn = tsn,
		.out_streams = s->cfg.streams,
		.in_streams = s->cfg.streams,
		.has_adaptation = true,
		.adaptation = s->cfg.adaptation,
		.takes_batches = true,
	};
}

void sctp_send_init(struct sctp_assoc *a)
{
	struct sctp_init i = own_init(a->s, a->own_tag, a->own_initial_tsn);
	/* Other addresses of the peer are tried as well. */
	struct sctp_path *p = &a->path[(a->primary + a->tries) % a->npaths];
	const struct sctp_head head = {a->own_port, a->peer_port, 0};
	struct sctp_writer w = sctp_reply_begin(a->s, &p->flow, &head);

	list_addrs(a->s, &i, a->local, a->nlocal);
	sctp_init_put(&w, SCTP_INIT, &i, NULL, 0);
	sctp_reply_end(a->s, &w);
}

/* ---- INIT arrives ---- */

/* Whether INIT can be used at all; answers it if not. */
static bool acceptable(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *head,
		       const struct sctp_chunk *c, enum sctp_init_result r,
		       const struct sctp_init *i)
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
		sctp_reply_abort(s, from, head, i->tag, false, SCTP_CAUSE_ADDRESS,
				 i->nunknown ? i->unknown[0].p : c->p,
				 i->nunknown ? i->unknown[0].len : 0);
		break;
	case SCTP_INIT_MALFORMED:
	case SCTP_INIT_BAD_TAG:
		break;
	}
	s->st.bad_packets++;
	return false;
}

/* An INIT for an association that exists must not add addresses to it (5.2.2). */
static bool adds_addrs(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *head,
		       const struct sctp_init *i, struct sctp_assoc *a)
{
	uint8_t value[20 * SCTP_MAX_PATHS];
	struct sctp_writer w = {.p = value, .size = sizeof(value)};

	for (unsigned k = 0; k < i->naddrs; k++) {
		uint32_t at;

		if (sctp_assoc_find_path(a, &i->addr[k]))
			continue;
		if (sctp_addr_is_v4(&i->addr[k])) {
			at = sctp_begin_tlv(&w, SCTP_PARAM_IPV4);
			sctp_put_bytes(&w, i->addr[k].ip + 12, 4);
		} else {
			at = sctp_begin_tlv(&w, SCTP_PARAM_IPV6);
			sctp_put_bytes(&w, i->addr[k].ip, 16);
		}
		sctp_end_chunk(&w, at);
	}
	if (w.len == 0)
		return false;
	sctp_reply_abort(s, from, head, i->tag, false, SCTP_CAUSE_NEW_ADDRESS, value, w.len);
	return true;
}

static void add_addr(struct sctp_cookie *k, const struct sctp_addr *addr)
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
	k->own_tag = sctp_random32(s);
	if (k->own_tag == 0)
		k->own_tag = 1;
	k->own_tsn = sctp_random32(s);
	if (!a)
		return;
	if (a->state == SCTP_COOKIE_WAIT || a->state == SCTP_COOKIE_ECHOED) {
		k->own_tag = a->own_tag;
		k->own_tsn = a->own_initial_tsn;
	}
	if (a->state != SCTP_COOKIE_WAIT) {
		k->tie_own = a->tie_own;
		k->tie_peer = a->tie_peer;
	}
}

static uint16_t least16(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
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
		.out_streams = least16(s->cfg.streams, i->in_streams),
		.in_streams = least16(s->cfg.streams, i->out_streams),
		.from = *from,
		.all_local = all_local,
		.has_adaptation = i->has_adaptation,
		.takes_batches = i->takes_batches,
		.adaptation = i->adaptation,
	};

	choose_tags(s, &k, a);
	add_addr(&k, &from->peer);
	for (unsigned n = 0; n < i->naddrs; n++)
		add_addr(&k, &i->addr[n]);
	return k;
}

static void send_init_ack(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *got,
			  const struct sctp_init *peer, const struct sctp_cookie *k,
			  const uint8_t *local, unsigned nlocal)
{
	const struct sctp_head head = {got->dst, got->src, peer->tag};
	struct sctp_init i = own_init(s, k->own_tag, k->own_tsn);
	struct sctp_writer w = sctp_reply_begin(s, from, &head);
	uint8_t cookie[SCTP_COOKIE_MAX];

	i.out_streams = k->out_streams;
	i.cookie = cookie;
	i.cookie_len = sctp_cookie_seal(&s->keys, &s->cfg, k, s->now, cookie);
	list_addrs(s, &i, local, nlocal);
	sctp_init_put(&w, SCTP_INIT_ACK, &i, peer->unknown, peer->nunknown);
	sctp_reply_end(s, &w);
}

void sctp_got_init(struct sctp *s, const struct sctp_flow *from, const struct sctp_head *head,
		   const struct sctp_chunk *c, struct sctp_path *p)
{
	struct sctp_listener *l = sctp_lookup_listener(s, head->dst, from->local);
	struct sctp_assoc *a = p ? p->assoc : NULL;
	struct sctp_init i;
	struct sctp_cookie k;

	if (!acceptable(s, from, head, c, sctp_init_get(c, &i), &i))
		return;
	if (!a && !l) {
		sctp_reply_abort(s, from, head, i.tag, false, SCTP_CAUSE_NONE, NULL, 0);
		return;
	}
	if (a && a->state == SCTP_SHUTDOWN_ACK_SENT) {
		sctp_send_shutdown_ack(a);
		return;
	}
	if (a && a->state != SCTP_COOKIE_WAIT && adds_addrs(s, from, head, &i, a))
		return;
	k = make_cookie(s, from, head, &i, a, a ? a->all_local : l->all_addrs);
	if (k.all_local)
		send_init_ack(s, from, head, &i, &k, a ? a->local : l->local, a ? a->nlocal : l->n);
	else
		send_init_ack(s, from, head, &i, &k, NULL, 0);
}

/* ---- INIT ACK arrives ---- */

/* 3.3.3 and 5.1: which defects of INIT ACK end the association. */
static bool usable(struct sctp_path *p, const struct sctp_head *head, enum sctp_init_result r,
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
		sctp_reply_abort(a->s, &p->flow, head, i->tag, false, SCTP_CAUSE_INVALID, NULL, 0);
		return false;
	case SCTP_INIT_BAD_TAG:
		sctp_reply_abort(a->s, &p->flow, head, head->tag, true, SCTP_CAUSE_NONE, NULL, 0);
		break;
	case SCTP_INIT_BAD_STREAMS:
		sctp_reply_abort(a->s, &p->flow, head, i->tag, false, SCTP_CAUSE_INVALID, NULL, 0);
		break;
	case SCTP_INIT_NO_COOKIE:
		be_put32(missing, 1);
		be_put16(missing + 4, SCTP_PARAM_COOKIE);
		sctp_reply_abort(a->s, &p->flow, head, i->tag, false, SCTP_CAUSE_MISSING, missing,
				 sizeof(missing));
		break;
	case SCTP_INIT_HOST_NAME:
		sctp_reply_abort(a->s, &p->flow, head, i->tag, false, SCTP_CAUSE_ADDRESS,
				 i->nunknown ? i->unknown[0].p : NULL,
				 i->nunknown ? i->unknown[0].len : 0);
		break;
	}
	sctp_assoc_end(a, SCTP_END_PROTOCOL, 0, "the peer's INIT ACK is invalid", 30);
	return false;
}

static bool keep_cookie(struct sctp_assoc *a, const struct sctp_init *i)
{
	a->cookie = sctp_alloc(a->s, i->cookie_len);
	if (!a->cookie)
		return false;
	memcpy(a->cookie, i->cookie, i->cookie_len);
	a->cookie_len = i->cookie_len;
	return true;
}

/* Unrecognized parameters go back in an ERROR that follows COOKIE ECHO (3.2.2). Without memory they
 * are not reported. */
static void keep_report(struct sctp_assoc *a, const struct sctp_init *i)
{
	struct sctp_writer w = {.size = 8};
	uint32_t chunk, cause;

	for (unsigned k = 0; k < i->nunknown; k++)
		w.size += (i->unknown[k].len + 3) & ~3u;
	if (i->nunknown == 0 || w.size > SCTP_PMTU_BASE / 2 || !(w.p = sctp_alloc(a->s, w.size)))
		return;
	chunk = sctp_begin_chunk(&w, SCTP_ERROR, 0);
	cause = sctp_begin_tlv(&w, SCTP_CAUSE_PARAM);
	for (unsigned k = 0; k < i->nunknown; k++) {
		sctp_put_bytes(&w, i->unknown[k].p, i->unknown[k].len);
		while (w.len % 4 && !w.full)
			sctp_put8(&w, 0);
	}
	sctp_end_chunk(&w, cause);
	sctp_end_chunk(&w, chunk);
	a->report = w.p;
	a->report_len = w.size;
}

static void add_paths(struct sctp_assoc *a, const struct sctp_init *i)
{
	struct sctp_flow flow = sctp_primary(a)->flow;

	for (unsigned k = 0; k < i->naddrs; k++) {
		flow.peer = i->addr[k];
		if (!sctp_assoc_find_path(a, &flow.peer))
			sctp_assoc_add_path(a, &flow, 0);
	}
}

void sctp_got_init_ack(struct sctp_path *p, const struct sctp_head *head,
		       const struct sctp_chunk *c)
{
	struct sctp_assoc *a = p->assoc;
	unsigned from = p->index;
	struct sctp_init i;

	if (a->state != SCTP_COOKIE_WAIT || !usable(p, head, sctp_init_get(c, &i), &i))
		return;
	if (!sctp_assoc_reserve(a, a->npaths + i.naddrs) || !keep_cookie(a, &i)) {
		sctp_assoc_break(a, SCTP_END_MEMORY, SCTP_CAUSE_RESOURCE, NULL, 0, "");
		return;
	}
	a->peer_tag = i.tag;
	a->has_adaptation = i.has_adaptation;
	a->adaptation = i.adaptation;
	a->takes_batches = i.takes_batches;
	a->out_streams = least16(a->s->cfg.streams, i.in_streams);
	a->in_streams = least16(a->s->cfg.streams, i.out_streams);
	keep_report(a, &i);
	add_paths(a, &i);
	sctp_assoc_start(a, i.tsn, i.a_rwnd);
	a->primary = (uint8_t)from;
	sctp_path_set_state(&a->path[from], SCTP_PATH_ACTIVE);
	sctp_assoc_step(a, SCTP_EV_INIT_ACK);
}
