/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/queues/cq.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/descriptors.h"
#include "daemon/objects/client/client.h"
#include "ipc/doorbell.h"
#include "util/checked.h"

static int make_ring(struct cq *cq, uint32_t entries, struct reply *rep)
{
	const size_t entry = sizeof(struct wqe_cqe);
	int r = rings_make(cq->client, ring_bytes(entries, entry), &cq->rings, rep);

	if (!r)
		ring_init(&cq->ring, cq->rings.mem, entries, entry);
	return r;
}

static int make_bell(struct cq *cq, struct reply *rep)
{
	int wait, r = doorbell_create(&cq->bell, &wait);

	if (!r)
		reply_add_fd(rep, wait);
	return r;
}

static int build_cq(struct cq *cq, uint32_t entries, struct reply *rep)
{
	struct client *c = cq->client;
	int r = client_charge(c, ACCT_CQS, 1, &cq->charge, rep);

	if (!r)
		r = client_charge(c, ACCT_DESCRIPTORS, 1, &cq->bell_fd, rep);
	if (!r)
		r = make_ring(cq, entries, rep);
	if (r)
		return r;
	r = make_bell(cq, rep);
	if (!r && idtab_add(&c->handles.cqs, cq, &cq->handle))
		r = -ENOMEM;
	return r ? descriptors_refuse(rep, -r, "completion queue") : 0;
}

static int check_entries(const struct client *c, uint32_t entries, struct reply *rep)
{
	uint32_t max = c->daemon->cfg.limits.cqe;

	if (checked_pow2(entries) && entries <= max)
		return 0;
	return reply_refuse(rep, EINVAL,
			    "completion queue of %u entries: not a power of two up to %u "
			    "(limits.cqe)",
			    entries, max);
}

static void put_reply(const struct cq *cq, struct msg_cq *ret)
{
	ret->handle = cq->handle;
	ret->entries = cq->ring.size;
	ret->bytes = cq->rings.bytes;
	ret->offset = cq->rings.offset;
}

int cq_create(struct client *c, const struct msg_create_cq *req, struct msg_cq *ret,
	      struct reply *rep)
{
	struct cq *cq;
	int r = check_entries(c, req->entries, rep);

	if (r)
		return r;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return reply_refuse(rep, ENOMEM, "completion queue: out of memory");
	cq->client = c;
	cq->bell = -1;
	list_init(&cq->dirty);
	list_init(&cq->waiters);
	list_init(&cq->notices.due);
	list_init(&cq->notices.unread);
	list_init(&cq->notices.link);
	async_init(&cq->async);
	r = build_cq(cq, req->entries, rep);
	if (r) {
		cq_free(cq);
		return r;
	}
	put_reply(cq, ret);
	return 0;
}

/* Work that waited for room continues. */
static void wake_waiters(struct cq *cq)
{
	struct list *l;

	while ((l = list_pop(&cq->waiters)))
		client_ring(cq->client, list_entry(l, struct cq_waiter, link)->qp);
}

/* The client waits for the reply and reads neither ring meanwhile. */
static void move_entries(struct cq *cq, uint32_t n, struct ring *to)
{
	uint32_t sleeper = ring_sleeper(&cq->ring);

	for (uint32_t i = 0; i < n; i++)
		memcpy(ring_reserve(to), ring_slot(&cq->ring, cq->ring.mine - n + i),
		       to->entry_size);
	ring_submit(to);
	if (sleeper != RING_RUNS)
		ring_sleep(to, sleeper);
}

int cq_resize(struct cq *cq, uint32_t entries, struct msg_cq *ret, struct reply *rep)
{
	int r = check_entries(cq->client, entries, rep);
	int room = ring_room(&cq->ring, cq->ring.size);
	struct rings rings;
	struct ring ring;
	uint32_t waiting;

	if (r)
		return r;
	if (room < 0)
		return reply_violation(rep, EPROTO,
				       "completion queue %u: its index is out of range",
				       cq->handle & 0xffff);
	waiting = cq->ring.size - (uint32_t)room;
	if (waiting + cq->reserved > entries)
		return reply_refuse(rep, EBUSY,
				    "completion queue %u: %u completions wait and %u are reserved: "
				    "%u entries are too few",
				    cq->handle & 0xffff, waiting, cq->reserved, entries);
	r = rings_make(cq->client, ring_bytes(entries, sizeof(struct wqe_cqe)), &rings, rep);
	if (r)
		return r;
	ring_init(&ring, rings.mem, entries, sizeof(struct wqe_cqe));
	move_entries(cq, waiting, &ring);
	rings_free(&cq->rings);
	cq->rings = rings;
	cq->ring = ring;
	put_reply(cq, ret);
	wake_waiters(cq);
	/* The new ring has no record of notices that wait for the client. */
	cq->notices.taken = UINT64_MAX;
	if (!list_empty(&cq->notices.unread))
		ring_block(&cq->ring);
	return 0;
}

