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

/* While a queue of a parent becomes one of its child: the thread for events may do that, too. */
static pthread_mutex_t renewing = FORK_LOCK;

__attribute__((constructor)) static void hold_async_lock(void)
{
	fork_hold(FORK_ASYNC, &renewing);
}

static void init_queue(struct async *a)
{
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->acked, NULL);
	a->first = a->taken = NULL;
	a->owed = 0;
	a->last = &a->first;
	a->generation = fork_generation();
	memset(a->spare, 0, sizeof(a->spare));
}

int async_init(struct async *a)
{
	a->fd = semaphore_open();
	if (a->fd < 0)
		return errno;
	init_queue(a);
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
	pthread_mutex_lock(&renewing);
	if (a->generation != fork_generation()) {
		fork_replace(a->fd, semaphore_open());
		init_queue(a);
	}
	pthread_mutex_unlock(&renewing);
}

static void free_list(struct async_event *e)
{
	while (e) {
		struct async_event *next = e->next;

		free_event(e);
		e = next;
	}
}

void async_free(struct async *a)
{
	free_list(a->first);
	free_list(a->taken);
	close(a->fd);
	if (a->generation != fork_generation())
		return; /* threads of the parent may be in them */
	pthread_cond_destroy(&a->acked);
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

/* Events of the daemon have the number of its port. The lock is held. */
static void delete_queued(struct async *a, const void *element)
{
	struct async_event **at = &a->first;

	while (*at) {
		struct async_event *e = *at;

		if (e->event.element.qp == element) {
			*at = e->next;
			free_event(e);
			a->owed += !semaphore_take(a->fd);
		} else {
			at = &e->next;
		}
	}
	a->last = at;
}

static bool is_taken(const struct async *a, const void *element)
{
	const struct async_event *e = a->taken;

	while (e && e->event.element.qp != element)
		e = e->next;
	return e != NULL;
}

void async_forget(struct async *a, const void *element)
{
	renew_queue(a);
	pthread_mutex_lock(&a->lock);
	delete_queued(a, element);
	while (is_taken(a, element)) {
		pthread_cond_wait(&a->acked, &a->lock);
		delete_queued(a, element);
	}
	pthread_mutex_unlock(&a->lock);
}

/* ---- the program ---- */

/* The context of the object; NULL: the event is one of the device, which is there to the end. */
static struct ibv_context *context_of_event(const struct ibv_async_event *ev)
{
	switch (ev->event_type) {
	case IBV_EVENT_CQ_ERR:
		return ev->element.cq->context;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return ev->element.qp->context;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return ev->element.srq->context;
	default:
		return NULL;
	}
}

/* Until the program acknowledges it, if it has an object. The lock is held. */
static void keep_or_free(struct async *a, struct async_event *e)
{
	if (!context_of_event(&e->event)) {
		free_event(e);
		return;
	}
	e->next = a->taken;
	a->taken = e;
}

/* False: there is none. */
static bool take_first_event(struct async *a, struct ibv_async_event *ret)
{
	struct async_event *e;

	pthread_mutex_lock(&a->lock);
	e = a->owed > 0 ? NULL : a->first;
	a->owed -= a->owed > 0;
	if (e) {
		a->first = e->next;
		*ret = e->event;
		keep_or_free(a, e);
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
	int r = host_start_events(context_of(context)->host);

	if (r) {
		errno = r;
		return -1;
	}
	renew_queue(a);
	do {
		if (semaphore_wait(a->fd))
			return -1;
	} while (!take_first_event(a, event)); /* its object is gone */
	return 0;
}

/* The lock is held. */
static void free_taken(struct async *a, const struct ibv_async_event *event)
{
	struct async_event **at = &a->taken, *e;

	while (*at && ((*at)->event.event_type != event->event_type ||
		       (*at)->event.element.qp != event->element.qp))
		at = &(*at)->next;
	e = *at;
	if (e) {
		*at = e->next;
		free_event(e);
	}
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_context *context = context_of_event(event);
	struct async *a;

	if (!context)
		return;
	a = &context_of(context)->async;
	renew_queue(a);
	pthread_mutex_lock(&a->lock);
	free_taken(a, event);
	pthread_cond_broadcast(&a->acked);
	pthread_mutex_unlock(&a->lock);
}
