/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/base/host_timer.h"

#include <sys/timerfd.h>
#include <time.h>

#include "verbs/base/fork.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Wakes the thread when the first one is due. A child of fork() shares the descriptor of its
 * parent until it has a connection. */
static void set_alarm(const struct host *h)
{
	const uint64_t at = h->timers ? h->timers->at_ns : 0;
	const struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(at / 1000000000), .tv_nsec = at % 1000000000},
	};

	if (h->timer_fd >= 0 && h->generation == fork_generation())
		timerfd_settime(h->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void host_timer_stop(struct host *h, const struct host_timer *t)
{
	struct host_timer **at = &h->timers;

	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
}

void host_timer_start(struct host *h, struct host_timer *t, unsigned ms)
{
	struct host_timer **at = &h->timers;

	host_timer_stop(h, t);
	t->at_ns = now_ns() + (uint64_t)ms * 1000000;
	while (*at && (*at)->at_ns <= t->at_ns)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
	set_alarm(h);
}

void host_timer_run(struct host *h)
{
	const uint64_t now = now_ns();
	struct host_timer *t;

	while ((t = h->timers) && t->at_ns <= now) {
		h->timers = t->next;
		t->due(t);
	}
	set_alarm(h);
}
