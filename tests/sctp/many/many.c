/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sctp/many/many.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sctp/sctp.h"

enum { PORT = 5043, UDP = 9899, MESSAGE = 64 + 20, SECOND = 1000000, PATIENCE_S = 120 };

/* An end of an association. */
struct end {
	struct sctp_assoc *assoc;
	uint64_t sends; /* messages that are not sent yet */
};

struct host {
	struct sctp *s;
	struct end *end;
	unsigned ends, room, up;
	uint64_t bytes, peak, sent, received, messages, lost;
};

struct packet {
	struct packet *next;
	uint64_t at_us;
	unsigned to, len;
	struct sctp_flow from;
	uint8_t data[];
};

struct world {
	struct many_config c;
	struct host *host;
	struct packet *first, **last; /* in the order in which they arrive */
	uint64_t now, seed;
	uint64_t wanted_up, wanted; /* ends; messages of the whole world */
	uint64_t up, messages;
	struct sctp_batch batch;
};

/* ---- services of the stacks ---- */

static void *take(void *user, size_t len)
{
	struct host *h = user;

	h->bytes += len;
	if (h->bytes > h->peak)
		h->peak = h->bytes;
	return malloc(len);
}

static void give(void *user, void *p, size_t len)
{
	struct host *h = user;

	h->bytes -= len;
	free(p);
}

static void fill(void *user, void *ret, size_t len)
{
	struct world *w = user;
	uint8_t *p = ret;

	while (len--) {
		w->seed = w->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		*p++ = (uint8_t)(w->seed >> 56);
	}
}

static struct sctp_addr addr_of(unsigned host)
{
	return sctp_addr_v4((const uint8_t[]){10, (uint8_t)(host >> 14), (uint8_t)(host >> 7 & 127),
					      (uint8_t)((host & 127) + 1)});
}

static unsigned host_of(const struct sctp_addr *a)
{
	return (unsigned)a->ip[13] << 14 | (unsigned)a->ip[14] << 7 | (a->ip[15] - 1u);
}

/* As a daemon has it. */
static void open_host(struct world *w, unsigned i)
{
	struct host *h = &w->host[i];
	struct sctp_listener *listener;
	struct sctp_config c = {
		.nlocal = 1,
		.local = {addr_of(i)},
		.udp_port = UDP,
		.streams = 2048,
		.adaptation = 1,
		.send_buffer = 64 << 20,
		.recv_buffer = 64 << 20,
		.cc = SCTP_CC_CUBIC,
		.sack_packets = 2,
		.sack_us = 20000,
		.rto_initial_us = SECOND,
		.rto_min_us = 100000,
		.rto_max_us = 5000000,
		.heartbeat_us = w->c.heartbeat * 1000,
		.cookie_us = 60 * SECOND,
		.path_max_retrans = 5,
		.init_max_retrans = 8,
		.max_assocs = 1 << 20,
		.max_memory = UINT64_C(1) << 40,
		.handshakes_per_s = 4000,
		.mem = {take, give, h},
		.random = fill,
		.random_user = w,
	};
	int r = sctp_open(&c, w->now, &h->s);

	assert(r == SCTP_E_OK);
	r = sctp_listen(h->s, (const uint8_t[]){0}, 1, false, PORT, NULL, &listener);
	assert(r == SCTP_E_OK);
	(void)r;
}

/* ---- the network ---- */

static void deliver(struct world *w, unsigned from, const uint8_t *data, uint32_t len)
{
	struct packet *p = malloc(sizeof(*p) + len);

	assert(p);
	p->next = NULL;
	p->at_us = w->now + w->c.delay_us;
	p->to = host_of(&w->batch.to.peer);
	p->len = len;
	p->from = (struct sctp_flow){.peer = addr_of(from), .udp_port = UDP};
	memcpy(p->data, data, len);
	*w->last = p;
	w->last = &p->next;
	w->host[from].sent++;
}

/* A span never crosses the border of two packets. */
static void send_batch(struct world *w, unsigned from)
{
	static uint8_t bytes[SCTP_MAX_PACKET];
	uint32_t len = 0, done = 0;

	for (unsigned i = 0; i < w->batch.nspans; i++) {
		const struct span *s = &w->batch.span[i];

		memcpy(bytes + len, s->p, s->len);
		len += (uint32_t)s->len;
		done += (uint32_t)s->len;
		if (len == w->batch.segment || done == w->batch.len) {
			deliver(w, from, bytes, len);
			len = 0;
		}
	}
}

/* ---- ends ---- */

