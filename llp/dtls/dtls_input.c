/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams that arrive: hellos, handshakes, records. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "llp/dtls/dtls_core.h"
#include "util/be.h"

/* ---- hellos ---- */

static void ask_for_cookie(struct dtls *d, const struct dtls_flow *flow, const struct dtls_hello *h)
{
	struct dtls_reply *r = dtls_reply_new(d, flow);

	if (!r)
		return;
	dtls_cookies_ask(&d->cookies, flow, h, d->now_us, r->p);
	r->len = DTLS_VERIFY_REQUEST;
	d->stats.asked++;
}

/* Both ends may begin at once: the larger random of a client wins, at both of them. */
static bool hello_is_needed(const struct dtls_pair *p, const struct dtls_hello *h)
{
	const struct dtls_link *l = p->next;

	if (p->now && p->now->server && memcmp(p->now->random, h->random, DTLS_RANDOM) == 0)
		return false; /* it is late */
	if (!l || !l->has_random)
		return true;
	if (l->server)
		return memcmp(l->random, h->random, DTLS_RANDOM) != 0;
	return l->state != DTLS_LINK_HANDSHAKE || memcmp(l->random, h->random, DTLS_RANDOM) < 0;
}

/* The sender of this hello receives at its address. p: its link, or NULL. */
static void got_good_hello(struct dtls *d, struct dtls_pair *p, const struct dtls_flow *flow,
			   const struct dtls_hello *h, const struct span *datagram)
{
	if (!p)
		p = dtls_pair_add(d, flow, true);
	if (p && (!hello_is_needed(p, h) || dtls_pair_begin(d, p, h, datagram) == 0))
		return;
	d->stats.refused++;
	if (p && !p->now && !p->next && !p->down)
		dtls_table_remove(&d->table, p);
}

/* Without room for its handshake it costs no answer. */
static void got_hello(struct dtls *d, const struct dtls_flow *flow, const struct dtls_hello *h,
		      const struct span *datagram)
{
	struct dtls_pair *p = dtls_table_find(&d->table, flow);

	d->unwanted = true;
	if (!dtls_pair_admits(d, p, flow))
		d->stats.refused++;
	else if (dtls_cookies_accept(&d->cookies, flow, h, d->now_us))
		got_good_hello(d, p, flow, h, datagram);
	else
		ask_for_cookie(d, flow, h);
}

/* ---- records ---- */

/* An alert in clear text, which anybody can have made: one that OpenSSL believes ends the
 * handshake. 0: there is none. */
static unsigned clear_alert(const struct span *datagram)
{
	struct dtls_head h;

	for (size_t at = 0; dtls_head_get(datagram->p + at, datagram->len - at, &h);
	     at += DTLS_HEAD + h.len)
		if (h.epoch == 0 && h.type == DTLS_ALERT)
			return h.len == 2 ? datagram->p[at + DTLS_HEAD + 1] : UINT8_MAX;
	return 0;
}

/* True: it is a datagram of a handshake that goes on, and OpenSSL reads all of it. */
static bool got_handshake(struct dtls *d, struct dtls_pair *p, const struct span *datagram)
{
	unsigned alert;

	if (!p || !dtls_link_is_in_handshake(p->next))
		return false;
	alert = clear_alert(datagram);
	if (alert) {
		p->next->alert = alert;
		return true;
	}
	dtls_link_input(p->next, datagram->p, datagram->len, d->now_us);
	dtls_pair_settle(d, p);
	return true;
}

/* False: no handshake reads this record. Others of the datagram may be sealed: a peer that lacks
 * the last flight sends all of its own again. */
static bool got_clear(struct dtls *d, const struct dtls_flow *flow, const struct span *datagram)
{
	struct dtls_hello h;

	if (dtls_lost_hint(d, flow, datagram))
		return true;
	if (dtls_hello_get(datagram->p, datagram->len, &h)) {
		got_hello(d, flow, &h, datagram);
		return true;
	}
	if (got_handshake(d, dtls_table_find(&d->table, flow), datagram))
		return true;
	d->unwanted = true;
	return false;
}

