/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of a context: a queue with a descriptor. */
#ifndef VERBS_ASYNC_H
#define VERBS_ASYNC_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>

enum { ASYNC_SPARE = 8 };

struct async_event {
	struct async_event *next;
	struct ibv_async_event event;
	bool spare, used; /* used: a spare one is in the queue */
};

struct async {
	pthread_mutex_t lock;
	struct async_event *first, **last;
	struct async_event *taken; /* those of objects that the program has not acknowledged */
	unsigned owed;             /* as in semaphore.h */
	pthread_cond_t acked;
	int fd;                                /* see semaphore.h */
	unsigned generation;                   /* of the process that uses it */
	struct async_event spare[ASYNC_SPARE]; /* for where memory is short */
};

/* 0 or a positive errno value. */
int async_init(struct async *a);
void async_free(struct async *a);

/* Queues an event. Where memory is short, ASYNC_SPARE events may wait; others are lost. */
void async_push(struct async *a, const struct ibv_async_event *ev);

/* Deletes the queued events of an object that is destroyed, and waits until the program has
 * acknowledged those that it took. element points to the object, which no event may be queued for
 * any more. The caller holds no lock: the program may need any before it acknowledges. */
void async_forget(struct async *a, const void *element);

#endif
