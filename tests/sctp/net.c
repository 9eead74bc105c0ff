/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sctp/net.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sctp/invariant.h"

uint64_t net_random(struct net *n)
{
	uint64_t z = n->seed += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static bool chance(struct net *n, unsigned of_10000)
{
	return of_10000 && net_random(n) % 10000 < of_10000;
}

/* ---- services of the stacks ---- */

static void *take(void *user, size_t len)
{
	struct net_host *h = user;

	h->allocs++;
	if ((h->fail_every && h->allocs % h->fail_every == 0) || h->allocs == h->fail_at)
		return NULL;
	h->allocated += len;
	return malloc(len);
}

static void give(void *user, void *p, size_t len)
{
	struct net_host *h = user;

	assert(h->allocated >= len);
	h->allocated -= len;
	free(p);
}

static void fill(void *user, void *ret, size_t len)
{
	uint8_t *p = ret;

	while (len--)
		*p++ = (uint8_t)net_random(user);
}

struct sctp_config net_config(struct net *n, unsigned host, unsigned addrs)
{
	struct sctp_config c = {
		.nlocal = addrs,
		.udp_port = NET_UDP,
		.streams = 100,
		.adaptation = 1,
		.send_buffer = 1 << 20,
		.recv_buffer = 1 << 20,
		.cc = SCTP_CC_CUBIC,
		.sack_packets = 2,
		.sack_us = 200000,
		.rto_initial_us = 1000000,
		.rto_min_us = 100000,
		.rto_max_us = 60000000,
		.heartbeat_us = 30000000,
		.cookie_us = 60000000,
		.path_max_retrans = 5,
		.assoc_max_retrans = 10,
		.init_max_retrans = 8,
		.max_assocs = 1000,
		.max_memory = 64 << 20,
		.handshakes_per_s = 100000,
		.cover_bytes = NET_COVER,
		.cover_packet = 16384,
		.mem = {take, give, &n->host[host]},
		.random = fill,
		.random_user = n,
	};

	for (unsigned i = 0; i < addrs; i++)
		c.local[i] =
			sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)i, (uint8_t)(host + 1)});
	return c;
}

static void net_wrong(void *user, const char *file, int line, const char *what)
{
	(void)user;
	fprintf(stderr, "%s:%d: %s: not so\n", file, line, what);
	abort();
}

static struct invariant *new_watch(const struct sctp *s)
{
	const struct judge j = {.s = s, .wrong = net_wrong};

	return invariant_new(&j);
}

void net_init_cfg(struct net *n, uint64_t seed, const struct sctp_config *a,
		  const struct sctp_config *b)
{
	const struct sctp_config *cfg[2] = {a, b};
	uint8_t all[SCTP_MAX_LOCAL];

	n->seed = seed;
	n->addrs = a->nlocal;
	n->now = 1000000;
	n->delay_us = n->delay_us ? n->delay_us : 100;
	for (unsigned i = 0; i < 2; i++) {
		int r = sctp_open(cfg[i], n->now, &n->host[i].s);

		assert(r == SCTP_E_OK);
		(void)r;
		n->host[i].watch = new_watch(n->host[i].s);
		n->host[i].accept = true;
	}
	for (unsigned i = 0; i < SCTP_MAX_LOCAL; i++)
		all[i] = (uint8_t)i;
	sctp_listen(n->host[1].s, all, b->nlocal, b->nlocal > 1, NET_PORT, NULL,
		    &n->host[1].listener);
}

void net_init(struct net *n, uint64_t seed, unsigned addrs)
{
	struct sctp_config a, b;

	memset(n, 0, sizeof(*n));
	n->seed = seed;
	a = net_config(n, 0, addrs);
	b = net_config(n, 1, addrs);
	net_init_cfg(n, seed, &a, &b);
}

void net_deinit(struct net *n)
{
	while (n->flying) {
		struct net_packet *p = n->flying;

		n->flying = p->next;
		free(p);
	}
	for (unsigned i = 0; i < 2; i++) {
		n->host[i].watch = invariant_free(n->host[i].watch);
		sctp_close(n->host[i].s);
		assert(n->host[i].allocated == 0);
	}
}

/* ---- the network ---- */

static void enqueue(struct net *n, struct net_packet *p)
{
	struct net_packet **at = &n->flying;

	if (n->last && n->last->at_us <= p->at_us)
		at = &n->last->next;
	while (*at && (*at)->at_us <= p->at_us)
		at = &(*at)->next;
	p->next = *at;
	*at = p;
	if (!p->next)
		n->last = p;
}

