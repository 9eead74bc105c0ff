/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_stress [ENTRIES [SEED]]
 *
 * Promise: of millions of entries none is lost, duplicated, reordered or torn, and no wake-up is
 * lost: each side waits without a limit for the bell of the other, and after a lost ring the
 * watchdog ends the program. Small rings make both sides sleep often.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc/doorbell.h"
#include "ipc/memfd.h"
#include "ipc/ring.h"
#include "tests/stress/pace.h"

enum { ENTRY = 64, WORDS = ENTRY / 8 };

struct end {
	struct ring ring;
	int ring_fd; /* wakes the other end */
	int wait_fd; /* the other end wakes us */
	uint64_t entries, rng, sleeps;
};

static void fail(const char *what, uint64_t at)
{
	fprintf(stderr, "FAILED: %s at entry %" PRIu64 "\n", what, at);
	exit(1);
}

static void sleep_until_rung(struct end *e)
{
	struct pollfd p = {.fd = e->wait_fd, .events = POLLIN};

	e->sleeps++;
	poll(&p, 1, -1);
	doorbell_drain(e->wait_fd);
}

static void fill(uint64_t *slot, uint64_t n)
{
	for (unsigned i = 0; i < WORDS; i++)
		slot[i] = n * 0x9e3779b97f4a7c15u + i;
}

static void check(const uint64_t *slot, uint64_t n)
{
	for (unsigned i = 0; i < WORDS; i++) {
		if (slot[i] != n * 0x9e3779b97f4a7c15u + i)
			fail("wrong contents", n);
	}
}

static void wait_for_room(struct end *e, uint64_t at)
{
	while (ring_room(&e->ring, 1) == 0) {
		pace_spin(&e->rng);
		if (ring_room(&e->ring, 1) != 0)
			break;
		ring_block(&e->ring);
		if (ring_room(&e->ring, 1) == 0)
			sleep_until_rung(e);
	}
	if (ring_room(&e->ring, 1) < 0)
		fail("the producer sees a broken ring", at);
}

static void *produce(void *arg)
{
	struct end *e = arg;
	uint64_t n = 0;

	while (n < e->entries) {
		uint32_t batch = 1 + pace_draw(&e->rng, e->ring.size);

		wait_for_room(e, n);
		while (batch-- > 0 && n < e->entries && ring_room(&e->ring, 1) > 0)
			fill(ring_reserve(&e->ring), n++);
		pace_spin(&e->rng);
		ring_submit(&e->ring);
		if (ring_wake(&e->ring, false))
			doorbell_ring(e->ring_fd);
	}
	return NULL;
}

static void *consume(void *arg)
{
	struct end *e = arg;
	uint64_t n = 0;

	while (n < e->entries) {
		int avail = ring_avail(&e->ring);
		uint32_t batch;

		if (avail < 0)
			fail("the consumer sees a broken ring", n);
		if (avail == 0) {
			pace_spin(&e->rng);
			if (ring_avail(&e->ring) == 0) {
				ring_sleep(&e->ring, RING_SLEEPS);
				if (ring_avail(&e->ring) == 0)
					sleep_until_rung(e);
			}
			continue;
		}
		batch = 1 + pace_draw(&e->rng, (uint32_t)avail);
		for (uint32_t i = 0; i < batch; i++)
			check(ring_slot(&e->ring, e->ring.mine + i), n++);
		ring_release(&e->ring, batch);
		if (ring_unblock(&e->ring))
			doorbell_ring(e->ring_fd);
	}
	return NULL;
}

/* A view whose index wraps soon. */
static void view(struct ring *r, void *mem, uint32_t size)
{
	const uint32_t start = UINT32_MAX - 100;

	ring_init(r, mem, size, ENTRY);
	r->mine = r->theirs = start;
	atomic_store(&r->sh->head, start);
	atomic_store(&r->sh->tail, start);
}

static void close_ends(struct end *a, struct end *b)
{
	close(a->ring_fd);
	close(a->wait_fd);
	close(b->ring_fd);
	close(b->wait_fd);
}

static void run_part(uint32_t size, struct end *producer, struct end *consumer)
{
	size_t bytes = (size_t)ring_bytes(size, ENTRY);
	pthread_t a, b;
	void *mem;
	int fd;

	if (memfd_create_mapped("ring-stress", bytes, &fd, &mem) ||
	    doorbell_create(&producer->ring_fd, &consumer->wait_fd) ||
	    doorbell_create(&consumer->ring_fd, &producer->wait_fd))
		fail("set-up", 0);
	view(&producer->ring, mem, size);
	view(&consumer->ring, mem, size);
	pthread_create(&a, NULL, produce, producer);
	pthread_create(&b, NULL, consume, consumer);
	pace_pin(a, 0);
	pace_pin(b, 1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	if (ring_avail(&consumer->ring) != 0)
		fail("more than was sent", producer->entries);
	munmap(mem, bytes);
	close(fd);
	close_ends(producer, consumer);
}

static void run(uint32_t size, uint64_t entries, uint64_t seed)
{
	struct end producer = {.entries = pace_share(entries), .rng = seed};
	struct end consumer = {.entries = pace_share(entries), .rng = seed + 1};
	struct pace_parts parts = {0};

	while (pace_part(&parts))
		run_part(size, &producer, &consumer);
	printf("ring of %4u: %" PRIu64 " entries; slept: producer %" PRIu64 ", consumer %" PRIu64
	       "\n",
	       size, parts.done * producer.entries, producer.sleeps, consumer.sleeps);
}

int main(int argc, char **argv)
{
	uint64_t entries = argc > 1 ? strtoull(argv[1], NULL, 0) : 200000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 5043;

	printf("seed %" PRIu64 "\n", seed);
	run(1, entries / 4, seed);
	run(2, entries / 2, seed);
	run(8, entries, seed);
	run(256, entries, seed);
	return 0;
}
