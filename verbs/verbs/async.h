/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of a context: a queue with a descriptor. */
#ifndef VERBS_ASYNC_H
#define VERBS_ASYNC_H

#include <infiniband/verbs.h>
#include <pthread.h>

struct async_event;

struct async {
	pthread_mutex_t lock;
	struct async_event *first, **last;
	int fd;              /* a semaphore: one for each event */
	unsigned generation; /* of the process that uses it */
};

/* 0 or a positive errno value. */
int async_init(struct async *a);
void async_free(struct async *a);

/* Queues an event. Without memory the event is lost. */
void async_push(struct async *a, const struct ibv_async_event *ev);

/* Deletes the queued events of an object that is destroyed; element points to it. Events that the
 * program took stay valid. */
void async_forget(struct async *a, const void *element);

#endif
