/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/async.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/base/fork.h"
#include "verbs/base/semaphore.h"
#include "verbs/verbs/context.h"

int async_init(struct async *a)
{
	a->fd = semaphore_open();
	if (a->fd < 0)
		return errno;
	pthread_mutex_init(&a->lock, NULL);
	a->first = NULL;
	a->last = &a->first;
	a->generation = fork_generation();
	memset(a->spare, 0, sizeof(a->spare));
	return 0;
}

/* ---- memory of events ---- */

/* The lock is held. */
static struct async_event *take_spare(struct async *a)
{
	for (unsigned i = 0; i < ASYNC_SPARE; i++)
		if (!a->spare[i].used) {
			a->spare[i].spare = a->spare[i].used = true;
			return &a->spare[i];
		}
	return NULL;
}

static void free_event(struct async_event *e)
{
	if (e->spare)
		e->used = false;
	else
		free(e);
}

/* ---- the queue ---- */

/* The events of a parent are not those of its child, and their semaphore is shared. */
static void renew_queue(struct async *a)
{
	if (a->generation == fork_generation())
		return;
	fork_replace(a->fd, semaphore_open());
	pthread_mutex_init(&a->lock, NULL);
	memset(a->spare, 0, sizeof(a->spare));
	a->first = NULL;
	a->last = &a->first;
	a->generation = fork_generation();
}

void async_free(struct async *a)
{
	while (a->first) {
		struct async_event *e = a->first;

		a->first = e->next;
		free_event(e);
	}
	close(a->fd);
	pthread_mutex_destroy(&a->lock);
}

void async_push(struct async *a, const struct ibv_async_event *ev)
{
	struct async_event *e = calloc(1, sizeof(*e));

	renew_queue(a);
	pthread_mutex_lock(&a->lock);
	if (!e)
		e = take_spare(a);
	if (e) {
		e->event = *ev;
		e->next = NULL;
		*a->last = e;
		a->last = &e->next;
		semaphore_post(a->fd);
	}
	pthread_mutex_unlock(&a->lock);
}

/* Events of the daemon have the number of its port. */
void async_forget(struct async *a, const void *element)
{
	struct async_event **at = &a->first;

	renew_queue(a);
	pthread_mutex_lock(&a->lock);
	while (*at) {
		struct async_event *e = *at;

		if (e->event.element.qp == element) {
			*at = e->next;
			free_event(e);
			semaphore_take(a->fd);
		} else {
			at = &e->next;
		}
	}
	a->last = at;
	pthread_mutex_unlock(&a->lock);
}

/* False: there is none. */
static bool take_first_event(struct async *a, struct ibv_async_event *ret)
{
	struct async_event *e;

	pthread_mutex_lock(&a->lock);
	e = a->first;
	if (e) {
		a->first = e->next;
		*ret = e->event;
		free_event(e);
	}
	if (!a->first)
		a->last = &a->first;
	pthread_mutex_unlock(&a->lock);
	return e != NULL;
}

/* Blocks unless the program has set O_NONBLOCK. */
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct async *a = &context_of(context)->async;

	renew_queue(a);
	do {
		if (semaphore_wait(a->fd))
			return -1;
	} while (!take_first_event(a, event)); /* its object is gone */
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event; /* the event was freed when it was taken */
}
