/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/queues/srq.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/queue.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/client/handles.h"
#include "daemon/objects/client/pd.h"
#include "ipc/wqe.h"
#include "util/checked.h"

/* ---- creation ---- */

static int check_limit(uint32_t limit, uint32_t entries, struct reply *rep)
{
	if (limit <= entries)
		return 0;
	return reply_refuse(rep, EINVAL,
			    "shared receive queue: limit of %u: at most its %u entries", limit,
			    entries);
}

static int check_srq(const struct client *c, const struct msg_create_srq *req, struct reply *rep)
{
	uint32_t max = c->daemon->cfg.limits.qp_wr;

	if (!checked_pow2(req->entries) || req->entries > max)
		return reply_refuse(rep, EINVAL,
				    "shared receive queue of %u entries: not a power of two up "
				    "to %u (limits.qp_wr)",
				    req->entries, max);
	if (req->max_sge < 1 || req->max_sge > WQE_MAX_SGE)
		return reply_refuse(rep, EINVAL,
				    "shared receive queue: max_sge of %u: expected 1 to %d",
				    req->max_sge, WQE_MAX_SGE);
	return check_limit(req->limit, req->entries, rep);
}

static int make_ring(struct srq *s, uint32_t entries, struct reply *rep)
{
	uint32_t entry = wqe_recv_size(s->max_sge);
	int r = rings_make(s->client, ring_bytes(entries, entry), &s->rings, rep);

	if (!r)
		ring_init(&s->ring, s->rings.mem, entries, entry);
	return r;
}

static int build_srq(struct srq *s, uint32_t entries, struct reply *rep)
{
	struct client *c = s->client;
	int r = client_charge(c, ACCT_SRQS, 1, &s->charge, rep);

	if (!r)
		r = make_ring(s, entries, rep);
	if (!r)
		r = client_reserve_events(c, 1, rep);
	if (!r)
		s->places = 1;
	if (!r && idtab_add(&c->handles.srqs, s, &s->handle))
		r = reply_refuse(rep, ENOMEM,
				 "shared receive queue: no room in the client's table");
	return r;
}

static struct srq *new_srq(struct client *c, struct pd *pd, const struct msg_create_srq *req)
{
	struct srq *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->client = c;
	s->pd = pd;
	pd->srqs++;
	s->cookie = req->cookie;
	s->max_sge = req->max_sge;
	s->limit = req->limit;
	s->per_qp = req->per_qp;
	list_init(&s->low);
	async_init(&s->async);
	return s;
}

int srq_create(struct client *c, const struct msg_create_srq *req, struct msg_srq *ret,
	       struct reply *rep)
{
	struct pd *pd = handles_pd(c, req->pd, rep);
	struct srq *s;
	int r;

	if (!pd)
		return -ENOENT;
	r = check_srq(c, req, rep);
	if (r)
		return r;
	s = new_srq(c, pd, req);
	if (!s)
		return reply_refuse(rep, ENOMEM, "shared receive queue: out of memory");
	r = build_srq(s, req->entries, rep);
	if (r) {
		srq_free(s);
		return r;
	}
	ret->handle = s->handle;
	ret->entry = s->ring.entry_size;
	ret->bytes = s->rings.bytes;
	ret->offset = s->rings.offset;
	return 0;
}

int srq_destroy(struct srq *s, struct reply *rep)
{
	if (s->users > 0)
		return reply_refuse(rep, EBUSY, "shared receive queue %u: %u queue pairs use it",
				    s->handle & 0xffff, s->users);
	srq_free(s);
	return 0;
}

struct srq *srq_free(struct srq *s)
{
	if (!s)
		return NULL;
	idtab_del(&s->client->handles.srqs, s->handle);
	list_del(&s->low);
	async_drop(&s->async);
	client_release_events(s->client, &s->event, 1, s->places);
	rings_free(&s->rings);
	s->pd->srqs--;
	acct_release(&s->charge);
	assert(s->users == 0);
	list_assert_out(&s->low);
	list_assert_out(&s->async.link);
	free(s);
	return NULL;
}

/* ---- the limit ---- */

/* The limit fires once; the client arms it again. The event is queued at the end of the turn,
 * because the datapath makes no system calls. */
static void watch_limit(struct srq *s)
{
	if (s->limit == 0 || queue_waiting(&s->ring) >= s->limit)
		return;
	s->limit = 0;
	if (async_is_open(s->client))
		async_post(s->client, &s->async, MSG_ASYNC_SRQ_LIMIT, s->handle);
	else if (!list_linked(&s->low))
		list_add_tail(&s->client->worker->low_srqs, &s->low);
}

bool srq_queue_low_events(struct worker *w)
{
	struct list *l;
	bool any = false;

	while ((l = list_pop(&w->low_srqs))) {
		struct srq *s = list_entry(l, struct srq, low);
		struct msg_event ev = {.type = MSG_EV_SRQ_LIMIT, .cookie = s->cookie};

		client_event(s->client, &s->event, &ev);
		any = true;
	}
	return any;
}

int srq_modify(struct srq *s, const struct msg_modify_srq *req, struct reply *rep)
{
	const uint32_t all = MSG_SRQ_LIMIT | MSG_SRQ_PER_QP;
	int r;

	if (req->what == 0 || (req->what & ~all))
		return reply_refuse(rep, EINVAL,
				    "shared receive queue %u: modify 0x%x: expected a subset of "
				    "0x%x",
				    s->handle & 0xffff, req->what, all);
	if (req->what & MSG_SRQ_LIMIT) {
		r = check_limit(req->limit, s->ring.size, rep);
		if (r)
			return r;
		s->limit = req->limit;
		watch_limit(s);
	}
	if (req->what & MSG_SRQ_PER_QP)
		s->per_qp = req->per_qp;
	return 0;
}

/* ---- use ---- */

bool srq_offers(struct srq *s, uint32_t held)
{
	return (s->per_qp == 0 || held < s->per_qp) && ring_avail(&s->ring) != 0;
}

void srq_taken(struct srq *s)
{
	s->held++;
	s->taken++;
	watch_limit(s);
}

void srq_done(struct srq *s, uint32_t n)
{
	s->held -= n;
}

void srq_wait(struct srq *s, bool *waits)
{
	s->waiting += !*waits;
	*waits = true;
	ring_sleep(&s->ring, RING_SLEEPS);
}

void srq_wait_end(struct srq *s, bool *waits)
{
	s->waiting -= *waits;
	*waits = false;
	if (s->waiting == 0)
		ring_awake(&s->ring);
}

void srq_query(const struct srq *s, struct msg_srq_state *ret)
{
	ret->entries = s->ring.size;
	ret->max_sge = s->max_sge;
	ret->limit = s->limit;
	ret->per_qp = s->per_qp;
	ret->posted = queue_waiting(&s->ring);
	ret->held = s->held;
	ret->qps = s->users;
	ret->pd = s->pd->handle;
	ret->taken = s->taken;
}
