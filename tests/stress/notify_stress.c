/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notify_stress [ROUNDS [SEED]]
 *
 * Promise: when a program requests a notification again while the daemon rings, the library counts
 * exactly the rings that arrive. After all completions have been polled, no ring is unread, so the
 * descriptor is not readable and no thread spins on it.
 *
 * A round: both sides race; then the daemon decides to ring again, but rings only after the program
 * has read the earlier rings. Whenever both sides are idle, the descriptor shows whether a ring is
 * unread.
 */
#include <ddp/ddp.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ipc/doorbell.h"
#include "tests/ipc/fake.h"
#include "tests/stress/pace.h"

enum { ENTRIES = 8, POLLS = 20000, PAUSE = 100 };

static struct fake fake;
static struct ddp_ctx *ctx;
static struct ddp_cq *cq;
static _Atomic unsigned arrived;
static uint64_t rounds;     /* of one part */
static uint64_t late_rings; /* read after the daemon's thread has ended */

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "FAILED: %s: %s\n", what, ddp_last_reason());
	exit(1);
}

/* Waits until both threads have called it n times. */
static void meet(unsigned n)
{
	atomic_fetch_add(&arrived, 1);
	for (unsigned polls = 0; atomic_load(&arrived) < 2 * n; polls++) {
		if (polls > POLLS)
			sched_yield();
	}
}

static void put_completion(struct ring *r, uint64_t wr_id)
{
	*(struct wqe_cqe *)ring_reserve(r) = (struct wqe_cqe){.wr_id = wr_id};
	ring_submit(r);
}

static void *daemon_side(void *arg)
{
	struct fake_cq *f = &fake.cq[0];
	uint64_t rng = *(uint64_t *)arg + 1;
	unsigned met = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		bool ring;

		must(ring_room(&f->ring, 2) >= 2, "the ring is empty");
		meet(++met);
		pace_pause(&rng, PAUSE);
		fake_complete(f, &(struct wqe_cqe){.wr_id = 2 * i}, false);
		meet(++met);
		put_completion(&f->ring, 2 * i + 1);
		ring = ring_wake(&f->ring, false);
		meet(++met);
		meet(++met);
		if (ring)
			doorbell_ring(f->bell);
		late_rings += ring;
		meet(++met);
		meet(++met);
	}
	return NULL;
}

/* Polls until the queue is empty. */
static void poll_all(uint64_t *got)
{
	struct ddp_wc wc[ENTRIES];
	int n;

	while ((n = ddp_poll_cq(cq, ENTRIES, wc)) > 0)
		*got += (unsigned)n;
	must(n == 0, "poll");
}

static void program_side(uint64_t seed)
{
	uint64_t rng = seed, got = 0;
	unsigned met = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		struct pollfd p = {.fd = ddp_cq_fd(cq), .events = POLLIN};

		must(ddp_req_notify_cq(cq, 0) == 0, "the queue is empty");
		meet(++met);
		pace_pause(&rng, PAUSE);
		ddp_req_notify_cq(cq, 0);
		meet(++met);
		meet(++met);
		poll_all(&got);
		meet(++met);
		meet(++met);
		poll_all(&got);
		must(poll(&p, 1, 0) == 0, "a ring is left unread");
		meet(++met);
	}
	must(got == 2 * rounds, "each completion once");
}

static void run_part(uint64_t seed)
{
	pthread_t daemon;

	atomic_store(&arrived, 0);
	must(pthread_create(&daemon, NULL, daemon_side, &seed) == 0, "thread");
	pace_pin(daemon, 1);
	program_side(seed);
	pthread_join(daemon, NULL);
}

int main(int argc, char **argv)
{
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = ENTRIES};
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 5043;
	struct pace_parts parts = {0};

	rounds = pace_share(argc > 1 ? strtoull(argv[1], NULL, 0) : 100000);
	printf("seed %" PRIu64 "\n", seed);
	fake_start(&fake);
	must(ddp_open(NULL, &ctx) == 0, "open");
	must(ddp_create_cq(ctx, &attr, &cq) == 0, "create_cq");
	pace_pin(pthread_self(), 0);
	while (pace_part(&parts))
		run_part(seed + 100 * parts.done);
	must(ddp_destroy_cq(cq) == 0, "destroy_cq");
	must(ddp_close(ctx) == 0, "close");
	fake_stop(&fake);
	printf("%" PRIu64 " rounds; asked again after the ring in %" PRIu64 "\n",
	       parts.done * rounds, late_rings);
	return 0;
}