void cq_query(const struct cq *cq, struct msg_cq_state *ret)
{
	struct ring now = cq->ring;
	int room = ring_room(&now, now.size);

	ret->entries = now.size;
	ret->waiting = room < 0 ? 0 : now.size - (uint32_t)room;
	ret->reserved = cq->reserved;
	ret->qps = cq->users;
	ret->completions = cq->completions;
	ret->bells = cq->bells;
}

int cq_destroy(struct cq *cq, struct reply *rep)
{
	if (cq->users > 0)
		return reply_refuse(rep, EBUSY, "completion queue %u: %u queue pairs use it",
				    cq->handle & 0xffff, cq->users);
	if (cq->notices.regions > 0)
		return reply_refuse(rep, EBUSY, "completion queue %u: %u memory regions use it",
				    cq->handle & 0xffff, cq->notices.regions);
	cq_free(cq);
	return 0;
}

struct cq *cq_free(struct cq *cq)
{
	if (!cq)
		return NULL;
	idtab_del(&cq->client->handles.cqs, cq->handle);
	list_del(&cq->dirty);
	list_del(&cq->notices.link);
	async_drop(&cq->async);
	rings_free(&cq->rings);
	if (cq->bell >= 0)
		close(cq->bell);
	acct_release(&cq->bell_fd);
	acct_release(&cq->charge);
	assert(cq->users == 0 && cq->notices.regions == 0);
	list_assert_out(&cq->dirty);
	list_assert_out(&cq->waiters);
	list_assert_out(&cq->notices.link);
	list_assert_out(&cq->notices.due);
	list_assert_out(&cq->notices.unread);
	list_assert_out(&cq->async.link);
	free(cq);
	return NULL;
}

/* Free entries: the private copy of the client's index serves if it leaves as many as wanted. */
static uint32_t room_for(struct cq *cq, uint32_t want)
{
	int room = ring_room(&cq->ring, want);

	if (room < 0) {
		client_fault(cq->client, "completion queue %u: its index is out of range",
			     cq->handle & 0xffff);
		return 0;
	}
	return (uint32_t)room;
}

static bool has_room(struct cq *cq)
{
	return room_for(cq, cq->reserved + 1) > cq->reserved;
}

bool cq_reserve_now(struct cq *cq)
{
	if (!has_room(cq))
		return false;
	cq->reserved++;
	return true;
}

uint64_t cq_taken(struct cq *cq)
{
	return cq->completions - (cq->ring.size - room_for(cq, cq->ring.size));
}

bool cq_reserve(struct cq *cq, struct cq_waiter *waiter)
{
	if (!has_room(cq)) {
		ring_block(&cq->ring);
		if (!has_room(cq)) {
			if (!list_linked(&waiter->link))
				list_add_tail(&cq->waiters, &waiter->link);
			return false;
		}
	}
	cq->reserved++;
	return true;
}

void cq_unreserve(struct cq *cq, uint32_t n)
{
	cq->reserved -= n;
	if (n > 0)
		wake_waiters(cq); /* the client does not know of this room, so it will not ring */
}

struct wqe_cqe *cq_slot(struct cq *cq)
{
	return ring_reserve(&cq->ring);
}

void cq_push(struct cq *cq, bool solicited)
{
	ring_submit(&cq->ring);
	cq->reserved--;
	cq->completions++;
	cq->solicited |= solicited;
	if (!list_linked(&cq->dirty))
		list_add_tail(&cq->client->worker->dirty_cqs, &cq->dirty);
}

static void ring_bell(struct cq *cq)
{
	bool solicited = cq->solicited;

	/* It counts for this turn only: a client that goes to sleep later reads the ring first. */
	cq->solicited = false;
	client_await_answer(cq->client);
	if (!ring_wake(&cq->ring, solicited))
		return;
	doorbell_ring(cq->bell);
	cq->bells++;
}

bool cq_ring_bells(struct worker *w)
{
	struct list *l;
	bool any = false;

	while ((l = list_pop(&w->dirty_cqs))) {
		ring_bell(list_entry(l, struct cq, dirty));
		any = true;
	}
	return any;
}