void net_inject(struct net *n, unsigned to, const struct sctp_flow *from, const uint8_t *p,
		uint32_t len, uint64_t delay_us)
{
	struct net_packet *k = malloc(sizeof(*k) + len);

	assert(k);
	k->at_us = n->now + delay_us;
	k->to = to;
	k->from = *from;
	k->len = len;
	memcpy(k->data, p, len);
	enqueue(n, k);
}

/* Time at which a packet leaves the bottleneck; false: its queue is full. */
static bool pass_link(struct net *n, unsigned host, uint32_t len, uint64_t *ret)
{
	struct net_host *h = &n->host[host];
	uint64_t begin = h->link_free_us > n->now ? h->link_free_us : n->now;

	*ret = n->now;
	if (n->rate == 0)
		return true;
	if (n->queue_us && begin - n->now > n->queue_us)
		return false;
	h->link_free_us = begin + (uint64_t)len * 1000 / n->rate;
	*ret = h->link_free_us;
	return true;
}

static void transmit(struct net *n, unsigned host, uint8_t *p, uint32_t len)
{
	const struct sctp_flow *to = &n->batch.to;
	struct sctp_flow from = {.udp_port = NET_UDP, .covered = to->covered};
	uint32_t cover = to->covered ? NET_COVER : 0;
	unsigned dst = to->peer.ip[15] - 1u, subnet = to->peer.ip[14];
	uint64_t at, extra;

	n->sent++;
	from.peer = sctp_addr_v4((const uint8_t[]){10, 0, to->local, (uint8_t)(host + 1)});
	from.local = (uint8_t)subnet;
	if ((n->filter && !n->filter(n, host, &n->batch, p, len)) || chance(n, n->loss) ||
	    (n->mtu && len + 28 + cover > n->mtu) || dst > 1 || subnet > 1 || n->cut[subnet] ||
	    !pass_link(n, host, len, &at)) {
		n->lost++;
		return;
	}
	if (chance(n, n->corrupt))
		p[net_random(n) % len] ^= (uint8_t)(1u << net_random(n) % 8);
	extra = at - n->now + n->delay_us + (n->jitter_us ? net_random(n) % n->jitter_us : 0);
	if (chance(n, n->reorder))
		extra += n->delay_us + 1000;
	if (host == 0 && chance(n, n->overtake))
		extra = n->delay_us;
	net_inject(n, dst, &from, p, len, extra);
	if (chance(n, n->dup))
		net_inject(n, dst, &from, p, len, extra + 10);
}

/* Cuts a batch into its packets. */
static void send_batch(struct net *n, unsigned host)
{
	static uint8_t pkt[NET_MAX];
	uint32_t len = 0, size, done = 0;

	for (unsigned i = 0; i < n->batch.nspans; i++) {
		const struct span *s = &n->batch.span[i];

		assert(len + s->len <= sizeof(pkt));
		memcpy(pkt + len, s->p, s->len);
		len += (uint32_t)s->len;
		done += (uint32_t)s->len;
		size = n->batch.segment;
		assert(len <= size);
		if (len == size || done == n->batch.len) {
			transmit(n, host, pkt, len);
			len = 0;
		}
	}
	assert(done == n->batch.len);
}

/* ---- hosts ---- */

static void take_event(struct net *n, unsigned host, const struct sctp_event *e)
{
	struct net_host *h = &n->host[host];

	switch (e->type) {
	case SCTP_INCOMING:
		h->incoming++;
		if (h->accept)
			h->assoc = e->assoc;
		else
			sctp_assoc_free(e->assoc);
		break;
	case SCTP_UP:
		h->up++;
		h->assoc = e->assoc;
		break;
	case SCTP_DOWN:
		h->down++;
		h->last_down = *e;
		if (h->assoc == e->assoc)
			h->assoc = NULL;
		sctp_assoc_free(e->assoc);
		break;
	case SCTP_WRITABLE:
		h->writable++;
		break;
	case SCTP_ACKED:
		h->acked++;
		break;
	case SCTP_PATH:
		h->paths++;
		h->last_path = *e;
		break;
	case SCTP_RESIZED:
		h->resized++;
		break;
	}
	(void)n;
}

