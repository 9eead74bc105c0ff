/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/dtls_net.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llp/dtls/dtls_cookie.h"
#include "tests/unit/dtls_rig.h"
#include "util/be.h"

/* ---- ends ---- */

static uint32_t draw(struct net *n)
{
	n->seed = n->seed * 1664525 + 1013904223;
	return n->seed >> 8;
}

void net_random(void *user, void *ret, size_t len)
{
	static uint32_t x = 7;

	(void)user;
	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		((uint8_t *)ret)[i] = (uint8_t)(x >> 16);
	}
}

bool net_accept_all(void *user, const struct dtls_flow *flow, const struct dtls_peer *peer,
		    bool we_began, char *ret_reason, size_t len)
{
	(void)user;
	(void)flow;
	(void)peer;
	(void)we_began;
	(void)ret_reason;
	(void)len;
	return true;
}

static bool accept_peer(void *user, const struct dtls_flow *flow, const struct dtls_peer *peer,
			bool we_began, char *ret_reason, size_t len)
{
	const struct net_end *e = user;

	(void)flow;
	(void)we_began;
	if (e->refuses)
		snprintf(ret_reason, len, "%s", e->refuses);
	else if (peer->untimely)
		snprintf(ret_reason, len, "the certificate %s", peer->untimely);
	return !e->refuses && !peer->untimely;
}

/* The one that it has. */
static const char *find_psk(void *user, const struct dtls_flow *flow)
{
	const struct net_end *e = user;

	(void)flow;
	return e->id->npsks ? e->id->psk[0].path : NULL;
}

static void open_end(struct net *n, unsigned i)
{
	struct net_end *e = &n->end[i];
	const struct dtls_config cfg = {
		.random = net_random,
		.accept = accept_peer,
		.psk = find_psk,
		.user = e,
		.jobs = n->threads ? 8 : 0,
		.max_links = 16,
		.max_handshakes = 8,
		.resend_us = 200000,
		.handshake_us = 10000000,
		.takeover_us = 600000000,
		.linger_us = 2000000,
		.idle_us = 3600000000,
	};

	must(dtls_open(&cfg, e->id, n->now_us, &e->dtls) == 0);
}

struct net *net_new(struct dtls_identity *a, struct dtls_identity *b, bool threads)
{
	struct net *n = calloc(1, sizeof(*n));

	must(n);
	n->now_us = 1000000;
	n->threads = threads;
	n->end[0].id = a;
	n->end[1].id = b;
	for (unsigned i = 0; i < 2; i++) {
		n->end[i].peer = (struct dtls_flow){.ip = {[15] = (uint8_t)(2 - i)}, .port = 5004};
		open_end(n, i);
	}
	return n;
}

void net_free(struct net *n)
{
	for (unsigned i = 0; i < 2; i++) {
		dtls_close(n->end[i].dtls);
		dtls_identity_drop(n->end[i].id);
	}
	free(n);
}

void net_restart(struct net *n, unsigned i)
{
	dtls_close(n->end[i].dtls);
	open_end(n, i);
}

/* ---- the network ---- */

static void put_datagram(struct net *n, unsigned to, const uint8_t *p, size_t len, uint64_t delay)
{
	struct net_datagram *d = &n->d[n->n];

	must(n->n < NET_DATAGRAMS && len <= NET_PACKET);
	n->n++;
	d->at_us = n->now_us + delay;
	d->to = to;
	d->len = len;
	memcpy(d->p, p, len);
	if (n->meddles)
		n->meddles(n, n->sent, d->p, len);
}

static void send_datagram(struct net *n, unsigned from, const uint8_t *p, size_t len)
{
	uint64_t delay = NET_DELAY_US;

	n->sent++;
	n->end[from].bytes_out += len;
	if (n->sent == n->lost || draw(n) % 100 < n->loses)
		return;
	if (draw(n) % 100 < n->delays)
		delay += draw(n) % (5 * NET_DELAY_US);
	put_datagram(n, !from, p, len, delay);
	if (draw(n) % 100 < n->doubles)
		put_datagram(n, !from, p, len, delay + draw(n) % NET_DELAY_US);
}

static void read_packet(struct net_end *e, const struct span *s)
{
	e->received++;
	e->last = be_get32(s->p);
	for (size_t i = 4; i < s->len; i++)
		if (s->p[i] != (uint8_t)(e->last + i)) {
			e->wrong++;
			return;
		}
}

static void take_datagram(struct net *n, unsigned k)
{
	struct net_datagram d = n->d[k];
	struct net_end *e = &n->end[d.to];
	struct span at = {d.p, d.len}, packet;

	n->d[k] = n->d[--n->n];
	e->bytes_in += d.len;
	while (dtls_input(e->dtls, &e->peer, &at, n->now_us, &packet))
		read_packet(e, &packet);
}

static void take_events(struct net_end *e)
{
	struct dtls_event ev;

	while (dtls_event(e->dtls, &ev)) {
		if (ev.up) {
			const struct dtls_peer *p = dtls_peer_of(e->dtls, &e->peer);

			e->up++;
			if (p)
				e->seen = *p;
		} else {
			e->down++;
			e->refused += ev.refused;
			e->closed += ev.closed;
			must(!ev.refused || !ev.closed);
			memcpy(e->reason, ev.reason, sizeof(e->reason));
		}
	}
}

