/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own_stress [ROUNDS [SEED]]
 *
 * Promise: threads that register overlapping parts of one area of memory, and end that again,
 * disturb neither each other nor the threads that count there: no store is lost, and at the end
 * every page is private again.
 */
#include <ddp/ddp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "client-lib/base/maps.h"
#include "client-lib/own_memory/own_memory.h"
#include "tests/stress/pace.h"

enum {
	REGISTRARS = 2,
	COUNTERS = 2,
	BYTES = 256 << 10,
	WORDS = BYTES / sizeof(uint32_t),
	STRIDE = 61, /* words between those of one thread, times COUNTERS */
	LIVE = 6,    /* registrations of a thread at the same time */
};

static uint32_t *memory;
static uint64_t rounds; /* of one part and thread */
static _Atomic unsigned seed;
static atomic_bool stop;
static unsigned areas;

static void fail(const char *what)
{
	fprintf(stderr, "FAILED: %s: %s\n", what, ddp_last_reason());
	exit(1);
}

static void get(unsigned *random, struct own_memory *m)
{
	const struct own_memory_how how = {.write = true};
	size_t offset = (size_t)rand_r(random) % BYTES, len = 1 + (size_t)rand_r(random) % 40000;
	int r;

	if (len > BYTES - offset)
		len = BYTES - offset;
	r = own_memory_get("own_stress", (char *)memory + offset, len, &how, m);
	if (r)
		fail("own_memory_get");
}

static void *registers(void *arg)
{
	struct own_memory live[LIVE] = {{0}};
	unsigned random = atomic_fetch_add(&seed, 1);

	(void)arg;
	for (uint64_t i = 0; i < rounds; i++) {
		struct own_memory *m = &live[rand_r(&random) % LIVE];

		if (m->rung)
			own_memory_put(m, false);
		else
			get(&random, m);
	}
	for (unsigned i = 0; i < LIVE; i++)
		own_memory_put(&live[i], false);
	return NULL;
}

/* Adds 1 to each of its words, over and over. Then all must have the same value. */
static void *counts(void *arg)
{
	size_t first = (size_t)(uintptr_t)arg;
	uint32_t turns = memory[first];

	while (!atomic_load(&stop)) {
		turns++;
		for (size_t i = first; i < WORDS; i += STRIDE * COUNTERS)
			memory[i]++;
	}
	for (size_t i = first; i < WORDS; i += STRIDE * COUNTERS)
		if (memory[i] != turns)
			fail("a store was lost");
	return NULL;
}

static int count_shared(const struct maps_area *a, void *arg)
{
	(void)arg;
	if (a->start < (uintptr_t)memory + BYTES && a->end > (uintptr_t)memory)
		areas += a->kind != MAPS_ANON;
	return 0;
}

static void part(void)
{
	pthread_t thread[REGISTRARS + COUNTERS];

	atomic_store(&stop, false);
	for (size_t i = 0; i < REGISTRARS + COUNTERS; i++)
		if (pthread_create(&thread[i], NULL, i < REGISTRARS ? registers : counts,
				   (void *)(uintptr_t)(i - (i < REGISTRARS ? 0 : REGISTRARS))))
			fail("pthread_create");
	for (size_t i = 0; i < REGISTRARS; i++)
		pthread_join(thread[i], NULL);
	atomic_store(&stop, true);
	for (size_t i = REGISTRARS; i < REGISTRARS + COUNTERS; i++)
		pthread_join(thread[i], NULL);
	areas = 0;
	if (maps_each_own(count_shared, NULL) || areas)
		fail("pages are still shared");
}

static void *waits(void *arg)
{
	while (!atomic_load(&stop))
		sched_yield();
	return arg;
}

/* Whether this system can move pages while other threads run. */
static bool can_move(void)
{
	const struct own_memory_how how = {.write = true};
	struct own_memory m = {0};
	int r = own_memory_get("own_stress", memory, 1, &how, &m);

	own_memory_put(&m, false);
	return r != -EOPNOTSUPP;
}

int main(int argc, char **argv)
{
	struct pace_parts parts = {0};
	pthread_t other;

	rounds = pace_share(argc > 1 ? strtoull(argv[1], NULL, 10) : 10000);
	seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || pthread_create(&other, NULL, waits, NULL))
		return 1;
	if (!can_move()) {
		printf("userfaultfd is not available: %s\n", ddp_last_reason());
		return 77;
	}
	atomic_store(&stop, true);
	pthread_join(other, NULL);
	while (pace_part(&parts))
		part();
	printf("%" PRIu64 " registrations and their ends by each of %d threads\n",
	       rounds * parts.done, REGISTRARS);
	return 0;
}