/* The peer may seal with older keys. Two ends that cannot open each other's proofs must not answer
 * each of them. */
static void prove_keys(struct dtls *d, struct dtls_pair *p)
{
	const struct dtls_link *l = p->now;

	if (!l || l->server || l->proven || d->now_us < p->proof_us)
		return;
	p->proof_us = d->now_us + d->cfg.resend_us;
	dtls_reply_proof(d, &p->flow, p->now);
}

/* Which connection of a pair opens the record; NULL: none. */
static struct dtls_link *open_record(struct dtls *d, struct dtls_pair *p, const struct dtls_head *h,
				     uint8_t *record, struct span *ret)
{
	struct dtls_link *const link[] = {p->next, p->now, p->old};
	bool replayed = false;

	for (unsigned i = 0; i < 3; i++) {
		enum dtls_opened r;

		if (!link[i] || link[i]->state != DTLS_LINK_UP)
			continue;
		r = dtls_rx_open(&link[i]->rx, h, record, &ret->p, &ret->len);
		if (r == DTLS_OPENED)
			return link[i];
		replayed |= r == DTLS_REPLAYED;
	}
	if (replayed)
		d->stats.replayed++;
	else
		d->stats.forged++;
	if (p->now && p->now->rx.forged >= DTLS_MAX_FORGED)
		dtls_pair_note(d, p); /* the link has to end */
	prove_keys(d, p);
	return NULL;
}

static void got_alert(struct dtls *d, struct dtls_pair *p, struct dtls_link *l,
		      const struct span *alert)
{
	char reason[DTLS_REASON];

	if (alert->len != 2 || (alert->p[0] != 2 && alert->p[1] != DTLS_CLOSE_NOTIFY))
		return;
	if (alert->p[1] == DTLS_CLOSE_NOTIFY)
		snprintf(reason, sizeof(reason), "the peer closed the connection");
	else
		snprintf(reason, sizeof(reason), "the peer refused the connection: alert %u%s",
			 alert->p[1],
			 alert->p[1] == DTLS_ACCESS_DENIED
				 ? ", access denied: its journal names the rule"
				 : "");
	if (alert->p[1] == DTLS_CLOSE_NOTIFY)
		dtls_pair_close(d, p, l, reason);
	else if (l == p->now && p->old)
		dtls_pair_return(d, p, reason);
	else
		dtls_pair_lose(d, p, l, reason);
}

/* The record was authentic. True: it is a packet. */
static bool got_record(struct dtls *d, struct dtls_pair *p, struct dtls_link *l,
		       enum dtls_type type, const struct span *payload)
{
	p->heard_us = d->now_us; /* the timer may pass too early, and is set again then */
	if (l == p->now && l->proven && type == DTLS_DATA)
		return payload->len > 0;
	dtls_link_proven(l, type == DTLS_HANDSHAKE);
	if (type == DTLS_HANDSHAKE && !l->server)
		dtls_reply_proof(d, &p->flow, l); /* it does not know yet that we have them */
	if (l == p->old)
		p->old_until_us = d->now_us + d->cfg.linger_us;
	if (type == DTLS_ALERT) {
		got_alert(d, p, l, payload);
		return false;
	}
	if (l == p->next && type == DTLS_DATA)
		dtls_pair_promote(d, p);
	dtls_pair_settle(d, p);
	return type == DTLS_DATA && payload->len > 0;
}

/* A peer that refuses us says so right behind its last flight, which the thread may still read. */
static void keep_alert(struct dtls_pair *p, const struct dtls_head *h, const uint8_t *record)
{
	size_t len = DTLS_HEAD + h->len;

	if (h->type != DTLS_ALERT || len > sizeof(p->early) || !dtls_link_is_in_handshake(p->next))
		return;
	memmove(p->early, record, len); /* perhaps it is the one that is kept */
	p->early_len = len;
}