static void drive_end(struct net *n, unsigned i)
{
	struct net_end *e = &n->end[i];
	uint8_t p[DTLS_MAX_DATAGRAM];
	struct dtls_flow to;
	size_t len;

	dtls_run(e->dtls, n->now_us);
	take_events(e);
	while (dtls_output(e->dtls, &to, p, sizeof(p), &len)) {
		must(len > 0 && len <= sizeof(p));
		send_datagram(n, i, p, len);
	}
	take_events(e);
}

/* The earliest datagram; n->n: there is none. */
static unsigned earliest(const struct net *n)
{
	unsigned k = n->n;

	for (unsigned i = 0; i < n->n; i++)
		if (k == n->n || n->d[i].at_us < n->d[k].at_us)
			k = i;
	return k;
}

void net_arrive(struct net *n)
{
	while (n->n > 0)
		take_datagram(n, earliest(n));
}

/* Goes to the next moment at which something happens, at most to `until`. */
static void step(struct net *n, uint64_t until)
{
	unsigned k = earliest(n);
	uint64_t at = k < n->n && n->d[k].at_us < until ? n->d[k].at_us : until;

	for (unsigned i = 0; i < 2; i++) {
		uint64_t t = dtls_expiry(n->end[i].dtls);

		at = t < at ? t : at;
	}
	n->now_us = at > n->now_us ? at : n->now_us;
	if (k < n->n && n->d[k].at_us <= n->now_us)
		take_datagram(n, k);
	drive_end(n, 0);
	drive_end(n, 1);
}

/* Handshakes in threads: the clock of the test waits for them. */
static void wait_for_workers(struct net *n)
{
	for (unsigned i = 0; i < 2; i++)
		if (n->threads) {
			struct pollfd p = {dtls_fd(n->end[i].dtls), POLLIN, 0};

			poll(&p, 1, 1);
		}
}

void net_run(struct net *n, uint64_t us)
{
	uint64_t until = n->now_us + us;

	drive_end(n, 0);
	drive_end(n, 1);
	while (n->now_us < until) {
		wait_for_workers(n);
		step(n, until);
	}
}

static bool both_up(const struct net *n)
{
	return dtls_is_up(n->end[0].dtls, &n->end[0].peer) &&
	       dtls_is_up(n->end[1].dtls, &n->end[1].peer);
}

bool net_until_up(struct net *n, uint64_t us)
{
	uint64_t until = n->now_us + us;

	while (!both_up(n) && n->now_us < until)
		net_run(n, 1000);
	return both_up(n);
}

void net_connect(struct net *n, unsigned from)
{
	must(dtls_connect(n->end[from].dtls, &n->end[from].peer, n->now_us) == 0);
}

bool net_send(struct net *n, unsigned from, unsigned number)
{
	struct net_end *e = &n->end[from];
	uint8_t plain[100], wire[100 + DTLS_OVERHEAD];
	struct span part = {plain, sizeof(plain)};
	size_t len;

	be_put32(plain, number);
	for (size_t i = 4; i < sizeof(plain); i++)
		plain[i] = (uint8_t)(number + i);
	len = dtls_seal(e->dtls, &e->peer, &part, 1, sizeof(plain), wire);
	if (len == 0)
		return false;
	send_datagram(n, from, wire, len);
	return true;
}

/* ---- hellos of others ---- */

static void add_to(uint8_t *p, unsigned bytes, unsigned n)
{
	unsigned value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | p[i];
	value += n;
	for (unsigned i = bytes; i-- > 0; value >>= 8)
		p[i] = (uint8_t)value;
}

/* The hello with this cookie. */
static size_t show_cookie(uint8_t *p, size_t len, const uint8_t *cookie)
{
	size_t at = NET_RANDOM_AT + DTLS_RANDOM;

	at += 1 + p[at];
	memmove(p + at + 1 + DTLS_COOKIE, p + at + 1, len - at - 1);
	p[at] = DTLS_COOKIE;
	memcpy(p + at + 1, cookie, DTLS_COOKIE);
	add_to(p + DTLS_HEAD - 2, 2, DTLS_COOKIE);
	add_to(p + DTLS_HEAD + 1, 3, DTLS_COOKIE);
	add_to(p + DTLS_HEAD + 4, 2, 1);
	add_to(p + DTLS_HEAD + 9, 3, DTLS_COOKIE);
	return len + DTLS_COOKIE;
}

void net_begin_from(struct net *n, const uint8_t *first, size_t len, const struct dtls_flow *from)
{
	static uint8_t p[NET_PACKET], ask[DTLS_MAX_DATAGRAM];
	struct dtls *d = n->end[1].dtls;
	struct span at = {p, len}, packet;
	struct dtls_flow to;
	size_t got;

	memcpy(p, first, len);
	must(!dtls_input(d, from, &at, n->now_us, &packet));
	if (!dtls_output(d, &to, ask, sizeof(ask), &got) || got != DTLS_VERIFY_REQUEST)
		return; /* there is no room for it */
	at = (struct span){p, show_cookie(p, len, ask + DTLS_VERIFY_REQUEST - DTLS_COOKIE)};
	must(!dtls_input(d, from, &at, n->now_us, &packet));
	while (dtls_output(d, &to, ask, sizeof(ask), &got))
		;
}

/* ---- packets ---- */

void net_carry(struct net *n)
{
	for (unsigned from = 0; from < 2; from++) {
		unsigned before = n->end[!from].received;

		for (unsigned i = 0; i < 10; i++)
			must(net_send(n, from, i));
		net_run(n, 100000);
		must(n->end[!from].received == before + 10);
	}
}

void net_renew(struct net *n, unsigned who)
{
	must(dtls_renew(n->end[who].dtls, &n->end[who].peer, n->now_us) == 0);
}
