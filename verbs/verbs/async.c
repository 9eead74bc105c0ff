/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/async.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs/base/fork.h"
#include "verbs/verbs/context.h"

struct async_event {
	struct async_event *next;
	struct ibv_async_event event;
};

int async_init(struct async *a)
{
	a->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (a->fd < 0)
		return errno;
	pthread_mutex_init(&a->lock, NULL);
	a->first = NULL;
	a->last = &a->first;
	a->generation = fork_generation();
	return 0;
}

/* The events of a parent are not those of its child, and their semaphore is shared. */
static void renew_queue(struct async *a)
{
	if (a->generation == fork_generation())
		return;
	fork_replace(a->fd, eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC));
	pthread_mutex_init(&a->lock, NULL);
	a->first = NULL;
	a->last = &a->first;
	a->generation = fork_generation();
}

void async_free(struct async *a)
{
	while (a->first) {
		struct async_event *e = a->first;

		a->first = e->next;
		free(e);
	}
	close(a->fd);
	pthread_mutex_destroy(&a->lock);
}

void async_push(struct async *a, const struct ibv_async_event *ev)
{
	const uint64_t one = 1;
	struct async_event *e = malloc(sizeof(*e));

	if (!e)
		return;
	renew_queue(a);
	*e = (struct async_event){.event = *ev};
	pthread_mutex_lock(&a->lock);
	*a->last = e;
	a->last = &e->next;
	pthread_mutex_unlock(&a->lock);
	if (write(a->fd, &one, sizeof(one)) < 0)
		return; /* never full */
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
			free(e);
		} else {
			at = &e->next;
		}
	}
	a->last = at;
	pthread_mutex_unlock(&a->lock);
}

static struct async_event *take_first_event(struct async *a)
{
	struct async_event *e;

	pthread_mutex_lock(&a->lock);
	e = a->first;
	if (e)
		a->first = e->next;
	if (!a->first)
		a->last = &a->first;
	pthread_mutex_unlock(&a->lock);
	return e;
}

/* Blocks unless the program has set O_NONBLOCK. */
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct async *a = &context_of(context)->async;
	struct async_event *e = NULL;
	uint64_t n;

	renew_queue(a);
	while (!e) {
		if (read(a->fd, &n, sizeof(n)) < 0)
			return -1;
		e = take_first_event(a); /* NULL: its object is gone */
	}
	*event = e->event;
	free(e);
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event; /* the event was freed when it was taken */
}
