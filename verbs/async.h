/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of a context: a queue with a descriptor. */
#ifndef VERBS_ASYNC_H
#define VERBS_ASYNC_H

#include <infiniband/verbs.h>
#include <pthread.h>

struct async_event;

struct async {
	pthread_mutex_t lock;
	pthread_cond_t acked;
	struct async_event *first, **last;
	int fd; /* a semaphore: one for each event */
};

/* 0 or a positive errno value. */
int async_init(struct async *a);
void async_free(struct async *a);

/* Queues an event. Without memory the event is lost. */
void async_push(struct async *a, const struct ibv_async_event *ev);

/* Deletes the events of an object that is destroyed, and waits until the program has acknowledged
 * those that it took. element: the object; completed: its counter of acknowledged events; taken:
 * how many it took, counted by ibv_get_async_event(). */
void async_forget(struct async *a, const void *element);

#endif
