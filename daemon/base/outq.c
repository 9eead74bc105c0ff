/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/outq.h"

#include <errno.h>
#include <stdbool.h>
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
	acct_release(&q->charge);
	event_loop_unwatch(q->watch);
	*q = (struct outq){.fd = -1};
}

void outq_charge(struct outq *q, struct acct *acct, uid_t uid, uint64_t free)
{
	q->acct = acct;
	q->uid = uid;
	q->free = free;
}

/* Sets the bytes of the waiting records. Returns 0, ACCT_E_LIMIT with a sentence, or -ENOMEM; fewer
 * bytes than before cannot fail. */
static int set_bytes(struct outq *q, uint64_t bytes, char *ret_reason, size_t len)
{
	uint64_t amount = bytes > q->free ? bytes - q->free : 0;
	int r = 0;

	if (q->acct && q->charge.user)
		r = acct_change(q->acct, &q->charge, amount, ret_reason, len);
	else if (q->acct && amount > 0)
		r = acct_charge(q->acct, q->uid, ACCT_MEMORY, amount, &q->charge, ret_reason, len);
	if (r == 0)
		q->bytes = bytes;
	return r;
}

static uint64_t size_of(const struct waiting *w)
{
	return sizeof(*w) + w->len;
}

static void fail(struct outq *q, const char *reason)
{
	if (q->failed)
		q->failed(q->user, reason);
	q->failed = NULL;
}

/* The oldest record need not wait any more. */
static void drop(struct outq *q, struct waiting *w)
{
	set_bytes(q, q->bytes - size_of(w), NULL, 0);
	list_del(&w->link);
	free(w);
	q->count--;
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
		drop(q, w);
		if (r) {
			fail(q, "its socket is closed");
			return;
		}
	}
	q->watch = event_loop_unwatch(q->watch);
	if (q->drained)
		q->drained(q->user);
}

static void refuse(struct outq *q, const char *why)
{
	char reason[ACCT_REASON_MAX + 32];

	snprintf(reason, sizeof(reason), "it does not read: %s", why);
	fail(q, reason);
}

/* True if one more record of len bytes may wait; it is counted then. */
static bool admit(struct outq *q, size_t len)
{
	char reason[ACCT_REASON_MAX];
	int r;

	if (q->count >= q->max) {
		snprintf(reason, sizeof(reason), "%u records wait, which is the limit", q->count);
		refuse(q, reason);
		return false;
	}
	r = set_bytes(q, q->bytes + sizeof(struct waiting) + len, reason, sizeof(reason));
	if (r == 0)
		q->count++;
	else
		refuse(q, r > 0 ? reason : "out of memory");
	return r == 0;
}

static void keep(struct outq *q, const void *rec, size_t len)
{
	struct waiting *w;

	if (!admit(q, len))
		return;
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
