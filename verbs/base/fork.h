/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork(): the child gets its own connection to the daemon and its own descriptors, and finds all
 * locks of the library free.
 */
#ifndef VERBS_FORK_H
#define VERBS_FORK_H

#include <pthread.h>
#include <stdbool.h>

/* The order of the locks: a thread that has one takes only those after it. */
enum fork_order {
	FORK_EVENTS,
	FORK_LISTS, /* of shared contexts and domains */
	FORK_HOSTS,
	FORK_ASYNC,
	FORK_CM_EVENTS,
	FORK_NUMBERS,
	FORK_ERRORS,
};

/* The initial value of a lock for fork_hold(). musl has no value of type ERRORCHECK: there
 * fork_hold() changes the type. */
#ifdef PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
#define FORK_LOCK PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
#else
#define FORK_LOCK PTHREAD_MUTEX_INITIALIZER
#endif

/* Registers a lock that fork() takes, so that the data it guards is consistent in the child. After
 * fork() it is free in both processes. The lock must live as long as the process, and be of type
 * ERRORCHECK, because libddpclient may fork while the calling thread holds it. At most 24 locks. */
void fork_hold(enum fork_order order, pthread_mutex_t *lock);

/* Initializes a lock of that type. */
void fork_init_lock(pthread_mutex_t *lock);

/* Registers the one lock that guards no data: fork() does not take it, and the child initializes it
 * again. */
void fork_renew(pthread_mutex_t *lock);

/* Returns how many times the process and its ancestors forked since the library was loaded. Objects
 * with another number belong to an ancestor. */
unsigned fork_generation(void);

/* Replaces a descriptor that is shared with the parent by `fresh`, under the same number and with
 * its flags (O_NONBLOCK), and closes fresh; -1: errno says why there is none. Returns 0 or a
 * positive errno value. */
int fork_replace(int fd, int fresh);

#endif
