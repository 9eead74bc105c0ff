/* SPDX-License-Identifier: BSD-2-Clause */
/* The decision how long to poll, from the gaps between work alone, without a clock. */
#include <criterion/criterion.h>

#include "util/spin.h"

enum { MAX = 200 };

static struct spin s;
static uint64_t now;

static void setup(void)
{
	spin_init(&s, MAX);
	now = 1000000;
}

TestSuite(spin, .init = setup, .timeout = 10);

/* n gaps of this length. Returns how many of them ended while polling; *ret_cost: time polled. */
static unsigned gaps(unsigned n, uint64_t gap, uint64_t *ret_cost)
{
	unsigned hits = 0;
	uint64_t cost = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t window = spin_window(&s, now);

		cr_assert_leq(window, s.max_us);
		hits += gap <= window;
		cost += gap <= window ? gap : window;
		now += gap;
		spin_gap(&s, gap);
	}
	if (ret_cost)
		*ret_cost = cost;
	return hits;
}

Test(spin, without_history_it_polls_for_the_budget)
{
	cr_expect_eq(spin_window(&s, now), MAX);
}

Test(spin, a_budget_of_zero_never_polls)
{
	uint64_t cost;

	spin_init(&s, 0);
	gaps(1000, 1, &cost);
	cr_expect_eq(cost, 0);
}

Test(spin, gaps_within_the_budget_are_polled)
{
	cr_expect_eq(gaps(100, MAX / 2, NULL), 100);
	cr_expect_eq(gaps(100, 10, NULL), 100);
}

Test(spin, gaps_a_bit_longer_than_the_budget_are_not_polled)
{
	uint64_t cost;

	gaps(100, MAX + 1, NULL);
	cr_expect_eq(gaps(160, MAX + 1, &cost), 0);
	cr_expect_leq(cost, 10 * MAX, "one of 16 is a probe");
}

Test(spin, rare_work_costs_next_to_nothing)
{
	uint64_t cost;

	gaps(100, 10000, NULL);
	gaps(1600, 10000, &cost);
	cr_expect_leq(cost, 100 * MAX, "0.13 percent of the time");
}

/* A message, two answers, and a rest. */
Test(spin, gaps_of_a_burst_are_polled_and_the_rest_after_it_is_not)
{
	uint64_t cost = 0, of_gap;
	unsigned hits = 0;

	for (unsigned i = 0; i < 200; i++) {
		if (i == 40)
			cost = hits = 0;
		hits += gaps(1, 60, NULL) + gaps(1, 90, NULL);
		gaps(1, 50000, &of_gap);
		cost += of_gap;
	}
	cr_expect_eq(hits, 2 * 160);
	cr_expect_leq(cost, 160 / 16 * MAX, "one rest of 16 is a probe");
}

/* A message has one answer or two. */
Test(spin, a_gap_that_is_often_short_is_polled)
{
	unsigned hits = 0;

	for (unsigned i = 0; i < 200; i++) {
		hits += gaps(1, 60, NULL);
		if (i % 2 == 0)
			hits += gaps(1, 60, NULL);
		gaps(1, 50000, NULL);
	}
	cr_expect_geq(hits, 290);
}

Test(spin, it_polls_again_soon_after_work_has_become_frequent)
{
	gaps(1000, 10000, NULL);
	cr_expect_geq(gaps(100, 50, NULL), 95);
}

Test(spin, one_pause_does_not_end_polling)
{
	gaps(100, 20, NULL);
	gaps(1, 5000000, NULL);
	cr_expect_eq(gaps(10, 20, NULL), 10);
}

Test(spin, a_gap_much_longer_than_usual_is_given_up_before_the_budget)
{
	gaps(100, 15, NULL);
	cr_expect_leq(spin_window(&s, now), MAX / 2);
	cr_expect_geq(spin_window(&s, now), 30);
}

Test(spin, a_lost_cpu_pauses_polling)
{
	gaps(100, 20, NULL);
	spin_lost(&s, now);
	cr_expect_eq(spin_window(&s, now), 0);
	cr_expect_eq(spin_window(&s, now + 9999), 0);
	cr_expect_gt(spin_window(&s, now + 10000), 0);
}

Test(spin, a_loop_that_loses_the_cpu_each_time_polls_once_a_second)
{
	unsigned polls = 0;
	uint64_t end;

	for (unsigned i = 0; i < 10; i++) {
		now = s.off_until_us;
		spin_lost(&s, now);
	}
	end = now + 10000000;
	while (now < end) {
		if (spin_window(&s, now) > 0) {
			polls++;
			spin_lost(&s, now);
		}
		now += 100;
		spin_gap(&s, 50);
	}
	cr_expect_leq(polls, 10);
	cr_expect_geq(polls, 8);
}

Test(spin, after_a_quiet_time_a_lost_cpu_costs_little_again)
{
	for (unsigned i = 0; i < 10; i++) {
		now = s.off_until_us;
		spin_lost(&s, now);
	}
	now = s.off_until_us + 2000000;
	spin_lost(&s, now);
	cr_expect_gt(spin_window(&s, now + 10000), 0);
}
