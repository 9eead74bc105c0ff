/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/outq.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/conn.h"

struct outq_waiting {
	struct list link;
	struct outq_place *place; /* of its owner, or NULL */
	size_t charged;           /* bytes that end with it: those of a place end with the owner */
	size_t len;
	unsigned nfds;
	int fds[MSG_MAX_FDS];
	unsigned char rec[];
};

_Static_assert(sizeof(struct outq_waiting) + MSG_MAX <= OUTQ_PLACE_BYTES, "a record has a place");

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

static void free_waiting(struct outq_waiting *w)
{
	if (w->place)
		w->place->waiting = NULL;
	while (w->nfds > 0)
		close(w->fds[--w->nfds]);
	list_del(&w->link);
	free(w);
}

void outq_deinit(struct outq *q)
{
	struct list *l;

	if (!q->loop)
		return;
	while ((l = list_pop(&q->waiting)))
		free_waiting(list_entry(l, struct outq_waiting, link));
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

static void fail_queue(struct outq *q, const char *reason)
{
	if (q->failed)
		q->failed(q->user, reason);
	q->failed = NULL;
}

/* The record need not wait any more. */
static void drop_waiting(struct outq *q, struct outq_waiting *w)
{
	set_bytes(q, q->bytes - w->charged, NULL, 0);
	free_waiting(w);
	q->count--;
}

static void on_room(void *user, unsigned what)
{
	struct outq *q = user;

	(void)what;
	while (!list_empty(&q->waiting)) {
		struct outq_waiting *w = list_entry(q->waiting.next, struct outq_waiting, link);
		int r = conn_try_send(q->fd, w->rec, w->len, w->fds, w->nfds);

		if (r == CONN_E_AGAIN)
			return;
		drop_waiting(q, w);
		if (r) {
			fail_queue(q, "its socket is closed");
			return;
		}
	}
	q->watch = event_loop_unwatch(q->watch);
	if (q->drained)
		q->drained(q->user);
}

static void fail_slow_reader(struct outq *q, const char *why)
{
	char reason[ACCT_REASON_MAX + 32];

	snprintf(reason, sizeof(reason), "it does not read: %s", why);
	fail_queue(q, reason);
}

/* True if one more record may wait without a place; its bytes are counted then. */
static bool admit(struct outq *q, size_t bytes)
{
	char reason[ACCT_REASON_MAX];
	int r;

	if (q->count >= q->max) {
		snprintf(reason, sizeof(reason), "%u records wait, which is the limit", q->count);
		fail_slow_reader(q, reason);
		return false;
	}
	r = set_bytes(q, q->bytes + bytes, reason, sizeof(reason));
	if (r)
		fail_slow_reader(q, r > 0 ? reason : "out of memory");
	return r == 0;
}

static struct outq_waiting *make_waiting(const void *rec, size_t len)
{
	struct outq_waiting *w = calloc(1, sizeof(*w) + len);

	if (!w)
		return NULL;
	list_init(&w->link);
	w->len = len;
	memcpy(w->rec, rec, len);
	return w;
}

/* The sender closes its own. */
static bool keep_fds(struct outq_waiting *w, const int *fds, unsigned nfds)
{
	for (; w->nfds < nfds; w->nfds++) {
		w->fds[w->nfds] = fcntl(fds[w->nfds], F_DUPFD_CLOEXEC, 0);
		if (w->fds[w->nfds] < 0)
			return false;
	}
	return true;
}

/* w: NULL if there was no memory. */
static void append_waiting(struct outq *q, struct outq_waiting *w, struct outq_place *place)
{
	if (!w ||
	    (!q->watch && event_loop_watch(q->loop, q->fd, EVENT_LOOP_WRITE | EVENT_LOOP_PATIENT,
					   on_room, q, &q->watch))) {
		if (w)
			free_waiting(w);
		fail_queue(q, "out of memory for its records");
		return;
	}
	w->place = place;
	if (place)
		place->waiting = w;
	list_add_tail(&q->waiting, &w->link);
	q->count++;
}

static void keep_record(struct outq *q, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	size_t bytes = sizeof(struct outq_waiting) + len;
	struct outq_waiting *w;

	if (!admit(q, bytes))
		return;
	w = make_waiting(rec, len);
	if (w) {
		w->charged = bytes;
		if (!keep_fds(w, fds, nfds)) {
			free_waiting(w);
			fail_queue(q, "the daemon has no descriptors left for a reply that waits");
			return;
		}
	}
	append_waiting(q, w, NULL);
}

/* CONN_E_AGAIN: the record has to wait. */
static int try_send(struct outq *q, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	int r = CONN_E_AGAIN;

	if (list_empty(&q->waiting))
		r = conn_try_send(q->fd, rec, len, fds, nfds);
	if (r && r != CONN_E_AGAIN)
		fail_queue(q, "its socket is closed");
	return r;
}

void outq_send(struct outq *q, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	if (q->failed && try_send(q, rec, len, fds, nfds) == CONN_E_AGAIN)
		keep_record(q, rec, len, fds, nfds);
}

/* ---- places ---- */

int outq_reserve(struct outq *q, unsigned n, char *ret_reason, size_t len)
{
	int r = set_bytes(q, q->bytes + (uint64_t)n * OUTQ_PLACE_BYTES, ret_reason, len);

	if (r == 0)
		q->places += n;
	return r;
}

void outq_release(struct outq *q, unsigned n)
{
	if (!q->loop)
		return;
	assert(q->places >= n);
	q->places -= n;
	set_bytes(q, q->bytes - (uint64_t)n * OUTQ_PLACE_BYTES, NULL, 0);
}

void outq_put(struct outq *q, struct outq_place *place, const void *rec, size_t len)
{
	struct outq_waiting *w = place->waiting;

	if (w) {
		assert(w->len == len);
		memcpy(w->rec, rec, len);
		return;
	}
	if (q->failed && try_send(q, rec, len, NULL, 0) == CONN_E_AGAIN)
		append_waiting(q, make_waiting(rec, len), place);
}

bool outq_take_back(struct outq *q, struct outq_place *place)
{
	if (!place->waiting)
		return false;
	drop_waiting(q, place->waiting);
	return true;
}

bool outq_leave(struct outq *q, struct outq_place *place)
{
	struct outq_waiting *w = place->waiting;

	if (!w)
		return false;
	assert(q->places > 0);
	q->places--;
	w->charged = OUTQ_PLACE_BYTES;
	w->place = NULL;
	place->waiting = NULL;
	return true;
}
