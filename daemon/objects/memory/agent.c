/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/memory/agent.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/descriptors.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/memory/stags.h"
#include "ipc/doorbell.h"
#include "proto/rdmap/rdmap.h"
#include "proto/ddp/stag.h"
#include "proto/ddp/wire.h"
#include "util/span.h"

/* ---- life ---- */

static int make_area(struct agent *a, struct msg_agent *ret, struct reply *rep)
{
	int wait, r = rings_make(a->client, sizeof(*a->area), &a->rings, rep);

	if (r)
		return r;
	_Static_assert(sizeof(*a->area) > SLAB_RANGE_MAX, "it is zeroed: in a memfd of its own");
	a->area = (struct agent_area *)(void *)a->rings.mem;
	r = doorbell_create(&a->bell, &wait);
	if (r)
		return descriptors_refuse(rep, -r, "agent");
	reply_add_fd(rep, wait);
	ret->bytes = a->rings.bytes;
	ret->offset = a->rings.offset;
	return 0;
}

int agent_open(struct client *c, struct msg_agent *ret, struct reply *rep)
{
	struct agent *a;
	int r;

	if (c->agent)
		return reply_refuse(rep, EEXIST, "agent: this client has one already");
	a = calloc(1, sizeof(*a));
	if (!a)
		return reply_refuse(rep, ENOMEM, "agent: out of memory");
	a->client = c;
	a->bell = -1;
	list_init(&a->ring);
	r = client_charge(c, ACCT_MEMORY, sizeof(*a), &a->memory, rep);
	if (!r)
		r = client_charge(c, ACCT_DESCRIPTORS, 1, &a->bell_fd, rep);
	if (!r)
		r = make_area(a, ret, rep);
	if (r) {
		agent_free(a);
		return r;
	}
	c->agent = a;
	return 0;
}

struct agent *agent_free(struct agent *a)
{
	if (!a)
		return NULL;
	list_del(&a->ring);
	rings_free(&a->rings);
	if (a->bell >= 0)
		close(a->bell);
	acct_release(&a->bell_fd);
	acct_release(&a->memory);
	list_assert_out(&a->ring);
	free(a);
	return NULL;
}

/* ---- marks ---- */

static const uint8_t *end_of(const struct agent_region *r)
{
	return r->start + r->shadow.size;
}

/* Regions that overlap are equal. */
static int compare_regions(const void *left, const void *right)
{
	const struct agent_region *a = left, *b = right;

	if (end_of(a) <= b->start)
		return -1;
	return end_of(b) <= a->start;
}

int agent_region_add(struct agent_region *r, struct agent *a, uint8_t *base,
		     const struct shadow_layout *layout, uint32_t handle)
{
	struct agent_region **found;

	r->start = base + layout->size;
	r->shadow = shadow_at(base + 2 * layout->size, layout);
	r->slot = agent_region_slot(handle);
	found = tsearch(r, &a->client->worker->shadows, compare_regions);
	if (!found)
		return -ENOMEM;
	if (*found != r)
		return -EEXIST;
	r->agent = a;
	return 0;
}

void agent_region_remove(struct agent_region *r)
{
	if (r->agent)
		tdelete(r, &r->agent->client->worker->shadows, compare_regions);
	*r = (struct agent_region){0};
}

static void ring_later(struct agent *a)
{
	if (!list_linked(&a->ring))
		list_add_tail(&a->client->worker->agents, &a->ring);
}

static void mark_placed(struct worker *w, const uint8_t *p, uint64_t len)
{
	const struct agent_region key = {.start = p, .shadow = {.size = 1}};
	struct agent_region **found = tfind(&key, &w->shadows, compare_regions), *r;

	if (!found)
		return;
	r = *found;
	/* Another region of this client may lie in the same memory and end later. */
	if (len > (uint64_t)(end_of(r) - p))
		len = (uint64_t)(end_of(r) - p);
	shadow_mark(&r->shadow, (uint64_t)(p - r->start), len);
	r->agent->marked++;
	if (bell_ring(&r->agent->area->placed, r->slot))
		ring_later(r->agent);
}

void agent_placed(struct worker *w, const struct span *dst, unsigned n)
{
	if (!w->shadows)
		return;
	for (unsigned i = 0; i < n; i++)
		mark_placed(w, dst[i].p, dst[i].len);
}

bool agent_ring_bells(struct worker *w)
{
	bool any = false;
	struct list *l;

	while ((l = list_pop(&w->agents))) {
		/* If the client has ended, its socket tells. */
		doorbell_ring(list_entry(l, struct agent, ring)->bell);
		any = true;
	}
	return any;
}

