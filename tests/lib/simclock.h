/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtual clock in microseconds with a queue of events, and the random numbers of one run. Only
 * simclock_step() advances the time. The same seed and the same calls give the same run on every
 * machine.
 */
#ifndef TESTS_LIB_SIMCLOCK_H
#define TESTS_LIB_SIMCLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct simclock;

/* An event: called with the two pointers given at scheduling. */
typedef void simclock_fn(void *obj, void *arg);

/* NULL when there is no memory. */
struct simclock *simclock_new(uint64_t seed);

/* Drops all scheduled calls. NULL is allowed. */
struct simclock *simclock_free(struct simclock *k);

/* Microseconds since the run began. */
uint64_t simclock_now(const struct simclock *k);

/* Schedules a call. Calls of the same microsecond are made in the order of scheduling. */
void simclock_after(struct simclock *k, uint64_t us, simclock_fn *fn, void *obj, void *arg);

/* Goes to the next call and makes it. False if nothing is scheduled. */
bool simclock_step(struct simclock *k);

/* How many calls are scheduled. */
size_t simclock_pending(const struct simclock *k);

/* Sixty-four random bits. */
uint64_t simclock_random(struct simclock *k);

/* A random number below n; 0 for n = 0. */
uint64_t simclock_below(struct simclock *k, uint64_t n);

/* True in so many of 10 000 cases. Draws no number for 0. */
bool simclock_chance(struct simclock *k, unsigned of_10000);

#endif
