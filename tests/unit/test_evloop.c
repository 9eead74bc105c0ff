/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop. Each test records the order of the calls of hooks and callbacks: t turn, s sleep,
 * a awake, and a letter for each callback.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/base/event_loop.h"

static struct event_loop *l;
static char trace[256];
static uint64_t now, expiry, awake_ms;
static unsigned turns, sleeps, awakes;
static unsigned stop_after;    /* turns */
static bool busy;              /* every turn finds work */
static bool (*on_sleep)(void); /* refuses to sleep */
static void (*on_turn)(void);
static int fd = -1, fd2 = -1;
static struct event_loop_watch *w, *w2;
static unsigned calls;
static unsigned waits, timers, reads; /* system calls of the loop */
static uint64_t clock_us = 5000000, step_us;

/* Replaces the C library's, for the loop and for libevent. */
__attribute__((visibility("default"))) int epoll_wait(int epfd, struct epoll_event *ev, int n,
						      int ms)
{
	int r = (int)syscall(SYS_epoll_pwait, epfd, ev, n, ms, NULL, 0);

	waits += r >= 0 || errno != EINTR;
	return r;
}

int timerfd_settime(int timerfd, int flags, const struct itimerspec *value, struct itimerspec *old)
{
	timers++;
	return (int)syscall(SYS_timerfd_settime, timerfd, flags, value, old);
}

ssize_t read(int from, void *buf, size_t len)
{
	reads++;
	return syscall(SYS_read, from, buf, len);
}

static void note(char c)
{
	size_t n = strlen(trace);

	if (n < sizeof(trace) - 1)
		trace[n] = c;
}

static bool turn(void *user, uint64_t now_ms)
{
	cr_assert_eq(user, &turns);
	cr_assert_geq(now_ms, now, "time does not go back");
	cr_assert_eq(now_ms, event_loop_now_ms(l));
	now = now_ms;
	note('t');
	if (on_turn)
		on_turn();
	if (++turns == stop_after)
		event_loop_stop(l);
	return busy;
}

static uint64_t next_expiry(void *user)
{
	cr_assert_eq(user, &turns);
	return expiry;
}

static bool go_to_sleep(void *user)
{
	cr_assert_eq(user, &turns);
	cr_assert_eq(sleeps, awakes, "awake before the next sleep");
	sleeps++;
	note('s');
	return on_sleep ? on_sleep() : true;
}

static void awake(void *user)
{
	cr_assert_eq(user, &turns);
	awakes++;
	awake_ms = event_loop_now_ms(l);
	note('a');
}

static const struct event_loop_hooks hooks = {turn, next_expiry, go_to_sleep, awake, NULL};

static void begin(uint32_t poll_us)
{
	cr_assert_eq(event_loop_new(&hooks, &turns, poll_us, &l), 0);
}

/* A clock that moves on by step_us each time it is read. */
static uint64_t fake_clock(void *user)
{
	cr_assert_eq(user, &turns);
	return clock_us += step_us;
}

static const struct event_loop_hooks fake_hooks = {turn, next_expiry, go_to_sleep, awake,
						   fake_clock};

/* Skips the test where this process has one CPU and does not poll. */
static void begin_fake(uint32_t poll_us, uint64_t step)
{
	step_us = step;
	cr_assert_eq(event_loop_new(&fake_hooks, &turns, poll_us, &l), 0);
	if (event_loop_poll_us(l) != poll_us)
		cr_skip_test("one CPU: polling is off");
}

static void setup(void)
{
	expiry = UINT64_MAX;
	fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	fd2 = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	cr_assert(fd >= 0 && fd2 >= 0);
}

static void teardown(void)
{
	w = event_loop_unwatch(w);
	w2 = event_loop_unwatch(w2);
	l = event_loop_free(l);
	close(fd);
	close(fd2);
	cr_expect_eq(sleeps, awakes, "each sleep is followed by one awake");
}

TestSuite(evloop, .init = setup, .fini = teardown, .timeout = 30);

static void ring(int to)
{
	cr_assert_eq(eventfd_write(to, 1), 0);
}

static void drain(int from)
{
	eventfd_t v;

	cr_assert_eq(eventfd_read(from, &v), 0);
}

static bool ring_and_sleep(void)
{
	ring(fd);
	return true;
}

static void count_and_drain(void *user, unsigned what)
{
	cr_assert_eq(user, &calls);
	cr_assert_eq(what, EVENT_LOOP_READ);
	calls++;
	note('c');
	drain(fd);
}

static void count_and_stop(void *user, unsigned what)
{
	(void)user;
	(void)what;
	calls++;
	note('c');
	event_loop_stop(l);
}

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
	expiry = UINT64_MAX;
	stop_after = 1000; /* 10 ms */
	waits = 0;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_leq(waits, 10);
	cr_expect_geq(waits, 9);
	cr_expect_eq(timers, 0);
}

