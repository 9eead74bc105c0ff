/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork(): the child has a connection to the daemon of its own, finds no lock of the library taken,
 * and shares no descriptor of it with its parent.
 */
#ifndef VERBS_FORK_H
#define VERBS_FORK_H

#include <pthread.h>
#include <stdbool.h>

/* The order of the locks: a thread that has one takes only those behind it. */
enum fork_order {
	FORK_EVENTS,
	FORK_LISTS, /* of shared contexts and domains */
	FORK_HOSTS,
	FORK_CM_EVENTS,
	FORK_NUMBERS,
	FORK_ERRORS,
};

/* fork() waits for this lock, so that the child finds what it guards complete; both processes have
 * it free afterwards. It lives as long as the process, and has the type ERRORCHECK, because
 * libddpclient may fork while the calling thread has it. At most 24. */
void fork_hold(enum fork_order order, pthread_mutex_t *lock);

/* Makes a lock of that type. */
void fork_init_lock(pthread_mutex_t *lock);

/* The one lock that guards no data: fork() does not wait for it, and the child has a fresh one. */
void fork_renew(pthread_mutex_t *lock);

/* How many times the process and its ancestors forked since the library was loaded. What has
 * another number belongs to an ancestor. */
unsigned fork_generation(void);

/* Replaces a descriptor that is shared with the parent, under the same number. fresh: a new one,
 * which is closed; or -1. 0 or a positive errno value. */
int fork_replace(int fd, int fresh);

#endif
