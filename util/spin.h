/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long to poll before blocking. Polling pays if the gap, the time without work, ends soon: then
 * the wake-up is saved. The history of the gaps decides: gaps within the budget are polled,
 * longer ones are not, apart from a probe now and then. When other programs take the CPU from
 * the poller, polling stops for 10 ms, and for up to a second if this happens again and again.
 *
 * Work comes in bursts: a message, its answer, and then a rest. So each place in a burst, that is
 * the number of gaps since the last one that was longer than the budget, has a history of its own.
 * The gap before the answer is polled however long the rests are, and the rest is not polled.
 *
 * Times are microseconds; the caller reads the clock.
 */
#ifndef UTIL_SPIN_H
#define UTIL_SPIN_H

#include <stdint.h>

enum {
	/* The caller yields the CPU while it polls. If it gets the CPU back only after this time,
	 * it calls spin_lost(): programs that work with it need less. */
	SPIN_LOST_US = 1000,
	SPIN_PLACES = 16, /* the last one is that of all further gaps of a burst */
};

struct spin {
	uint32_t max_us; /* the budget: the longest time to poll; 0: never poll */
	/* Weighted average of the gaps of each place, each counted as at most twice the budget. */
	uint32_t gap_us[SPIN_PLACES];
	uint32_t place;        /* of the next gap */
	uint32_t unpolled;     /* gaps since the last one that was polled against the history */
	uint32_t off_us;       /* length of the last pause of polling ... */
	uint64_t off_until_us; /* ... and its end */
};

/* A new budget. The history begins again. */
void spin_init(struct spin *s, uint32_t max_us);

/* How long to poll in the gap that begins now, at most max_us. */
uint32_t spin_window(struct spin *s, uint64_t now_us);

/* A gap ended after gap_us, polled or not. */
void spin_gap(struct spin *s, uint64_t gap_us);

/* Other programs had the CPU for SPIN_LOST_US or longer while this one polled. */
void spin_lost(struct spin *s, uint64_t now_us);

#endif