static void expire_later_each_turn(void)
{
	expiry = event_loop_now_ms(l) + 200;
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
	expiry = event_loop_now_ms(l) + 100000 - 1000 * turns;
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
	if (expiry == UINT64_MAX)
		expiry = event_loop_now_ms(l) + 30;
	else if (event_loop_now_ms(l) >= expiry)
		event_loop_stop(l);
}

Test(evloop, it_sleeps_until_the_expiry_and_no_longer)
{
	begin(0);
	on_turn = stop_when_due;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_geq(now, expiry);
	cr_expect_leq(sleeps, 5, "it slept a few times and did not spin");
}

static void expire_next_ms(void)
{
	expiry = event_loop_now_ms(l) + 1;
}

Test(evloop, a_timer_that_fires_costs_a_wait_and_a_setting)
{
	begin_fake(0, 1); /* the loop also looks at descriptors when a millisecond has passed */
	on_turn = expire_next_ms;
	stop_after = 20;
	waits = reads = timers = 0;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(reads, 0);
	cr_expect_leq(timers, sleeps);
	cr_expect_leq(waits, sleeps);
}

Test(evloop, an_expiry_in_the_past_does_not_block)
{
	begin(0);
	expiry = 0;
	stop_after = 3;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tsatsat");
}

Test(evloop, the_clock_is_read_again_after_a_sleep)
{
	begin(0);
	on_turn = stop_when_due;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_geq(awake_ms, expiry, "awake() and callbacks do not see the time of the turn");
}

/* ---- descriptors ---- */

Test(evloop, descriptors_are_served_while_every_turn_finds_work)
{
	begin(0);
	busy = true;
	ring(fd);
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, count_and_stop, NULL, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(calls, 1);
}

static void drain_in_turn(void)
{
	eventfd_t v;

	if (eventfd_read(fd, &v) == 0)
		note('d');
}

Test(evloop, a_watch_without_a_callback_only_wakes)
{
	begin(0);
	on_sleep = ring_and_sleep;
	on_turn = drain_in_turn;
	stop_after = 2;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, NULL, NULL, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tsatd");
}

static void unwatch_all(void *user, unsigned what)
{
	(void)user;
	(void)what;
	calls++;
	w = event_loop_unwatch(w);
	w2 = event_loop_unwatch(w2);
}

Test(evloop, a_callback_may_end_its_own_watch_and_one_that_is_due)
{
	begin(0);
	ring(fd);
	ring(fd2);
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, unwatch_all, NULL, &w), 0);
	cr_assert_eq(event_loop_watch(l, fd2, EVENT_LOOP_READ, unwatch_all, NULL, &w2), 0);
	expiry = 0; /* no descriptor is left that could wake it */
	stop_after = 50;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(calls, 1, "neither is called again");
}

Test(evloop, a_level_that_is_not_drained_calls_again)
{
	begin(0);
	ring(fd);
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, NULL, NULL, &w), 0);
	stop_after = 10;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(turns, 10);
}

static void see_what(void *user, unsigned what)
{
	*(unsigned *)user = what;
	event_loop_stop(l);
}

Test(evloop, watched_events_can_be_changed)
{
	unsigned what = 0;

	begin(0);
	ring(fd);
	cr_assert_eq(event_loop_watch(l, fd, 0, see_what, &what, &w), 0);
	expiry = 0;
	stop_after = 20;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(what, 0, "no event is watched");

	stop_after = 0;
	cr_assert_eq(event_loop_watch_set(w, EVENT_LOOP_WRITE), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(what, EVENT_LOOP_WRITE);

	cr_assert_eq(event_loop_watch_set(w, EVENT_LOOP_READ | EVENT_LOOP_WRITE), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(what, EVENT_LOOP_READ | EVENT_LOOP_WRITE);
}

static void change_own(void *user, unsigned what)
{
	(void)user;
	calls++;
	if (what == EVENT_LOOP_WRITE)
		cr_assert_eq(event_loop_watch_set(w, EVENT_LOOP_READ), 0);
	else
		event_loop_stop(l);
}

Test(evloop, a_callback_may_change_its_own_watch)
{
	begin(0);
	ring(fd);
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_WRITE, change_own, NULL, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(calls, 2);
}

Test(evloop, the_end_of_a_pipe_counts_as_readable)
{
	unsigned what = 0;
	int p[2];

	begin(0);
	cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
	cr_assert_eq(event_loop_watch(l, p[0], EVENT_LOOP_READ, see_what, &what, &w), 0);
	close(p[1]);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect(what & EVENT_LOOP_READ);
	w = event_loop_unwatch(w);
	close(p[0]);
}

Test(evloop, invalid_watches_are_refused)
{
	int file = memfd_create("file", MFD_CLOEXEC);

	begin(0);
	cr_expect_eq(event_loop_watch(l, file, EVENT_LOOP_READ, count_and_stop, NULL, &w), -EINVAL);
	cr_expect_null(w, "untouched");
	close(file);
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
