/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/evloop_rig.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct event_loop *l;
char trace[256];
uint64_t now, expiry_us, awake_ms;
unsigned turns, sleeps, awakes;
unsigned stop_after;    /* turns */
bool busy;              /* every turn finds work */
bool patient;           /* which can wait */
bool pausing;           /* every sleep is a pause */
bool (*on_sleep)(void); /* refuses to sleep */
void (*on_turn)(void);
int fd = -1, fd2 = -1;
struct event_loop_watch *w, *w2;
unsigned calls;
unsigned waits, timers, reads; /* system calls of the loop */
uint64_t timer_ns;
uint64_t clock_us = 5000000, step_us;

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
	timer_ns =
		(uint64_t)value->it_value.tv_sec * 1000000000 + (uint64_t)value->it_value.tv_nsec;
	return (int)syscall(SYS_timerfd_settime, timerfd, flags, value, old);
}

ssize_t read(int from, void *buf, size_t len)
{
	reads++;
	return syscall(SYS_read, from, buf, len);
}

void note(char c)
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

static uint64_t next_expiry_us(void *user)
{
	cr_assert_eq(user, &turns);
	return expiry_us;
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

static bool pauses(void *user)
{
	cr_assert_eq(user, &turns);
	cr_assert_gt(sleeps, awakes, "only before a sleep");
	return pausing;
}

static const struct event_loop_hooks hooks = {.turn = turn,
					      .expiry_us = next_expiry_us,
					      .sleep = go_to_sleep,
					      .awake = awake,
					      .pauses = pauses};

void begin(uint32_t poll_us)
{
	cr_assert_eq(event_loop_new(&hooks, &turns, poll_us, &l), 0);
}

/* A clock that moves on by step_us each time it is read. */
static uint64_t fake_clock(void *user)
{
	cr_assert_eq(user, &turns);
	return clock_us += step_us;
}

static bool is_patient(void *user)
{
	cr_assert_eq(user, &turns);
	return patient;
}

static const struct event_loop_hooks fake_hooks = {.turn = turn,
						   .expiry_us = next_expiry_us,
						   .sleep = go_to_sleep,
						   .awake = awake,
						   .clock_us = fake_clock,
						   .patient = is_patient};

void begin_fake(uint32_t poll_us, uint64_t step)
{
	step_us = step;
	cr_assert_eq(event_loop_new(&fake_hooks, &turns, poll_us, &l), 0);
	if (event_loop_poll_us(l) != poll_us)
		cr_skip_test("one CPU: polling is off");
}

void evloop_setup(void)
{
	expiry_us = UINT64_MAX;
	fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	fd2 = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	cr_assert(fd >= 0 && fd2 >= 0);
}

void evloop_teardown(void)
{
	w = event_loop_unwatch(w);
	w2 = event_loop_unwatch(w2);
	l = event_loop_free(l);
	close(fd);
	close(fd2);
	cr_expect_eq(sleeps, awakes, "each sleep is followed by one awake");
}

void ring(int to)
{
	cr_assert_eq(eventfd_write(to, 1), 0);
}

void drain(int from)
{
	eventfd_t v;

	cr_assert_eq(eventfd_read(from, &v), 0);
}

bool ring_and_sleep(void)
{
	ring(fd);
	return true;
}

void count_and_drain(void *user, unsigned what)
{
	cr_assert_eq(user, &calls);
	cr_assert_eq(what, EVENT_LOOP_READ);
	calls++;
	note('c');
	drain(fd);
}

void count_and_stop(void *user, unsigned what)
{
	(void)user;
	(void)what;
	calls++;
	note('c');
	event_loop_stop(l);
}