static struct end *add_end(struct host *h)
{
	if (h->ends == h->room) {
		h->room = h->room ? 2 * h->room : 16;
		h->end = realloc(h->end, h->room * sizeof(*h->end));
		assert(h->end);
	}
	memset(&h->end[h->ends], 0, sizeof(*h->end));
	return &h->end[h->ends++];
}

/* The user of an association is the number of its end, from 1 on; of a listener it is none. */
static void set_end(struct host *h, struct sctp_assoc *a, struct end *e)
{
	e->assoc = a;
	sctp_assoc_set_user(a, (void *)(uintptr_t)(e - h->end + 1));
}

/* As many as fit. */
static void send_messages(struct host *h, struct end *e)
{
	static uint8_t data[MESSAGE];
	const struct span s = {data, sizeof(data)};

	(void)h;
	while (e->sends > 0 && sctp_assoc_send(e->assoc, (uint16_t)(e->sends % 1000), 16, false, &s,
					       1) == SCTP_E_OK)
		e->sends--;
}

static void take_event(struct world *w, struct host *h, const struct sctp_event *e)
{
	const uintptr_t number = (uintptr_t)e->user;

	switch (e->type) {
	case SCTP_INCOMING:
		set_end(h, e->assoc, add_end(h));
		h->up++;
		w->up++;
		break;
	case SCTP_UP:
		h->up++;
		w->up++;
		break;
	case SCTP_WRITABLE:
		send_messages(h, &h->end[number - 1]);
		break;
	case SCTP_DOWN:
		h->lost++;
		sctp_assoc_free(e->assoc);
		break;
	default:
		break;
	}
}

static void take_all(struct world *w, struct host *h)
{
	struct sctp_event e;
	struct sctp_msg m;

	while (sctp_event(h->s, &e))
		take_event(w, h, &e);
	while (sctp_recv(h->s, &m)) {
		h->messages++;
		w->messages++;
	}
}

/* ---- time ---- */

static void send_all(struct world *w, unsigned i)
{
	while (sctp_output(w->host[i].s, &w->batch, w->now))
		send_batch(w, i);
}

static void input(struct world *w, struct packet *p)
{
	struct host *h = &w->host[p->to];

	h->received++;
	sctp_input(h->s, &p->from, p->data, p->len, w->now);
	take_all(w, h);
	if (sctp_wants_output(h->s))
		send_all(w, p->to);
}

static void turn(struct world *w)
{
	while (w->first && w->first->at_us <= w->now) {
		struct packet *p = w->first;

		w->first = p->next;
		if (!w->first)
			w->last = &w->first;
		input(w, p);
		free(p);
	}
	for (unsigned i = 0; i < w->c.hosts; i++) {
		if (sctp_expiry(w->host[i].s) <= w->now) {
			sctp_run(w->host[i].s, w->now);
			take_all(w, &w->host[i]);
		}
		send_all(w, i);
	}
}

static uint64_t next_time(const struct world *w)
{
	uint64_t at = w->first ? w->first->at_us : UINT64_MAX;

	for (unsigned i = 0; i < w->c.hosts; i++)
		if (sctp_expiry(w->host[i].s) < at)
			at = sctp_expiry(w->host[i].s);
	return at > w->now ? at : w->now + 1;
}

static bool all_up(const struct world *w)
{
	return w->up == w->wanted_up;
}

static bool all_came(const struct world *w)
{
	return w->messages == w->wanted;
}

static bool run(struct world *w, bool (*until)(const struct world *w), unsigned seconds)
{
	const uint64_t end = w->now + (uint64_t)seconds * SECOND;

	for (;;) {
		turn(w);
		if (until && until(w))
			return true;
		if (next_time(w) > end)
			break;
		w->now = next_time(w);
	}
	w->now = end;
	return !until;
}

/* ---- sessions ---- */

static void connect_hosts(struct world *w, unsigned from, unsigned to)
{
	struct host *h = &w->host[from];
	const struct sctp_addr peer = addr_of(to);
	const struct sctp_connect c = {.peer = &peer,
				       .npeer = 1,
				       .port = PORT,
				       .local = (const uint8_t[]){0},
				       .nlocal = 1};
	struct sctp_assoc *a;
	int r = sctp_assoc_connect(h->s, &c, &a);

	assert(r == SCTP_E_OK);
	(void)r;
	set_end(h, a, add_end(h));
	w->wanted_up += 2;
}

/* Sessions between each pair of hosts, counted from the first one: n[d] with the one d after it. */
static void count_sessions(const struct many_config *c, uint64_t *n)
{
	const unsigned all = c->hosts * c->ranks;

	memset(n, 0, c->hosts * sizeof(*n));
	for (unsigned d = 1; c->all && d < c->hosts; d++)
		n[d] = (uint64_t)c->ranks * c->ranks;
	for (unsigned d = 1; !c->all && d < all; d *= 2)
		for (unsigned rank = 0; rank < c->ranks; rank++)
			n[(rank + d) / c->ranks % c->hosts]++;
	n[0] = 0; /* within a host there is no association */
}