/* ---- requests ---- */

/* The deadline has passed: the next turn checks the queue pair. */
static void wake_caller(struct timer *t)
{
	const struct agent_call *call = list_entry(t, struct agent_call, timer);

	client_ring(call->client, call->qp);
}

void agent_call_init(struct agent_call *call, struct client *c)
{
	call->client = c;
	call->state = AGENT_CALL_NONE;
	timer_init(&call->timer, wake_caller);
}

void agent_forget(struct agent_call *call)
{
	call->state = AGENT_CALL_NONE;
	timer_cancel(&call->client->worker->timers, &call->timer);
}

/* The region that is accessed, also through a window, if it has a shadow. */
static const struct stag_region *region_of(const struct client *c, uint32_t stag)
{
	const struct stag_table *t = stags_table(c->daemon->stags);
	const struct stag_region *r = stag_find(t, stag);

	if (r && r->kind != STAG_REGION)
		r = stag_find(t, r->parent);
	return r && r->apart ? r : NULL;
}

static void put_atomic(struct agent_request *q, const struct wire_atomic_req *a)
{
	q->op = a->aop == WIRE_CMP_SWAP ? AGENT_CMP_SWAP : AGENT_FETCH_ADD;
	q->len = sizeof(uint64_t);
	q->data = a->data;
	q->mask = a->mask;
	q->compare = a->compare;
	q->compare_mask = a->compare_mask;
}

static void put_fetch(struct agent_request *q, const struct stag_region *region, uint32_t len)
{
	uint64_t left = region->len - q->offset;

	q->op = AGENT_FETCH;
	q->len = len < AGENT_CHUNK ? len : AGENT_CHUNK;
	if (q->len > left)
		q->len = left;
}

/* The request that the agent has to answer before this access. False if there is none. */
static bool make_request(const struct client *c, const struct rdmap_reach *r,
			 struct agent_request *ret)
{
	const struct agent *a = c->agent;
	const struct stag_region *region = NULL;

	*ret = (struct agent_request){.op = AGENT_SYNC};
	if (r->atomic || r->len > 0)
		region = region_of(c, r->stag);
	if (!region)
		return !r->own && a->marked != a->synced;
	ret->stag = region->stag;
	ret->offset = r->to - region->to;
	if (r->atomic)
		put_atomic(ret, r->atomic);
	else
		put_fetch(ret, region, r->len);
	return true;
}

static void ask_agent(struct agent *a, struct agent_call *call)
{
	uint32_t n = client_slot(call->qp);

	agent_ask(&a->area->slot[n], &call->request, ++a->asked[n]);
	call->marked = a->marked;
	call->state = AGENT_CALL_ASKED;
	if (bell_ring(&a->area->work, n))
		ring_later(a);
}

/* The agent has answered: takes the result. */
static int take_answer(struct agent *a, const struct agent_call *call,
		       const struct agent_answer *answer, struct rdmap_reach *r)
{
	if (answer->result != AGENT_OK)
		return RDMAP_UNREACHABLE;
	if (call->marked > a->synced)
		a->synced = call->marked;
	if (call->request.op == AGENT_SYNC)
		return RDMAP_AT_HAND;
	r->ret_len = (uint32_t)call->request.len;
	r->ret_old = answer->old;
	return RDMAP_REACHED;
}

static void begin_call(struct agent_call *call)
{
	struct worker *w = call->client->worker;

	call->state = AGENT_CALL_WAITS;
	call->deadline_ms = w->now_ms + w->daemon->cfg.session.agent_ms;
	timer_set(&w->timers, &call->timer, call->deadline_ms);
}

int agent_reach(struct agent_call *call, struct rdmap_reach *r)
{
	struct agent *a = call->client->agent;
	int outcome = RDMAP_NOT_YET;
	struct agent_answer answer;
	uint32_t slot = client_slot(call->qp);

	if (!a)
		return RDMAP_AT_HAND;
	if (call->state == AGENT_CALL_NONE) {
		if (!make_request(call->client, r, &call->request))
			return RDMAP_AT_HAND;
		begin_call(call);
	}
	if (agent_is_answered(&a->area->slot[slot], a->asked[slot], &answer)) {
		if (call->state == AGENT_CALL_ASKED)
			outcome = take_answer(a, call, &answer, r);
		else
			ask_agent(a, call);
	}
	if (outcome == RDMAP_NOT_YET && call->client->worker->now_ms >= call->deadline_ms)
		outcome = RDMAP_UNREACHABLE;
	if (outcome != RDMAP_NOT_YET)
		agent_forget(call);
	return outcome;
}
