/* SPDX-License-Identifier: BSD-2-Clause */
/* The event loop: descriptors that it watches. */
#include <criterion/criterion.h>

#include <signal.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/evloop_rig.h"

TestSuite(evloop_watch, .init = evloop_setup, .fini = evloop_teardown, .timeout = 30);

Test(evloop_watch, descriptors_are_served_while_every_turn_finds_work)
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

Test(evloop_watch, a_watch_without_a_callback_only_wakes)
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

Test(evloop_watch, a_callback_may_end_its_own_watch_and_one_that_is_due)
{
	begin(0);
	ring(fd);
	ring(fd2);
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, unwatch_all, NULL, &w), 0);
	cr_assert_eq(event_loop_watch(l, fd2, EVENT_LOOP_READ, unwatch_all, NULL, &w2), 0);
	expiry_us = 0; /* no descriptor is left that could wake it */
	stop_after = 50;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(calls, 1, "neither is called again");
}

Test(evloop_watch, a_level_that_is_not_drained_calls_again)
{
	begin(0);
	ring(fd);
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, NULL, NULL, &w), 0);
	stop_after = 10;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(turns, 10);
}

/* Instead of the C library's, also for libevent: so many calls that add something fail. */
static unsigned shortages;

int epoll_ctl(int ep, int op, int at, struct epoll_event *e)
{
	if (op != EPOLL_CTL_DEL && shortages > 0) {
		shortages--;
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, ep, op, at, e);
}

Test(evloop_watch, a_watch_that_the_kernel_lacked_memory_for_is_served_later)
{
	begin(0);
	ring(fd);
	cr_assert_eq(event_loop_watch(l, fd, 0, count_and_stop, NULL, &w), 0);
	shortages = 3;
	event_loop_watch_set(w, EVENT_LOOP_READ);
	cr_expect_lt(shortages, 3);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(calls, 1);
	cr_expect_eq(shortages, 0);
}

Test(evloop_watch, a_watch_that_the_kernel_lacked_memory_for_may_end)
{
	begin(0);
	cr_assert_eq(event_loop_watch(l, fd, 0, count_and_stop, NULL, &w), 0);
	shortages = 1;
	event_loop_watch_set(w, EVENT_LOOP_READ);
	w = event_loop_unwatch(w);
	expiry_us = 0;
	stop_after = 20;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(calls, 0);
}

static void see_what(void *user, unsigned what)
{
	*(unsigned *)user = what;
	event_loop_stop(l);
}

Test(evloop_watch, watched_events_can_be_changed)
{
	unsigned what = 0;

	begin(0);
	ring(fd);
	cr_assert_eq(event_loop_watch(l, fd, 0, see_what, &what, &w), 0);
	expiry_us = 0;
	stop_after = 20;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(what, 0, "no event is watched");

	stop_after = 0;
	event_loop_watch_set(w, EVENT_LOOP_WRITE);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(what, EVENT_LOOP_WRITE);

	event_loop_watch_set(w, EVENT_LOOP_READ | EVENT_LOOP_WRITE);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(what, EVENT_LOOP_READ | EVENT_LOOP_WRITE);
}

static void change_own(void *user, unsigned what)
{
	(void)user;
	calls++;
	if (what == EVENT_LOOP_WRITE)
		event_loop_watch_set(w, EVENT_LOOP_READ);
	else
		event_loop_stop(l);
}

Test(evloop_watch, a_callback_may_change_its_own_watch)
{
	begin(0);
	ring(fd);
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_WRITE, change_own, NULL, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(calls, 2);
}

Test(evloop_watch, the_end_of_a_pipe_counts_as_readable)
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

Test(evloop_watch, invalid_watches_are_refused)
{
	int file = memfd_create("file", MFD_CLOEXEC);

	begin(0);
	cr_expect_eq(event_loop_watch(l, file, EVENT_LOOP_READ, count_and_stop, NULL, &w), -EINVAL);
	cr_expect_null(w, "untouched");
	close(file);
}

/* ---- pauses ---- */

static bool slept;

static bool note_sleep(void)
{
	slept = true;
	return true;
}

/* No turn finds a pause that ended early. */
static void expire_in_a_millisecond(void)
{
	cr_expect(!slept || event_loop_now_us(l) >= expiry_us, "turn %u is early", turns);
	slept = false;
	expiry_us = event_loop_now_us(l) + 1000;
}

Test(evloop_watch, a_patient_descriptor_does_not_end_a_pause)
{
	begin(0);
	pausing = true;
	ring(fd);
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ | EVENT_LOOP_PATIENT, NULL, NULL, &w),
		     0);
	on_turn = expire_in_a_millisecond;
	on_sleep = note_sleep;
	stop_after = 10;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_geq(sleeps, 5);
	cr_expect_eq(timers, 0, "no timer is set for a pause");
}

static void expire_in_an_hour(void)
{
	expiry_us = event_loop_now_us(l) + UINT64_C(3600000000);
}

Test(evloop_watch, another_descriptor_ends_a_pause)
{
	begin(0);
	pausing = true;
	on_turn = expire_in_an_hour;
	on_sleep = ring_and_sleep;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, count_and_stop, NULL, &w), 0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(calls, 1);
	cr_expect_eq(sleeps, 1);
}

