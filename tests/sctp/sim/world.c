/* SPDX-License-Identifier: BSD-2-Clause */
/* One run: what a seed chooses, the passing of time, and what befalls the hosts. */
#include "sctp/assoc/handshake.h"
#include "tests/sctp/sim/world.h"

enum { MOST_STEPS = 2000000 };

/* ---- chance and trace ---- */

uint64_t draw(struct world *w)
{
	uint64_t z = w->rng += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t below(struct world *w, uint64_t n)
{
	return n ? draw(w) % n : 0;
}

bool chance(struct world *w, unsigned of_10000)
{
	return of_10000 && below(w, 10000) < of_10000;
}

struct sctp_addr world_addr(const struct world *w, unsigned subnet, unsigned host)
{
	if (w->v6)
		return (struct sctp_addr){
			.ip = {0xfd, [14] = (uint8_t)subnet, [15] = (uint8_t)(host + 1)}};
	return sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)subnet, (uint8_t)(host + 1)});
}

uint32_t world_ip_head(const struct world *w)
{
	return w->v6 ? 48 : 28;
}

void trace(struct world *w, const char *what, uint64_t a, uint64_t b)
{
	w->hash = (w->hash ^ w->now) * UINT64_C(0x100000001b3);
	w->hash = (w->hash ^ a) * UINT64_C(0x100000001b3);
	w->hash = (w->hash ^ b) * UINT64_C(0x100000001b3);
	if (w->verbose)
		printf("%12.6f %s %" PRIx64 " %" PRIx64 "\n", (double)w->now / SECOND, what, a, b);
}

static void print_assoc(const struct sctp_assoc *a)
{
	const struct sctp_queue *q = &a->tx;

	fprintf(stderr,
		"state %d errors %u cum %u send %u next %u out %u lost %u rwnd %u in flight %u",
		a->state, a->errors, q->cum, q->send_tsn, q->next_tsn, a->flight.out.n,
		a->flight.lost.n, a->window.rwnd, a->flight.payload);
	fprintf(stderr,
		" t1 %" PRId64 " t2 %" PRId64 " t5 %" PRId64 " armed %" PRId64 " probe %d\n",
		sctp_handshake_expiry(a), a->shutdown.t2_us, a->shutdown.t5_us,
		a->deadline.armed_us, a->window.probe);
	for (unsigned i = 0; i < a->paths.n; i++) {
		const struct sctp_path *p = &a->paths.at[i];

		fprintf(stderr,
			"  path %u%s state %d errors %u flight %u first %u cwnd %u burst %u pmtu %u"
			" rto %u t3 %" PRId64 " heartbeat %" PRId64 " rate %" PRIu64
			" release %" PRId64 "\n",
			i, i == a->paths.primary ? "*" : "", p->state, p->errors, p->flight.bytes,
			p->flight.first, p->cc.cwnd, p->cc.burst_from, p->pmtu.size, p->rto.rto_us,
			p->t3_us, p->heartbeat_us, p->pacer.rate, p->release_us);
	}
}

void fail(struct world *w, const char *file, int line, const char *what)
{
	fflush(stdout);
	fprintf(stderr, "seed %" PRIu64 " at %.6f s: %s:%d: %s: not so\n", w->seed,
		(double)w->now / SECOND, file, line, what);
	for (unsigned i = 0; w->verbose && i < w->conns; i++) {
		const struct conn *c = w->conn[i];

		fprintf(stderr, "end %u at host %u, other %d, %u sent, %u wished%s\n", c->number,
			c->host, c->peer, c->sent, c->wish, c->blocked ? ", blocked" : "");
		if (c->a)
			print_assoc(c->a);
	}
	exit(1);
}

/* ---- what the seed chooses ---- */

