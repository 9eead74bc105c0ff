/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dtls_sim [--seeds FIRST LAST] [--trace]
 *
 * Two rooms of DTLS with a network between them that loses, doubles, delays and forges datagrams.
 * The handshake is a fake (fake_ssl.c), so all is as drawn from the seed. Promise, in each world:
 * - a packet arrives at most once and as it was sent;
 * - an end has at most one link with the other one, and no handshake longer than its time;
 * - without a restart, a refusal or a network that loses much, no link goes down;
 * - when the network is good again, both ends have a link within seconds and lose no packet, and
 *   keys are replaced in time from then on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llp/dtls/dtls_core.h"
#include "tests/dtls/fake_ssl.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/dtls_net.h"

#define SECOND ((uint64_t)1000000)

enum { STEPS = 60, TAKEOVER_S = 600, HANDSHAKE_S = 10, AGAIN = 20 };

struct world {
	struct net *net;
	uint64_t seed, rng;
	unsigned sent[2]; /* packets by each end */
	bool harmed;      /* links may have gone down */
	bool trace;
};

/* Both ends have it. The fake looks only whether there is a certificate. */
static struct dtls_identity nobody = {.ctx = (struct ssl_ctx_st *)&fake_seed};

static unsigned draw(struct world *w, unsigned below)
{
	w->rng = w->rng * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(w->rng >> 33) % below;
}

static struct dtls_stats stats_of(const struct world *w, unsigned i)
{
	struct dtls_stats s;

	dtls_stats(w->net->end[i].dtls, &s);
	return s;
}

/* ---- what must hold ---- */

static void check(const struct world *w)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct net_end *e = &w->net->end[i];
		struct dtls_stats s = stats_of(w, i);

		must(e->wrong == 0);
		must(e->received <= w->sent[!i]);
		must(s.links <= 1 && s.handshakes <= 1);
		must(w->harmed || e->down == 0);
	}
}

/* ---- what happens ---- */

static void send_some(struct world *w)
{
	unsigned from = draw(w, 2), n = 1 + draw(w, 10);

	while (n--)
		w->sent[from] += net_send(w->net, from, w->sent[from]);
}

static void change_network(struct world *w)
{
	w->net->loses = draw(w, 4) ? draw(w, 40) : 0;
	w->harmed |= w->net->loses > 25; /* a handshake may fail */
	w->net->doubles = draw(w, 40);
	w->net->delays = draw(w, 40);
}

/* Longer than a handshake may take, so one that goes on fails. */
static void cut_network(struct world *w)
{
	unsigned before = w->net->loses;

	w->harmed = true;
	w->net->loses = 100;
	net_run(w->net, draw(w, 30) * SECOND);
	w->net->loses = before;
}

/* A datagram of somebody who has no keys. */
static void forge(struct world *w)
{
	static const uint8_t types[] = {0, 1, 2, 3, 11, 14, 16, 20};
	unsigned to = draw(w, 2), len = 12 + draw(w, 80);
	const struct dtls_head h = {draw(w, 4) ? DTLS_HANDSHAKE
					       : DTLS_CHANGE_CIPHER_SPEC + draw(w, 4),
				    (uint16_t)(draw(w, 8) == 0), draw(w, 100), len};
	uint8_t p[DTLS_HEAD + 100], *m = p + DTLS_HEAD;
	struct span at = {p, DTLS_HEAD + len}, packet;

	dtls_head_put(p, &h);
	for (unsigned i = 0; i < len; i++)
		m[i] = (uint8_t)draw(w, 256);
	m[0] = types[draw(w, sizeof(types))];
	m[1] = m[2] = m[6] = m[7] = m[8] = m[9] = m[10] = 0;
	m[3] = m[11] = (uint8_t)(len - 12);
	w->harmed = true; /* it may have cost a handshake its time */
	must(!dtls_input(w->net->end[to].dtls, &w->net->end[to].peer, &at, w->net->now_us,
			 &packet));
}

static void restart(struct world *w)
{
	w->harmed = true;
	net_restart(w->net, draw(w, 2));
}

static void refuse(struct world *w)
{
	w->harmed = true;
	w->net->end[draw(w, 2)].refuses = draw(w, 3) ? NULL : "no";
}

