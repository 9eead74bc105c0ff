/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlines in order: a pairing heap whose nodes live in the objects, so that setting a timer does
 * not allocate. Setting costs O(1), canceling and firing O(log n) on average, and the earliest
 * deadline is always at hand. Time is an argument, in any unit that the owner chooses.
 */
#ifndef UTIL_TIMER_H
#define UTIL_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* One deadline. Private but for initialization with timer_init(). */
struct timer {
	struct timer *child, *next; /* first child, next sibling */
	struct timer *prev;         /* previous sibling, or the parent */
	uint64_t at;
	void (*fire)(struct timer *t);
};

/* All zero: no timer is set. */
struct timers {
	struct timer *first;
	uint64_t now; /* of the current run */
	bool running;
};

/* A timer that is not set. fire is called by timer_run(); it may set or cancel any timer and free
 * the object that holds this one. */
void timer_init(struct timer *t, void (*fire)(struct timer *t));

/* Sets or moves the deadline. UINT64_MAX cancels. During timer_run() a deadline that has passed
 * already fires in the next run. */
void timer_set(struct timers *ts, struct timer *t, uint64_t at);

/* Cancels the timer; one that is not set is fine. Required before its memory goes. */
void timer_cancel(struct timers *ts, struct timer *t);

/* Before the object that holds the timer is freed. */
void timer_assert_out(const struct timer *t);

/* The earliest deadline, or UINT64_MAX. */
uint64_t timer_expiry(const struct timers *ts);

/* Fires, in order, all timers whose deadline is not later than now. True if there was any. */
bool timer_run(struct timers *ts, uint64_t now);

#endif