/* Of a pair that has sessions in both directions, or of all pairs, the lower host begins. */
static bool begins(const struct many_config *c, unsigned from, unsigned to)
{
	return !c->all || ((to + c->hosts - from) % c->hosts) * 2 < c->hosts ||
	       (((to + c->hosts - from) % c->hosts) * 2 == c->hosts && from < to);
}

static void connect_all(struct world *w, const uint64_t *n)
{
	const struct many_config *c = &w->c;

	for (unsigned from = 0; from < c->hosts; from++) {
		for (unsigned d = 1; d < c->hosts; d++) {
			const unsigned to = (from + d) % c->hosts;
			const uint64_t pairs = c->own ? n[d] : n[d] > 0;

			if ((c->one && from != 0 && to != 0) || !begins(c, from, to))
				continue;
			for (uint64_t i = 0; i < pairs; i++)
				connect_hosts(w, from, to);
		}
	}
}

/* The messages of a host are spread over its ends. */
static void send_from(struct world *w, unsigned i, uint64_t sessions)
{
	struct host *h = &w->host[i];
	uint64_t each, more;

	if (h->ends == 0)
		return;
	if (w->c.one && i != 0)
		sessions = sessions * h->ends / w->host[0].ends;
	each = sessions * w->c.messages / h->ends;
	more = sessions * w->c.messages % h->ends;
	for (unsigned k = 0; k < h->ends; k++) {
		h->end[k].sends = each + (k < more);
		w->wanted += h->end[k].sends;
	}
	for (unsigned k = 0; k < h->ends; k++)
		send_messages(h, &h->end[k]);
}

/* ---- figures ---- */

static uint64_t packets(const struct host *h)
{
	return h->sent + h->received;
}

static bool play(struct world *w, uint64_t sessions, struct many_figures *ret)
{
	const uint64_t begin = w->now;
	struct host *h = &w->host[0];

	if (!run(w, all_up, PATIENCE_S))
		return false;
	ret->up_us = w->now - begin;
	ret->set_up = packets(h);
	run(w, NULL, 5); /* the paths are measured */
	ret->associations = h->ends;
	ret->idle_bytes = h->bytes;
	ret->traffic = packets(h);
	for (unsigned i = 0; i < w->c.hosts; i++)
		send_from(w, i, sessions);
	if (!run(w, all_came, PATIENCE_S))
		return false;
	run(w, NULL, 1); /* the last acknowledgments */
	ret->traffic = packets(h) - ret->traffic;
	ret->traffic_bytes = h->bytes;
	ret->idle = packets(h);
	run(w, NULL, w->c.idle_s);
	ret->idle = packets(h) - ret->idle;
	ret->end_bytes = h->bytes;
	return true;
}

static void close_world(struct world *w, struct many_figures *ret)
{
	struct sctp_stats stats;

	for (unsigned i = 0; i < w->c.hosts; i++) {
		sctp_stats(w->host[i].s, &stats);
		ret->retransmits += stats.retransmits;
		ret->lost += w->host[i].lost;
		sctp_close(w->host[i].s);
		assert(w->host[i].bytes == 0);
		free(w->host[i].end);
	}
	while (w->first) {
		struct packet *p = w->first;

		w->first = p->next;
		free(p);
	}
	free(w->host);
}

bool many_run(const struct many_config *c, struct many_figures *ret)
{
	static struct world w;
	uint64_t *n = calloc(c->hosts, sizeof(*n));
	bool ok;

	w = (struct world){.c = *c, .now = SECOND, .seed = 1};
	w.c.delay_us = c->delay_us ? c->delay_us : 50;
	w.c.heartbeat = c->heartbeat ? c->heartbeat : 1000;
	w.last = &w.first;
	w.host = calloc(c->hosts, sizeof(*w.host));
	assert(n && w.host);
	*ret = (struct many_figures){0};
	for (unsigned i = 0; i < c->hosts; i++)
		open_host(&w, i);
	count_sessions(c, n);
	for (unsigned d = 0; d < c->hosts; d++) /* those that it begins, and those of others */
		ret->sessions += c->all ? n[d] : 2 * n[d];
	connect_all(&w, n);
	ok = play(&w, ret->sessions, ret);
	ret->peak_bytes = w.host[0].peak;
	ret->messages = w.host[0].messages;
	close_world(&w, ret);
	free(n);
	return ok && ret->lost == 0;
}
