/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/outq.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/conn.h"

struct waiting {
	struct list link;
	size_t len;
	unsigned char rec[];
};

void outq_init(struct outq *q, struct event_loop *loop, int fd, unsigned max,
	       void (*failed)(void *user, const char *reason), void *user)
{
	*q = (struct outq){.fd = fd, .loop = loop, .max = max, .failed = failed, .user = user};
	list_init(&q->waiting);
}

void outq_on_drained(struct outq *q, void (*fn)(void *user))
{
	q->drained = fn;
}

void outq_deinit(struct outq *q)
{
	struct list *l;

	if (!q->loop)
		return;
	while ((l = list_pop(&q->waiting)))
		free(list_entry(l, struct waiting, link));
	q->count = 0;
	q->watch = event_loop_unwatch(q->watch);
}

static void fail(struct outq *q, const char *reason)
{
	if (q->failed)
		q->failed(q->user, reason);
	q->failed = NULL;
}

static void room(void *user, unsigned what)
{
	struct outq *q = user;

	(void)what;
	while (!list_empty(&q->waiting)) {
		struct waiting *w = list_entry(q->waiting.next, struct waiting, link);
		int r = conn_send(q->fd, w->rec, w->len, NULL, 0);

		if (r == CONN_E_AGAIN)
			return;
		list_del(&w->link);
		free(w);
		q->count--;
		if (r) {
			fail(q, "its socket is closed");
			return;
		}
	}
	q->watch = event_loop_unwatch(q->watch);
	if (q->drained)
		q->drained(q->user);
}

static void keep(struct outq *q, const void *rec, size_t len)
{
	struct waiting *w;
	char reason[96];

	if (q->count >= q->max) {
		snprintf(reason, sizeof(reason),
			 "it does not read: %u records wait, which is the limit", q->count);
		fail(q, reason);
		return;
	}
	w = malloc(sizeof(*w) + len);
	if (!w ||
	    (!q->watch && event_loop_watch(q->loop, q->fd, EVENT_LOOP_WRITE, room, q, &q->watch))) {
		free(w);
		fail(q, "out of memory for its records");
		return;
	}
	list_init(&w->link);
	w->len = len;
	memcpy(w->rec, rec, len);
	list_add_tail(&q->waiting, &w->link);
	q->count++;
}

void outq_send(struct outq *q, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	int r = CONN_E_AGAIN;

	if (!q->failed)
		return;
	if (list_empty(&q->waiting))
		r = conn_send(q->fd, rec, len, fds, nfds);
	if (r == CONN_E_AGAIN && nfds == 0)
		keep(q, rec, len);
	else if (r == CONN_E_AGAIN)
		fail(q, "it does not read the replies");
	else if (r)
		fail(q, "its socket is closed");
}
