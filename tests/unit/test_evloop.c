/* SPDX-License-Identifier: BSD-2-Clause */
/* The event loop: turns, sleeping, polling, time and signals. */
#include <criterion/criterion.h>

#include <signal.h>
#include <string.h>

#include "tests/unit/evloop_rig.h"

TestSuite(evloop, .init = evloop_setup, .fini = evloop_teardown, .timeout = 30);

/* ---- sleeping ---- */

Test(evloop, a_bell_rung_during_sleep_wakes_and_a_turn_comes_before_the_callback)
{
	begin(0);
	on_sleep = ring_and_sleep;
	stop_after = 3;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, count_and_drain, &calls, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tsatct");
}

static bool refuse_sleep(void)
{
	return false;
}

Test(evloop, a_refused_sleep_is_followed_by_awake_and_a_turn)
{
	begin(0);
	on_sleep = refuse_sleep;
	stop_after = 3;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tsatsat");
}

Test(evloop, descriptors_are_served_while_sleep_is_refused)
{
	begin(0);
	on_sleep = refuse_sleep;
	ring(fd);
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, count_and_stop, NULL, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(calls, 1);
}

Test(evloop, without_a_polling_budget_the_first_empty_turn_sleeps)
{
	begin(0);
	cr_expect_eq(event_loop_poll_us(l), 0);
	on_sleep = ring_and_sleep;
	stop_after = 5;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, count_and_drain, &calls, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tsatctsatct");
}

Test(evloop, a_busy_loop_never_sleeps)
{
	begin(0);
	busy = true;
	stop_after = 1000;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(sleeps, 0);
}

Test(evloop, within_the_polling_budget_it_does_not_sleep)
{
	begin_fake(20000000, 1);
	stop_after = 100;
	if (event_loop_poll_us(l) == 0)
		cr_skip_test("one CPU: polling is off");
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(sleeps, 0);
}

Test(evloop, the_polling_budget_can_be_changed)
{
	begin_fake(0, 1);
	event_loop_set_poll_us(l, 1000000);
	if (event_loop_poll_us(l) == 0)
		cr_skip_test("one CPU: polling is off");
	cr_expect_eq(event_loop_poll_us(l), 1000000);
	stop_after = 10;
	cr_expect_eq(event_loop_run(l), 0);
	cr_expect_eq(sleeps, 0);
	event_loop_set_poll_us(l, 0);
	cr_expect_eq(event_loop_poll_us(l), 0);
}

Test(evloop, after_the_polling_budget_it_sleeps)
{
	begin(50);
	on_sleep = ring_and_sleep;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, count_and_stop, NULL, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(sleeps, 1);
	cr_expect_str_eq(trace + strlen(trace) - 4, "satc");
}

/* ---- polling, by a clock of the test ---- */

static unsigned period; /* one turn of so many has work */

static void work_each_period(void)
{
	busy = turns % period == 0;
}

Test(evloop, it_polls_through_gaps_that_are_within_the_budget)
{
	begin_fake(200, 5);
	period = 10; /* 9 turns without work, 2 looks at the clock each: 90 us */
	on_turn = work_each_period;
	stop_after = 1000;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(sleeps, 0);
}

Test(evloop, it_does_not_poll_when_gaps_are_longer_than_the_budget)
{
	begin_fake(200, 5);
	period = 100; /* a gap: 990 us */
	on_turn = work_each_period;
	on_sleep = refuse_sleep;
	stop_after = 1000;
	cr_assert_eq(event_loop_run(l), 0);
	sleeps = awakes = turns = 0;
	stop_after = 1000;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_geq(sleeps, 960, "all but one of the 10 gaps sleep at once");
}

/* Packets from far away, which their sender spreads. */
Test(evloop, work_that_can_wait_is_no_reason_to_poll)
{
	begin_fake(200, 5);
	period = 10;
	patient = true;
	on_turn = work_each_period;
	on_sleep = refuse_sleep;
	stop_after = 1000;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_geq(sleeps, 850, "all turns without work, after the first 200 us");
}

static void wait_but_for_each_third(void)
{
	work_each_period();
	patient = turns % (3 * period) != 0;
}

Test(evloop, it_polls_for_the_work_between_that_cannot_wait)
{
	begin_fake(400, 5);
	period = 10; /* a gap: 290 us */
	on_turn = wait_but_for_each_third;
	stop_after = 1000;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(sleeps, 0);
}

Test(evloop, the_time_of_turns_is_counted_that_found_work)
{
	const struct histogram *h;

	begin_fake(0, 100);
	period = 2;
	on_turn = work_each_period;
	on_sleep = refuse_sleep;
	stop_after = 21;
	cr_assert_eq(event_loop_run(l), 0);
	h = event_loop_turns(l);
	cr_expect_eq(h->bucket[histogram_bucket_of(100)].n, 11, "10 of 21, and the beginning");
	cr_expect_eq(h->bucket[histogram_bucket_of(100)].sum, 1100);
}

static bool rest_and_ring(void)
{
	clock_us += 50000;
	return ring_and_sleep();
}

