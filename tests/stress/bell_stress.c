/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bell_stress [MARKS [SEED]]
 *
 * Promise: no mark of a client in the bell page is lost. The daemon reads only queues whose bit it
 * took, sleeps without a limit, and still finds all work. A client continues only when the daemon
 * has taken its last mark, so a later ring of that client cannot replace a lost one: then the
 * watchdog ends the program. In the run with one client no other client's ring can replace it
 * either.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ipc/doorbell.h"
#include "ipc/ring.h"
#include "tests/stress/pace.h"

enum { MAX_CLIENTS = 3, LOOKS = 3000, POLLS = 20000 };

static struct bell_page page;
/* Marks that the daemon has not taken, per queue. They stand for the entries of its ring. */
static _Atomic uint32_t marks[BELL_QUEUES];
static int ring_fd, wait_fd;

struct client {
	pthread_t thread;
	uint32_t number;
	uint64_t todo, rng, rings;
};

/* Its own queues, in its own words and in one word that all clients share. */
static uint32_t pick(struct client *c)
{
	return (pace_draw(&c->rng, 2) ? 0 : 64 * (1 + pace_draw(&c->rng, BELL_WORDS - 1))) +
	       c->number;
}

/* Polls before it yields: on a busy machine a thread that yields runs again only after the daemon
 * has gone to sleep. */
static void await_taken(uint32_t q)
{
	for (unsigned polls = 0; atomic_load_explicit(&marks[q], memory_order_acquire); polls++) {
		if (polls > POLLS)
			sched_yield();
	}
}

static void *mark_queues(void *arg)
{
	struct client *c = arg;

	while (c->todo-- > 0) {
		uint32_t q = pick(c);

		pace_spin(&c->rng);
		atomic_fetch_add_explicit(&marks[q], 1, memory_order_release);
		if (bell_ring(&page, q)) {
			doorbell_ring(ring_fd);
			c->rings++;
		}
		await_taken(q);
	}
	return NULL;
}

static uint64_t take_word(unsigned w)
{
	uint64_t bits = bell_take_word(&page, w);
	uint64_t got = 0;

	for (; bits; bits &= bits - 1)
		got += atomic_exchange_explicit(&marks[w * 64 + (unsigned)__builtin_ctzll(bits)], 0,
						memory_order_acquire);
	return got;
}

static uint64_t take(void)
{
	uint64_t words = bell_any(&page) ? bell_take(&page) : 0;
	uint64_t got = 0;

	for (; words; words &= words - 1)
		got += take_word((unsigned)__builtin_ctzll(words));
	return got;
}

static uint64_t sleep_until_rung(uint64_t *rng)
{
	struct pollfd p = {.fd = wait_fd, .events = POLLIN};
	bool sleeps;

	if (pace_draw(rng, 2))
		pace_spin(rng);
	sleeps = bell_sleep(&page);
	if (sleeps) {
		poll(&p, 1, -1);
		doorbell_drain(wait_fd);
	}
	bell_awake(&page);
	return sleeps;
}

/* Returns how often it slept. */
static uint64_t serve(uint64_t total, uint64_t seed)
{
	uint64_t got = 0, sleeps = 0, rng = seed + 77;
	uint32_t looks = 0;

	while (got < total) {
		uint64_t n = take();

		got += n;
		if (n) {
			looks = pace_draw(&rng, LOOKS);
		} else if (looks > 0) {
			looks--;
		} else {
			sleeps += sleep_until_rung(&rng);
		}
	}
	if (got > total) {
		fprintf(stderr, "FAILED: %" PRIu64 " marks of %" PRIu64 "\n", got, total);
		exit(1);
	}
	return sleeps;
}

static void run_part(unsigned nclients, uint64_t each, uint64_t seed, uint64_t *rings,
		     uint64_t *sleeps)
{
	struct client clients[MAX_CLIENTS];

	for (unsigned i = 0; i < nclients; i++) {
		clients[i] = (struct client){.number = i, .todo = each, .rng = seed + i};
		pthread_create(&clients[i].thread, NULL, mark_queues, &clients[i]);
		pace_pin(clients[i].thread, 1);
	}
	*sleeps += serve(each * nclients, seed);
	for (unsigned i = 0; i < nclients; i++) {
		pthread_join(clients[i].thread, NULL);
		*rings += clients[i].rings;
	}
}

static void run(unsigned nclients, uint64_t each, uint64_t seed)
{
	struct pace_parts parts = {0};
	uint64_t sleeps = 0, rings = 0;

	while (pace_part(&parts))
		run_part(nclients, pace_share(each), seed + 100 * parts.done, &rings, &sleeps);
	printf("%u clients: %" PRIu64 " marks, %" PRIu64 " rings, %" PRIu64 " sleeps\n", nclients,
	       parts.done * pace_share(each) * nclients, rings, sleeps);
}

int main(int argc, char **argv)
{
	uint64_t marks_each = argc > 1 ? strtoull(argv[1], NULL, 0) : 50000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 5043;

	printf("seed %" PRIu64 "\n", seed);
	if (doorbell_create(&ring_fd, &wait_fd))
		return 1;
	pace_pin(pthread_self(), 0);
	run(1, marks_each, seed);
	run(MAX_CLIENTS, marks_each / 4, seed);
	return 0;
}