static uint64_t one_of(struct world *w, const uint64_t *v, unsigned n)
{
	return v[below(w, n)];
}
#define ONE_OF(w, ...)                                                                             \
	one_of(w, (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

static void choose_config(struct world *w, unsigned host)
{
	struct sctp_config *c = &w->host[host].cfg;

	*c = (struct sctp_config){
		.nlocal = w->addrs,
		.udp_port = UDP,
		.streams = (uint16_t)ONE_OF(w, 1, 10, 1000),
		.adaptation = 1,
		.send_buffer = (uint32_t)ONE_OF(w, 65536, 70000, 1 << 20),
		.recv_buffer = (uint32_t)ONE_OF(w, 1, 300000, 1 << 20),
		.recv_first = (uint32_t)ONE_OF(w, 0, 1), /* 1: windows grow */
		.cc = (enum sctp_cc_algo)ONE_OF(w, SCTP_CC_RFC9260, SCTP_CC_CUBIC, SCTP_CC_BBR),
		.sack_packets = (unsigned)ONE_OF(w, 1, 2, 8),
		.sack_us = (uint32_t)ONE_OF(w, 0, 20000, 200000),
		/* Handshakes outlast two cuts in a row. */
		.rto_initial_us =
			(uint32_t)ONE_OF(w, w->strict ? SECOND : 200000, SECOND, 3 * SECOND),
		.rto_min_us = (uint32_t)ONE_OF(w, 50000, 200000, SECOND),
		.rto_max_us = (uint32_t)ONE_OF(w, 10, 60) * SECOND,
		.heartbeat_us = (uint32_t)ONE_OF(w, SECOND, 5 * SECOND, 30 * SECOND),
		.cookie_us = 60 * SECOND,
		.path_max_retrans = 5,
		.assoc_max_retrans = w->strict ? 20 : (unsigned)ONE_OF(w, 0, 10),
		.init_max_retrans = 8,
		.max_assocs = (uint32_t)ONE_OF(w, 8, 1000),
		.max_memory = ONE_OF(w, 640 << 10, 2 << 20, 64 << 20),
		.handshakes_per_s = (unsigned)ONE_OF(w, 100, 100000),
	};
	/* A host behind a NAT has to speak, or nobody can reach it. */
	if (w->strict && w->rebinds)
		c->heartbeat_us = SECOND;
	for (unsigned i = 0; i < w->addrs; i++)
		c->local[i] = world_addr(w, i, host);
	if (w->sizes) {
		c->rto_initial_us = SECOND;
		c->rto_min_us = 100000;
		c->rto_max_us = 5 * SECOND;
		c->max_memory = 64 << 20;
	}
}

static void choose_link(struct world *w)
{
	w->delay_us = ONE_OF(w, 20, 1000, 20000, 100000);
	w->jitter_us = ONE_OF(w, 0, 0, 50, w->delay_us);
	w->rate = (uint32_t)ONE_OF(w, 0, 0, 2000, 125000);
	w->queue_us = ONE_OF(w, 5000, 50000, 500000);
	w->mtu = (uint32_t)ONE_OF(w, 65535, 65535, 9000, 1500, 1280);
}

static void choose_faults(struct world *w)
{
	w->loss =
		(unsigned)(w->strict ? ONE_OF(w, 0, 10, 100, 500) : ONE_OF(w, 0, 300, 1500, 4000));
	w->dup = (unsigned)ONE_OF(w, 0, 0, 100, 1000);
	w->reorder = (unsigned)ONE_OF(w, 0, 0, 100, 1000);
	w->corrupt = (unsigned)ONE_OF(w, 0, 0, 20, 200);
	w->truncate = (unsigned)ONE_OF(w, 0, 0, 20, 200);
	w->failing = below(w, 4) == 0;
	w->rebinds = below(w, 4) == 0;
	w->icmp = below(w, 2) == 0;
	w->resizes = below(w, 4) == 0;
	w->pauses = below(w, 3) == 0;
}

/* Sizes of packets change, and little else happens: nothing but them excuses that nothing moves. */
static void choose_sizes(struct world *w)
{
	w->strict = w->resizes = true;
	w->failing = w->rebinds = w->pauses = false;
	w->drops_fragments = below(w, 2);
	w->loss = (unsigned)ONE_OF(w, 0, 0, 100);
	w->corrupt = w->truncate = 0;
	w->rate = (uint32_t)ONE_OF(w, 0, 125000);
	w->queue_us = 500000;
	w->mtu = 600 + (uint32_t)below(w, 8401);
	w->size_class = 2 + (unsigned)below(w, 2);
}

static void choose(struct world *w)
{
	w->rng = w->seed * UINT64_C(0xd1342543de82ef95) + 1;
	w->now = 10 * SECOND;
	w->strict = below(w, 2);
	w->addrs = 1 + (unsigned)below(w, 2);
	w->crossed = below(w, 8) == 0;
	w->wraps = below(w, 4) == 0;
	w->size_class = (unsigned)below(w, 4);
	choose_link(w);
	choose_faults(w);
	w->v6 = below(w, 2);
	w->sizes = below(w, 3) == 0;
	if (w->sizes)
		choose_sizes(w);
	for (unsigned h = 0; h < 2; h++) {
		w->host[h].w = w;
		w->host[h].number = h;
		w->host[h].udp_port = UDP;
		w->host[h].wrap_at = UINT32_MAX;
		choose_config(w, h);
	}
}

/* ---- time ---- */

static void turn(struct world *w)
{
	struct packet *p;

	check(w, w->steps++ < MOST_STEPS);
	while ((p = link_next(w))) {
		if (w->host[p->to].pause_until > w->now) {
			p->at_us = w->host[p->to].pause_until;
			link_put(w, p);
			continue;
		}
		host_input(w, p);
		free(p);
	}
	for (unsigned h = 0; h < 2; h++) {
		if (w->host[h].pause_until > w->now)
			continue;
		host_run(w, h);
		host_output(w, h);
		model_host(w, h);
	}
}

static uint64_t next_time(struct world *w)
{
	uint64_t at = w->first ? w->first->at_us : UINT64_MAX;

	for (unsigned h = 0; h < 2; h++) {
		uint64_t t = sctp_expiry(w->host[h].s);

		if (t < w->host[h].pause_until)
			t = w->host[h].pause_until;
		if (t < at)
			at = t;
	}
	/* Clocks step back: nothing may happen at this time. */
	return at > w->now ? at : w->now + 1;
}

/* Lets time pass until the condition holds; false if it did not before the deadline. */
static bool pass(struct world *w, bool (*done)(struct world *w), uint64_t deadline)
{
	for (;;) {
		uint64_t at;

		turn(w);
		if (done && done(w))
			return true;
		at = next_time(w);
		if (at > deadline)
			break;
		w->now = at;
	}
	w->now = deadline;
	return false;
}

/* ---- what happens ---- */

static struct conn *some_conn(struct world *w)
{
	for (unsigned i = 0; w->conns && i < 8; i++) {
		struct conn *c = w->conn[below(w, w->conns)];

		if (c->a && c->up)
			return c;
	}
	return NULL;
}

static void cut_path(struct world *w)
{
	unsigned subnet = (unsigned)below(w, w->addrs), which = 1 + (unsigned)below(w, 3);

	for (unsigned from = 0; from < 2; from++)
		if (which >> from & 1)
			w->cut[subnet][from] = true;
	w->heal_us = w->now + (w->strict ? below(w, 4 * SECOND) : below(w, 400 * SECOND));
	trace(w, "cut", subnet, which);
}

static void heal(struct world *w)
{
	memset(w->cut, 0, sizeof(w->cut));
	w->heal_us = 0;
}

static void restart(struct world *w)
{
	unsigned host = (unsigned)below(w, 2);
	uint16_t port = 0;

	if (w->strict || w->host[host].pause_until > w->now)
		return;
	for (unsigned i = 0; i < w->conns; i++)
		if (w->conn[i]->host == host && w->conn[i]->a)
			port = w->conn[i]->a->id.own_port;
	trace(w, "restart", host, port);
	w->sum.restarts++;
	host_close(w, host);
	host_open(w, host);
	if (port > 49152)
		host_connect(w, host, port, PORT);
}

static void pause_host(struct world *w)
{
	if (w->pauses)
		w->host[below(w, 2)].pause_until =
			w->now + below(w, w->strict ? SECOND : 60 * SECOND);
}

static void resize(struct world *w)
{
	if (w->sizes)
		w->mtu = 600 + (uint32_t)below(w, 8401);
	else if (w->resizes)
		w->mtu = (uint32_t)ONE_OF(w, 65535, 9000, 1500, 1280);
	trace(w, "mtu", w->mtu, 0);
}

static void rebind(struct world *w)
{
	if (w->rebinds)
		w->host[0].udp_port = (uint16_t)(1024 + below(w, 60000));
}

/* Allocations fail from now on, or do not any more. */
static void starve(struct world *w)
{
	struct host *h = &w->host[below(w, 2)];

	if (w->failing && w->now > 20 * SECOND)
		h->fail = h->fail ? 0 : (unsigned)ONE_OF(w, 100, 500, 1000);
}

static void connect_more(struct world *w)
{
	unsigned host = (unsigned)below(w, 2);

	if (w->conns < 12 && w->host[host].pause_until <= w->now)
		host_connect(w, host, 0, PORT);
}

static void shut_down(struct world *w, struct conn *c)
{
	c->shut_us = c->shut_us ? c->shut_us : w->now;
	sctp_assoc_shutdown(c->a, w->now);
}

static void end_one(struct world *w)
{
	struct conn *c = some_conn(w);

	if (!c || below(w, 3))
		return;
	if (!w->strict && below(w, 2)) {
		if (below(w, 2))
			sctp_assoc_abort(c->a, "the end");
		conn_drop(w, c);
		return;
	}
	trace(w, "shutdown", c->number, 0);
	shut_down(w, c);
	c->wish = 0;
}

static void more_messages(struct world *w)
{
	struct conn *c = some_conn(w);

	if (c && c->a->state == SCTP_ESTABLISHED)
		c->wish += (unsigned)below(w, below(w, 8) ? 20 : 300);
}

static void change_primary(struct world *w)
{
	struct conn *c = some_conn(w);
	struct sctp_addr to;

	if (!c)
		return;
	to = c->a->paths.at[below(w, c->a->paths.n)].flow.peer;
	(void)sctp_assoc_set_primary(c->a, &to);
}

static void act(struct world *w)
{
	static void (*const acts[])(struct world * w) = {
		more_messages, more_messages, more_messages, more_messages, more_messages,
		more_messages, cut_path,      restart,       pause_host,    resize,
		rebind,        starve,        connect_more,  end_one,       change_primary,
	};
	static void (*const sizes[])(struct world * w) = {
		more_messages, more_messages, more_messages, resize, connect_more, change_primary,
	};

	if (w->heal_us && w->now > w->heal_us)
		heal(w);
	if (w->sizes) {
		sizes[below(w, sizeof(sizes) / sizeof(sizes[0]))](w);
		return;
	}
	acts[below(w, sizeof(acts) / sizeof(acts[0]))](w);
}

/* ---- phases ---- */

static bool quiet(struct world *w)
{
	for (unsigned i = 0; i < w->conns; i++) {
		const struct conn *c = w->conn[i];

		if (c->a && ((c->wish && !c->replay) || !sctp_queue_empty(&c->a->tx)))
			return false;
		if (c->a && c->a->state < SCTP_ESTABLISHED)
			return false;
	}
	return true;
}

static bool all_ended(struct world *w)
{
	return list_empty(&w->host[0].s->assocs) && list_empty(&w->host[1].s->assocs);
}

static void begin(struct world *w)
{
	host_open(w, 0);
	host_open(w, 1);
	if (w->crossed) {
		host_connect(w, 0, CROSS_PORT, CROSS_PORT);
		host_connect(w, 1, CROSS_PORT, CROSS_PORT);
	} else {
		host_connect(w, (unsigned)below(w, 2), 0, PORT);
	}
}

static void no_more_faults(struct world *w)
{
	heal(w);
	w->rate = 0; /* a queue that is full at each timeout is a fault as well */
	w->loss = w->dup = w->reorder = w->corrupt = w->truncate = 0;
	for (unsigned h = 0; h < 2; h++) {
		w->host[h].pause_until = 0;
		w->host[h].fail = 0;
	}
}

static void finish(struct world *w)
{
	trace(w, "finish", 0, 0);
	no_more_faults(w);
	check(w, pass(w, quiet, w->now + UINT64_C(2000) * SECOND));
	for (unsigned i = 0; i < w->conns; i++)
		if (w->conn[i]->a && (below(w, 2) || w->conn[i]->peer < 0 ||
				      !w->conn[w->conn[i]->peer]->a || w->conn[i]->host)) {
			shut_down(w, w->conn[i]);
		}
	check(w, pass(w, all_ended, w->now + UINT64_C(2000) * SECOND));
	model_end(w);
}

void world_run(struct world *w)
{
	uint64_t began;
	unsigned acts;

	choose(w);
	began = w->now;
	begin(w);
	acts = 20 + (unsigned)below(w, 60);
	for (unsigned i = 0; i < acts; i++) {
		pass(w, NULL, w->now + below(w, ONE_OF(w, 1000, 100000, 2 * SECOND)));
		act(w);
	}
	finish(w);
	w->sum.us += w->now - began;
	for (unsigned h = 0; h < 2; h++)
		host_close(w, h);
	link_clear(w);
	for (unsigned i = 0; i < w->conns; i++)
		free(w->conn[i]);
}