Test(evloop_watch, a_watch_that_was_changed_ends_a_pause)
{
	begin(0);
	pausing = true;
	on_turn = expire_in_an_hour;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, count_and_stop, NULL, &w), 0);
	event_loop_watch_set(w, 0);
	event_loop_watch_set(w, EVENT_LOOP_WRITE);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(calls, 1);
}

static void stop_at_signal(void *user, int signo)
{
	(void)user;
	(void)signo;
	event_loop_stop(l);
}

/* The signal arrives before the system call that waits. */
static bool raise_in_the_third_sleep(void)
{
	if (sleeps == 3)
		raise(SIGUSR1);
	return true;
}

Test(evloop_watch, a_signal_just_before_a_pause_is_served_later)
{
	begin(0);
	pausing = true;
	on_turn = expire_in_a_millisecond;
	on_sleep = raise_in_the_third_sleep;
	cr_assert_eq(event_loop_signal(l, SIGUSR1, stop_at_signal, NULL), 0);
	cr_assert_eq(event_loop_run(l), 0);
}

/* ---- bells ---- */

static void take_bell(void *user, unsigned what)
{
	cr_assert_eq(user, &calls);
	note(what == EVENT_LOOP_BELL ? 'b' : 'r');
	if (what == EVENT_LOOP_READ)
		drain(fd);
}

static void watch_bell(void)
{
	begin(0);
	cr_assert_eq(
		event_loop_watch(l, fd, EVENT_LOOP_READ | EVENT_LOOP_BELL, take_bell, &calls, &w),
		0);
}

Test(evloop_watch, a_bell_tells_before_the_turn_and_is_read_after_it_without_another_look)
{
	watch_bell();
	on_sleep = ring_and_sleep;
	stop_after = 3;
	waits = 0;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tsabtrsabtr");
	cr_expect_eq(waits, sleeps, "one wait a sleep");
}

static void take_bell_and_stop(void *user, unsigned what)
{
	take_bell(user, what);
	event_loop_stop(l);
}

Test(evloop_watch, a_bell_that_is_rung_while_turns_find_work_is_read_at_once)
{
	begin(0);
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ | EVENT_LOOP_BELL, take_bell_and_stop,
				      &calls, &w),
		     0);
	busy = true;
	ring(fd);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_null(strchr(trace, 'b'));
}

static void end_bell(void *user, unsigned what)
{
	cr_assert_eq(user, &calls);
	if (what == EVENT_LOOP_BELL)
		return;
	w = event_loop_unwatch(w);
	event_loop_stop(l);
}

Test(evloop_watch, a_bell_may_end_its_watch_when_it_is_read)
{
	begin(0);
	on_sleep = ring_and_sleep;
	cr_assert_eq(
		event_loop_watch(l, fd, EVENT_LOOP_READ | EVENT_LOOP_BELL, end_bell, &calls, &w),
		0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_eq(turns, 2);
}

Test(evloop_watch, a_callback_that_only_takes_note_precedes_the_turn)
{
	begin(0);
	on_sleep = ring_and_sleep;
	stop_after = 3;
	waits = 0;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ | EVENT_LOOP_EARLY, count_and_drain,
				      &calls, &w),
		     0);
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tsactsact");
	cr_expect_eq(waits, sleeps, "one wait a sleep");
}

/* ---- news ---- */

static void see_news(void)
{
	note(event_loop_has_no_news(l) ? '-' : 'n');
}

Test(evloop_watch, a_bell_alone_is_no_news)
{
	watch_bell();
	cr_assert_eq(event_loop_watch(l, fd2, EVENT_LOOP_READ, NULL, NULL, &w2), 0);
	on_sleep = ring_and_sleep;
	on_turn = see_news;
	stop_after = 3;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tnsabt-rsabt-r", "the first turn has looked at nothing yet");
}

static bool ring_both_and_sleep(void)
{
	ring(fd2);
	return ring_and_sleep();
}

static void see_news_and_drain(void)
{
	see_news();
	if (turns > 0)
		drain(fd2);
}

Test(evloop_watch, a_bell_and_another_descriptor_are_news)
{
	watch_bell();
	cr_assert_eq(event_loop_watch(l, fd2, EVENT_LOOP_READ, NULL, NULL, &w2), 0);
	on_sleep = ring_both_and_sleep;
	on_turn = see_news_and_drain;
	stop_after = 3;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_null(strchr(trace, '-'));
}

static void find_work_in_the_second_turn(void)
{
	see_news();
	busy = turns == 1;
}

/* So that bells in each turn do not keep others from being looked at. */
Test(evloop_watch, a_turn_with_work_makes_the_next_one_look)
{
	watch_bell();
	on_sleep = ring_and_sleep;
	on_turn = find_work_in_the_second_turn;
	stop_after = 4;
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tnsabt-rtnsabt-r");
}

Test(evloop_watch, after_a_pause_there_may_be_news)
{
	begin(0);
	pausing = true;
	on_turn = see_news;
	expiry_us = 0;
	stop_after = 2;
	cr_assert_eq(event_loop_run(l), 0);
	expiry_us = event_loop_now_us(l) + 1000000;
	on_sleep = ring_and_sleep;
	cr_assert_eq(event_loop_watch(l, fd, EVENT_LOOP_READ, NULL, NULL, &w), 0);
	turns = 0;
	memset(trace, 0, sizeof(trace));
	cr_assert_eq(event_loop_run(l), 0);
	cr_expect_str_eq(trace, "tnsatn");
}
