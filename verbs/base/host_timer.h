/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers: the thread of a daemon calls them back. The caller of each function holds event_lock. */
#ifndef VERBS_HOST_TIMER_H
#define VERBS_HOST_TIMER_H

#include "verbs/base/host.h"

struct host_timer {
	/* Called once, with event_lock. */
	void (*due)(struct host_timer *t);
	uint64_t at_ns; /* of CLOCK_MONOTONIC */
	struct host_timer *next;
};

/* Starts a timer; one that runs starts again. Nothing happens without a thread:
 * host_start_events(). */
void host_timer_start(struct host *h, struct host_timer *t, unsigned ms);

/* Stops a timer, if it runs. */
void host_timer_stop(struct host *h, const struct host_timer *t);

/* Calls those back that are due. */
void host_timer_run(struct host *h);

#endif