/* Requests and accepted clients are work, too. */
Test(evloop, rests_that_a_callback_ends_are_not_polled)
{
	begin_fake(200, 5);
	on_sleep = rest_and_ring;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, count_and_drain, &calls, &w), 0);
	stop_after = 2000;
	cr_assert_eq(event_loop_run(l), 0);
	sleeps = awakes = turns = 0;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_geq(sleeps, 500, "of a rest in 16, 200 us are polled: 20 turns or more");
}

static void lose_cpu_once(void)
{
	step_us = turns == 55 ? 1000 : 5;
	work_each_period();
}

Test(evloop, when_the_cpu_is_taken_away_it_sleeps)
{
	begin_fake(200, 5);
	period = 10;
	on_turn = lose_cpu_once;
	on_sleep = refuse_sleep;
	stop_after = 58;
	cr_assert_eq(event_loop_run(l), 0);
	sleeps = awakes = 0;
	stop_after = 200; /* less than 10 ms later */
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_geq(sleeps, 120, "no turn without work is followed by a poll");
}

Test(evloop, a_busy_loop_looks_at_descriptors_once_a_millisecond)
{
	begin_fake(200, 10);
	busy = true;
	expiry_us = UINT64_MAX;
	stop_after = 1000; /* 10 ms */
	waits = 0;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_leq(waits, 10);
	cr_expect_geq(waits, 9);
	cr_expect_eq(timers, 0);
}

static void expire_later_each_turn(void)
{
	expiry_us = clock_us + 200000;
}

Test(evloop, an_expiry_that_moves_on_sets_the_timer_once)
{
	begin_fake(0, 1); /* the loop also looks at descriptors when a millisecond has passed */
	on_turn = expire_later_each_turn;
	on_sleep = ring_and_sleep;
	stop_after = 20;
	waits = 0;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, NULL, NULL, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_geq(sleeps, 19);
	cr_expect_eq(timers, 1);
	cr_expect_leq(waits, sleeps, "one wait a sleep");
}

static void expire_sooner_each_turn(void)
{
	expiry_us = 1000 * (event_loop_now_ms(l) + 100000 - 1000 * turns);
}

Test(evloop, an_expiry_that_comes_sooner_sets_the_timer)
{
	begin(0);
	on_turn = expire_sooner_each_turn;
	on_sleep = ring_and_sleep;
	stop_after = 11;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, NULL, NULL, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(timers, 10);
}

static bool stop_in_sleep(void)
{
	event_loop_stop(l);
	return true;
}

Test(evloop, it_can_be_stopped_from_the_sleep_hook)
{
	begin(0);
	on_sleep = stop_in_sleep;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tsa");
}

Test(evloop, a_stop_before_the_run_is_not_lost_and_counts_once)
{
	begin(0);
	event_loop_stop(l);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "");
	stop_after = 1;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "t");
}

/* ---- time ---- */

static void stop_when_due(void)
{
	if (expiry_us == UINT64_MAX)
		expiry_us = 1000 * (event_loop_now_ms(l) + 30);
	else if (1000 * event_loop_now_ms(l) >= expiry_us)
		event_loop_stop(l);
}

Test(evloop, it_sleeps_until_the_expiry_and_no_longer)
{
	begin(0);
	on_turn = stop_when_due;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_geq(1000 * now, expiry_us);
	cr_expect_leq(sleeps, 5, "it slept a few times and did not spin");
}

static void expire_soon(void)
{
	expiry_us = clock_us + 300;
}

Test(evloop, a_timer_that_fires_costs_a_wait_and_a_setting)
{
	begin_fake(0, 1); /* the loop also looks at descriptors when a millisecond has passed */
	on_turn = expire_soon;
	stop_after = 20;
	waits = reads = timers = 0;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(reads, 0);
	cr_expect_leq(timers, sleeps);
	cr_expect_leq(waits, sleeps);
}

static void take_100_us(void)
{
	expiry_us = clock_us + 300;
	clock_us += 100;
}

Test(evloop, the_timer_is_set_to_the_microsecond_although_the_turn_took_a_while)
{
	begin_fake(0, 0);
	on_turn = take_100_us;
	stop_after = 2;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(timers, 1);
	cr_expect_eq(timer_ns, 200000);
}

Test(evloop, an_expiry_in_the_past_does_not_block)
{
	begin(0);
	expiry_us = 0;
	stop_after = 3;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tsatsat");
}

Test(evloop, the_clock_is_read_again_after_a_sleep)
{
	begin(0);
	on_turn = stop_when_due;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_geq(1000 * awake_ms, expiry_us,
		      "awake() and callbacks do not see the time of the turn");
}

/* ---- signals ---- */

static void on_usr1(void *user, int signo)
{
	cr_expect_eq(user, &calls);
	cr_expect_eq(signo, SIGUSR1);
	note('u');
	event_loop_stop(l);
}

static bool raise_and_sleep(void)
{
	raise(SIGUSR1);
	return true;
}

Test(evloop, a_signal_wakes_and_calls_from_the_loop)
{
	begin(0);
	on_sleep = raise_and_sleep;
	cr_assert_eq(event_loop_signal(l, SIGUSR1, on_usr1, &calls), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tsau");
}