static void want(struct world *w, unsigned i, bool renews)
{
	struct net_end *e = &w->net->end[i];
	int r = renews ? dtls_renew(e->dtls, &e->peer, w->net->now_us)
		       : dtls_connect(e->dtls, &e->peer, w->net->now_us);

	must(r == 0);
}

static void step(struct world *w)
{
	unsigned what = draw(w, 24);

	if (w->trace)
		printf("%10.3f s: step %u\n", (double)w->net->now_us / SECOND, what);
	if (what < 8)
		send_some(w);
	else if (what < 12)
		want(w, draw(w, 2), draw(w, 2));
	else if (what < 14)
		change_network(w);
	else if (what < 17)
		forge(w);
	else if (what == 17)
		cut_network(w);
	else if (what == 18)
		restart(w);
	else if (what == 19)
		refuse(w);
	else if (what == 20)
		net_run(w->net, draw(w, TAKEOVER_S) * SECOND);
	net_run(w->net, draw(w, 400) * 1000);
}

/* ---- the end ---- */

static void carry(struct world *w)
{
	for (unsigned from = 0; from < 2; from++) {
		unsigned before = w->net->end[!from].received;

		for (unsigned i = 0; i < AGAIN; i++, w->sent[from]++)
			must(net_send(w->net, from, w->sent[from]));
		net_run(w->net, SECOND);
		must(w->net->end[!from].received == before + AGAIN);
	}
}

static void be_good(struct world *w)
{
	w->net->loses = w->net->doubles = w->net->delays = 0;
	for (unsigned i = 0; i < 2; i++)
		w->net->end[i].refuses = NULL;
	net_run(w->net, 3 * HANDSHAKE_S * SECOND);
	for (unsigned i = 0; i < 2; i++)
		want(w, i, true);
	must(net_until_up(w->net, 5 * SECOND));
	net_run(w->net, 2 * HANDSHAKE_S * SECOND);
	check(w);
	carry(w);
}

/* Nothing goes down any more, and keys are replaced without anybody's wish. */
static void go_on(struct world *w)
{
	unsigned down = w->net->end[0].down + w->net->end[1].down;
	uint64_t before = stats_of(w, 0).takeovers;

	for (unsigned i = 0; i < 3; i++) {
		net_run(w->net, (TAKEOVER_S + 60) * SECOND);
		carry(w);
	}
	must(stats_of(w, 0).takeovers >= before + 2);
	must(w->net->end[0].down + w->net->end[1].down == down);
	for (unsigned i = 0; i < 2; i++)
		must(stats_of(w, i).handshakes == 0);
}

/* The whole world as one number. */
static uint64_t run(uint64_t seed, bool trace)
{
	struct world w = {.seed = seed, .rng = seed * 7919 + 1, .trace = trace};
	uint64_t sum;

	fake_seed = seed;
	w.net = net_new(&nobody, &nobody, false);
	w.net->seed = (uint32_t)seed;
	for (unsigned i = 0; i < STEPS; i++) {
		step(&w);
		check(&w);
	}
	be_good(&w);
	go_on(&w);
	sum = w.net->sent * 1000003u + w.net->end[0].bytes_in * 31 + w.net->end[1].bytes_out +
	      w.net->now_us;
	net_free(w.net);
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t first = 1, last = 2000, sum = 0;
	bool trace = argc > 1 && strcmp(argv[argc - 1], "--trace") == 0;

	if (argc - trace == 4 && strcmp(argv[1], "--seeds") == 0) {
		first = strtoull(argv[2], NULL, 10);
		last = strtoull(argv[3], NULL, 10);
	}
	for (uint64_t seed = first; seed <= last; seed++) {
		uint64_t one;

		printf("seed %" PRIu64 "\r", seed); /* the last one that is shown has failed */
		fflush(stdout);
		one = run(seed, trace);
		if (seed == first)
			must(run(seed, false) == one); /* it depends on nothing else */
		sum = sum * 31 + one;
	}
	printf("seeds %" PRIu64 " to %" PRIu64 ": %016" PRIx64 "\n", first, last, sum);
	return 0;
}