static void events(struct net *n, unsigned host)
{
	struct sctp_event e;

	while (sctp_event(n->host[host].s, &e))
		take_event(n, host, &e);
}

static void receive(struct net *n, unsigned host)
{
	struct net_host *h = &n->host[host];
	struct sctp_msg m;

	while (sctp_recv(h->s, &m)) {
		uint64_t number = 0;

		if (m.part[0].len >= sizeof(number))
			memcpy(&number, m.part[0].p, sizeof(number));
		h->messages++;
		h->bytes += m.len;
		h->sum += number;
	}
}

static void output(struct net *n)
{
	for (unsigned i = 0; i < 2; i++) {
		struct net_host *h = &n->host[i];

		for (;;) {
			invariant_before(h->watch);
			if (!sctp_output(h->s, &n->batch, n->now))
				break;
			invariant_sent(h->watch, &n->batch);
			send_batch(n, i);
		}
		invariant_idle(h->watch);
	}
}

static void turn(struct net *n)
{
	while (n->flying && n->flying->at_us <= n->now) {
		struct net_packet *p = n->flying;

		n->flying = p->next;
		if (!n->flying)
			n->last = NULL;
		invariant_arrives(n->host[p->to].watch, &p->from, p->data, p->len);
		sctp_input(n->host[p->to].s, &p->from, p->data, p->len, n->now);
		invariant_arrived(n->host[p->to].watch);
		events(n, p->to);
		receive(n, p->to);
		free(p);
	}
	for (unsigned i = 0; i < 2; i++) {
		invariant_before(n->host[i].watch);
		sctp_run(n->host[i].s, n->now);
		invariant_ran(n->host[i].watch);
		events(n, i);
	}
	output(n);
}

static uint64_t next_time(const struct net *n)
{
	uint64_t at = n->flying ? n->flying->at_us : UINT64_MAX;

	for (unsigned i = 0; i < 2; i++)
		if (sctp_expiry(n->host[i].s) < at)
			at = sctp_expiry(n->host[i].s);
	return at;
}

bool net_run_until(struct net *n, bool (*cond)(struct net *n), uint64_t deadline_us)
{
	for (;;) {
		uint64_t at;

		turn(n);
		if (cond && cond(n))
			return true;
		at = next_time(n);
		if (at > deadline_us)
			break;
		if (at > n->now)
			n->now = at;
	}
	if (deadline_us != UINT64_MAX && deadline_us > n->now)
		n->now = deadline_us;
	return false;
}

void net_run(struct net *n, uint64_t until_us)
{
	(void)net_run_until(n, NULL, until_us);
}

struct sctp_assoc *net_connect(struct net *n)
{
	struct sctp_addr peer[SCTP_MAX_LOCAL];
	uint8_t local[SCTP_MAX_LOCAL];
	const struct sctp_connect to = {.peer = peer,
					.npeer = n->addrs,
					.port = NET_PORT,
					.local = local,
					.nlocal = n->addrs,
					.covered_port = n->covered ? NET_UDP : 0};
	struct sctp_assoc *a = NULL;

	for (unsigned i = 0; i < n->addrs; i++) {
		peer[i] = sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)i, 2});
		local[i] = (uint8_t)i;
	}
	if (sctp_assoc_connect(n->host[0].s, &to, &a))
		return NULL;
	return a;
}

static bool both_up(struct net *n)
{
	return n->host[0].up && n->host[1].incoming;
}

/* The path is known to take packets that are not small. */
static bool both_measured(struct net *n)
{
	for (unsigned i = 0; i < 2; i++) {
		struct sctp_info info;

		if (!n->host[i].assoc)
			return true;
		sctp_assoc_info(n->host[i].assoc, &info);
		if (info.max_message < NET_MESSAGE)
			return false;
	}
	return true;
}

void net_establish(struct net *n)
{
	struct sctp_assoc *a = net_connect(n);

	assert(a);
	(void)a;
	net_run_until(n, both_up, n->now + 60000000);
	assert(both_up(n));
	net_run_until(n, both_measured, n->now + 3000000);
}

int net_send(struct net *n, unsigned host, uint16_t sid, uint64_t number, uint32_t len)
{
	static uint8_t data[SCTP_MAX_PACKET];
	struct span s = {data, len};

	memcpy(data, &number, sizeof(number));
	return sctp_assoc_send(n->host[host].assoc, sid, 7, false, &s, 1);
}
