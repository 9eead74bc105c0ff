/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/own_rounds.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	THREADS = 4,
	BYTES = 1 << 20,
	WORDS = BYTES / sizeof(uint32_t),
	STRIDE = 61, /* words between those of one thread, times THREADS */
	LIVE = 32,   /* regions at the same time */
};

static uint32_t *memory;
static bool stop;

/* Adds 1 to each of its words, over and over. Then all must have the same value. */
static void *count(void *arg)
{
	size_t first = (size_t)arg;
	uint32_t turns = 0;

	for (; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); turns++)
		for (size_t i = first; i < WORDS; i += STRIDE * THREADS)
			memory[i]++;
	for (size_t i = first; i < WORDS; i += STRIDE * THREADS)
		if (memory[i] != turns)
			fail("word %zu: %u, expected %u: a store was lost", i, memory[i], turns);
	return NULL;
}

static void registers(struct end *e, unsigned *seed, struct ddp_mr **mr)
{
	size_t offset = (size_t)rand_r(seed) % BYTES, most = rand_r(seed) % 8 ? 20000 : BYTES;
	size_t len = 1 + (size_t)rand_r(seed) % most;

	if (len > BYTES - offset)
		len = BYTES - offset;
	if (ddp_reg_mr(e->pd, (char *)memory + offset, len, RIG_ALL, NULL, mr))
		fail("registration of %zu bytes at %zu: %s", len, offset, ddp_last_reason());
}

void own_rounds(struct end *e, unsigned seed)
{
	const char *env = getenv("OWN_ROUNDS");
	unsigned rounds = env ? (unsigned)atoi(env) : 10000;
	struct ddp_mr *mrs[LIVE] = {NULL};
	pthread_t threads[THREADS];

	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, count, (void *)i))
			fail("pthread_create");
	for (unsigned i = 0; i < rounds; i++) {
		struct ddp_mr **mr = &mrs[rand_r(&seed) % LIVE];

		if (*mr) {
			MUST(ddp_dereg_mr(*mr));
			*mr = NULL;
		} else {
			registers(e, &seed, mr);
		}
	}
	for (size_t i = 0; i < LIVE; i++)
		MUST(ddp_dereg_mr(mrs[i]));
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ok("%u registrations and deregistrations while %d threads count", rounds, THREADS);
	munmap(memory, BYTES);
}
