/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "util/timer.h"

enum { TIMERS = 200, STEPS = 20000 };

static struct timers ts;
static struct timer timer[TIMERS];
static uint64_t model[TIMERS]; /* the deadline of each, UINT64_MAX: none */
static uint64_t last_fired;
static unsigned fired;

static void note(struct timer *t)
{
	size_t i = (size_t)(t - timer);

	cr_assert_geq(model[i], last_fired, "timers fire in order");
	last_fired = model[i];
	model[i] = UINT64_MAX;
	fired++;
}

static uint64_t earliest(void)
{
	uint64_t at = UINT64_MAX;

	for (unsigned i = 0; i < TIMERS; i++)
		if (model[i] < at)
			at = model[i];
	return at;
}

Test(timers, an_empty_set_has_no_expiry)
{
	cr_assert_eq(timer_expiry(&ts), UINT64_MAX);
	cr_assert_not(timer_run(&ts, UINT64_MAX - 1));
}

Test(timers, random_operations_agree_with_a_plain_array)
{
	uint64_t now = 0;

	srand(7);
	for (unsigned i = 0; i < TIMERS; i++) {
		timer_init(&timer[i], note);
		model[i] = UINT64_MAX;
	}
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = (unsigned)rand() % TIMERS;

		switch (rand() % 4) {
		case 0:
			timer_cancel(&ts, &timer[i]);
			model[i] = UINT64_MAX;
			break;
		case 1:
			last_fired = 0;
			now += (unsigned)rand() % 20;
			timer_run(&ts, now);
			break;
		default:
			model[i] = now + (unsigned)rand() % 300;
			timer_set(&ts, &timer[i], model[i]);
		}
		cr_assert_eq(timer_expiry(&ts), earliest());
	}
	last_fired = 0;
	timer_run(&ts, UINT64_MAX - 1);
	cr_assert_eq(earliest(), UINT64_MAX);
	cr_assert_gt(fired, 1000);
}

static unsigned rearmed;

static void rearm(struct timer *t)
{
	rearmed++;
	timer_set(&ts, t, 3); /* has passed */
}

Test(timers, a_timer_set_for_the_past_by_a_timer_fires_in_the_next_run)
{
	timer_init(&timer[0], rearm);
	timer_set(&ts, &timer[0], 5);
	timer_run(&ts, 10);
	cr_assert_eq(rearmed, 1);
	cr_assert_eq(timer_expiry(&ts), 11);
	timer_run(&ts, 11);
	cr_assert_eq(rearmed, 2);
}

static void cancel_other(struct timer *t)
{
	(void)t;
	timer_cancel(&ts, &timer[1]);
}

static void must_not_fire(struct timer *t)
{
	(void)t;
	cr_assert(false, "the timer was canceled");
}

Test(timers, a_timer_that_another_one_cancels_does_not_fire)
{
	timer_init(&timer[0], cancel_other);
	timer_init(&timer[1], must_not_fire);
	timer_set(&ts, &timer[0], 5);
	timer_set(&ts, &timer[1], 6);
	timer_run(&ts, 10);
	cr_assert_eq(timer_expiry(&ts), UINT64_MAX);
}