static bool got_sealed(struct dtls *d, const struct dtls_flow *flow, const struct dtls_head *h,
		       uint8_t *record, struct span *ret)
{
	struct dtls_pair *p = dtls_table_find(&d->table, flow);
	struct dtls_link *l;

	if (!p) {
		dtls_lost_answer(d, flow, h);
		return false;
	}
	l = open_record(d, p, h, record, ret);
	if (!l)
		keep_alert(p, h, record);
	return l && got_record(d, p, l, h->type, ret);
}

/* True: the rest of the datagram was read, or has no reader. Unknown peers send no more than the
 * end of a handshake, behind a ChangeCipherSpec. */
static bool is_done(struct dtls *d, const struct dtls_flow *flow, const struct dtls_head *h,
		    const struct span *at)
{
	if (h->epoch > 0)
		return h->type == DTLS_HANDSHAKE &&
		       got_handshake(d, dtls_table_find(&d->table, flow), at);
	return got_clear(d, flow, at) ||
	       (h->type != DTLS_CHANGE_CIPHER_SPEC && !dtls_table_find(&d->table, flow));
}

static bool read_records(struct dtls *d, const struct dtls_flow *flow, struct span *at,
			 struct span *ret)
{
	struct dtls_head h;

	do {
		uint8_t *record = at->p;

		if (!dtls_head_get(at->p, at->len, &h)) {
			d->stats.malformed++;
			d->unwanted = true;
			at->len = 0;
			return false;
		}
		if (is_done(d, flow, &h, at)) {
			at->len = 0;
			return false;
		}
		at->p += DTLS_HEAD + h.len;
		at->len -= DTLS_HEAD + h.len;
		if (h.epoch > 0 && got_sealed(d, flow, &h, record, ret))
			return true;
	} while (at->len > 0);
	return false;
}

/* ---- floods ---- */

enum { EPOCH = 3, FILTERED = EPOCH + 2 }; /* a filter keeps out what is shorter */

/* The same bytes as llp/user/user_filter.c, whatever else is wrong. */
static enum dtls_beginning beginning_of(const struct span *datagram)
{
	enum { CLIENT_HELLO = 1 };
	const uint8_t *p = datagram->p;

	if (datagram->len < FILTERED || be_get16(p + EPOCH) != 0)
		return DTLS_BEGINS_SEALED;
	if (datagram->len > DTLS_HEAD && p[0] == DTLS_HANDSHAKE && p[DTLS_HEAD] == CLIENT_HELLO)
		return DTLS_BEGINS_HELLO;
	return DTLS_BEGINS_CLEAR;
}

/* No filter keeps out records that seem to be sealed by the peer of a link. */
static void count_unwanted(struct dtls *d, const struct dtls_flow *flow,
			   const struct span *datagram)
{
	enum dtls_beginning b = beginning_of(datagram);
	const struct dtls_pair *p =
		b == DTLS_BEGINS_SEALED ? dtls_table_find(&d->table, flow) : NULL;

	if (!p || !p->now || datagram->len < FILTERED)
		d->stats.unwanted[b]++;
}

bool dtls_input(struct dtls *d, const struct dtls_flow *flow, struct span *at, uint64_t now_us,
		struct span *ret)
{
	const struct span all = *at;
	bool got;

	d->now_us = now_us;
	d->unwanted = false;
	got = (at->len > 0 || !d->reading) && read_records(d, flow, at, ret);
	d->reading = got;
	if (d->unwanted)
		count_unwanted(d, flow, &all);
	return got;
}

void dtls_input_early(struct dtls *d, struct dtls_pair *p)
{
	struct span at = {p->early, p->early_len}, none;
	struct dtls_flow flow = p->flow;

	if (at.len == 0)
		return;
	p->early_len = 0;
	(void)dtls_input(d, &flow, &at, d->now_us, &none);
}
