/* SPDX-License-Identifier: BSD-2-Clause */
/* Pseudo-random pauses, and a CPU for each thread: so the threads of a stress test interleave in
 * many orders. And parts, so that a busy machine does less and needs no longer. */
#ifndef TESTS_STRESS_PACE_H
#define TESTS_STRESS_PACE_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum {
	PACE_PARTS = 50,
	PACE_SECONDS = 20,     /* no new part begins after that */
	PACE_WATCHDOG_S = 300, /* for one part, whose threads wait for each other without a limit */
};

/* The parts of a run; all zero at its beginning. */
struct pace_parts {
	unsigned done;
	time_t began;
};

/* True if another part has to be run, of 1/PACE_PARTS of the work. Where other programs keep the
 * CPUs busy, each change from thread to thread takes milliseconds, and fewer parts are run. */
static inline bool pace_part(struct pace_parts *p)
{
	struct timespec now;

	alarm(PACE_WATCHDOG_S);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (p->done == 0)
		p->began = now.tv_sec;
	if (p->done == PACE_PARTS || now.tv_sec - p->began > PACE_SECONDS)
		return false;
	p->done++;
	return true;
}

/* The work of one part. */
static inline uint64_t pace_share(uint64_t all)
{
	return all < PACE_PARTS ? 1 : all / PACE_PARTS;
}

/* A number below n, and the next state of the generator (xorshift64; never 0). */
static inline uint32_t pace_draw(uint64_t *rng, uint32_t n)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return (uint32_t)(*rng >> 32) % n;
}

/* Spins for fewer than `most` steps of a loop. */
static inline void pace_pause(uint64_t *rng, uint32_t most)
{
	for (volatile uint32_t n = pace_draw(rng, most); n > 0; n--)
		;
}

/* Spins for a short time: sometimes about as long as a wake-up takes. */
static inline void pace_spin(uint64_t *rng)
{
	pace_pause(rng, pace_draw(rng, 2) ? 300 : 20000);
}

/* Binds the thread to the n-th CPU that the process may use; with fewer CPUs, it stays where it is.
 * Otherwise the scheduler moves threads that wake each other to the same CPU, where they never run
 * at the same time. */
static inline void pace_pin(pthread_t thread, unsigned n)
{
	static cpu_set_t all; /* before the first thread was bound */
	cpu_set_t one;

	if (CPU_COUNT(&all) == 0)
		sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all) && n-- == 0)
			CPU_SET(cpu, &one);
	}
	pthread_setaffinity_np(thread, sizeof(one), &one);
}

#endif
