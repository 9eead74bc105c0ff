/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. Posting: post.c; their event: event.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client-lib/base/attr.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "client-lib/objects/options.h"
#include "ipc/wqe.h"

_Static_assert((int)DDP_SRQ_LIMIT == MSG_SRQ_LIMIT && (int)DDP_SRQ_MAX_PER_QP == MSG_SRQ_PER_QP,
	       "changes keep their bits");

/* Maps the ring that the daemon made. */
static int attach_srq_ring(struct ddp_srq *srq, const struct msg_create_srq *req,
			   const struct msg_srq *m, int memfd)
{
	uint8_t *addr;
	int r;

	if (m->entry % WQE_ALIGN != 0 || m->entry < wqe_recv_size(req->max_sge) ||
	    ring_bytes(req->entries, m->entry) > m->bytes)
		return reason_fail(-EPROTO,
				   "ddp_create_srq: the daemon made entries of %u bytes in %llu",
				   m->entry, (unsigned long long)m->bytes);
	r = ring_map_get(&srq->pd->ctx->maps, "ddp_create_srq", memfd, m->offset, m->bytes,
			 &srq->map, &addr);
	if (r)
		return r;
	/* the number as ddpctl shows it */
	snprintf(srq->rq.owner, sizeof(srq->rq.owner), "SRQ %u", m->handle & 0xffff);
	ring_init(&srq->rq.ring, addr, req->entries, m->entry);
	srq->rq.max_sge = req->max_sge;
	/* The QP that takes the receive checks its queue number. */
	srq->rq.qns = UINT8_MAX;
	srq->rq.tagged = true;
	return 0;
}

static int create_srq(struct ddp_srq *srq, const struct ddp_srq_attr *a)
{
	struct ddp_ctx *ctx = srq->pd->ctx;
	struct msg_create_srq req = {
		.pd = srq->pd->handle,
		.entries = ddp_pow2(a->max_wr),
		.max_sge = a->max_sge,
		.limit = a->limit,
		.per_qp = a->max_per_qp,
		.cookie = srq->cookie,
	};
	struct msg_srq reply = {.offset = 0};
	int memfd;
	int r = request_create_srq(ctx, "ddp_create_srq", &req, &reply, &memfd);

	if (r)
		return r;
	pthread_mutex_lock(&ctx->lock);
	srq->handle = reply.handle; /* events find it from now on */
	pthread_mutex_unlock(&ctx->lock);
	r = attach_srq_ring(srq, &req, &reply, memfd);
	close(memfd);
	if (r)
		request_destroy_srq(ctx, "ddp_create_srq", srq->handle);
	return r;
}

/* The QPs that will use it wait for late receives. */
static int set_hold(struct ddp_srq *srq, const struct ddp_srq_attr *a)
{
	const struct msg_options req = {
		.handle = srq->handle,
		.what = MSG_OPTIONS_HOLD,
		.hold_bytes = a->hold_bytes,
		.hold_ms = a->hold_ms,
	};
	struct msg_options_state state;
	int r;

	if (a->hold_bytes == 0 && a->hold_ms == 0)
		return 0;
	r = options_call(srq->pd->ctx, "ddp_create_srq", MSG_SRQ_OPTIONS, &req, &state);
	if (r)
		request_destroy_srq(srq->pd->ctx, "ddp_create_srq", srq->handle);
	return r;
}

/* From now on events find the SRQ. */
static int add_to_table(struct ddp_srq *srq)
{
	struct ddp_ctx *ctx = srq->pd->ctx;
	int r;

	pthread_mutex_lock(&ctx->lock);
	r = idtab_add(&ctx->srqs, srq, &srq->cookie);
	pthread_mutex_unlock(&ctx->lock);
	if (r)
		return reason_fail(-ENOMEM, "ddp_create_srq: %s",
				   r > 0 ? "all 65535 SRQs are in use" : "out of memory");
	return 0;
}

static void free_srq(struct ddp_srq *srq)
{
	struct ddp_ctx *ctx = srq->pd->ctx;

	pthread_mutex_lock(&ctx->lock);
	idtab_del(&ctx->srqs, srq->cookie);
	pthread_mutex_unlock(&ctx->lock);
	ring_map_put(&ctx->maps, srq->map);
	pthread_mutex_destroy(&srq->rq.lock);
	free(srq);
}

/* Checks the limits of the local protocol; those of the daemon may be lower. */
static int read_attr(struct ddp_srq_attr *a, const struct ddp_srq_attr *attr)
{
	int r = attr_read("ddp_create_srq", a, sizeof(*a), attr);

	if (r)
		return r;
	if (a->max_sge == 0)
		a->max_sge = 1;
	if (a->max_wr == 0 || a->max_wr > RING_MAX_ENTRIES)
		return reason_fail(-EINVAL, "ddp_create_srq: max_wr %u: expected 1 to %u",
				   a->max_wr, RING_MAX_ENTRIES);
	if (a->max_sge > WQE_MAX_SGE)
		return reason_fail(-EINVAL, "ddp_create_srq: max_sge %u: at most %u", a->max_sge,
				   WQE_MAX_SGE);
	return 0;
}

int ddp_create_srq(struct ddp_pd *pd, const struct ddp_srq_attr *attr, struct ddp_srq **ret)
{
	struct ddp_srq_attr a;
	struct ddp_srq *srq;
	int r = context_here(pd->ctx, "ddp_create_srq");

	if (r == 0)
		r = read_attr(&a, attr);
	if (r)
		return r;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return reason_fail(-ENOMEM, "ddp_create_srq: out of memory");
	srq->pd = pd;
	srq->user = a.user;
	srq->rq.ctx = pd->ctx;
	list_init(&srq->users);
	pthread_mutex_init(&srq->rq.lock, NULL);
	r = add_to_table(srq);
	if (r == 0)
		r = create_srq(srq, &a);
	if (r == 0)
		r = set_hold(srq, &a);
	if (r) {
		free_srq(srq);
		return r;
	}
	context_use(pd->ctx, &pd->uses, 1);
	*ret = srq;
	return 0;
}

int ddp_destroy_srq(struct ddp_srq *srq)
{
	unsigned uses;
	int r;

	if (!srq)
		return 0;
	r = context_here(srq->pd->ctx, "ddp_destroy_srq");
	if (r)
		return r;
	uses = context_uses(srq->pd->ctx, &srq->uses);
	if (uses)
		return reason_fail(-EBUSY, "ddp_destroy_srq: %u QPs use the queue", uses);
	r = async_claim(srq->pd->ctx, "ddp_destroy_srq", &srq->events);
	if (r)
		return r;
	r = request_released(request_destroy_srq(srq->pd->ctx, "ddp_destroy_srq", srq->handle));
	if (r) {
		async_unclaim(srq->pd->ctx, &srq->events);
		return r;
	}
	context_use(srq->pd->ctx, &srq->pd->uses, -1);
	free_srq(srq);
	return 0;
}

int ddp_modify_srq(struct ddp_srq *srq, const struct ddp_srq_attr *attr, unsigned mask)
{
	struct msg_modify_srq req = {.srq = srq->handle, .what = mask};
	struct ddp_srq_attr a;
	int r = attr_read("ddp_modify_srq", &a, sizeof(a), attr);

	if (r)
		return r;
	if (mask == 0 || mask & ~(unsigned)(DDP_SRQ_LIMIT | DDP_SRQ_MAX_PER_QP))
		return reason_fail(-EINVAL, "ddp_modify_srq: mask 0x%x: not a set of DDP_SRQ_",
				   mask);
	req.limit = mask & DDP_SRQ_LIMIT ? a.limit : 0;
	req.per_qp = mask & DDP_SRQ_MAX_PER_QP ? a.max_per_qp : 0;
	return request_modify_srq(srq->pd->ctx, "ddp_modify_srq", &req);
}

int ddp_query_srq(struct ddp_srq *srq, struct ddp_srq_state *state)
{
	struct msg_srq_state m;
	struct msg_options_state o;
	struct ddp_srq_state s = {0};
	int r = attr_check("ddp_query_srq", state);

	if (r == 0)
		r = request_query_srq(srq->pd->ctx, "ddp_query_srq", srq->handle, &m);
	if (r == 0)
		r = options_query(srq->pd->ctx, "ddp_query_srq", MSG_SRQ_OPTIONS, srq->handle, &o);
	if (r)
		return r;
	s.hold_bytes = o.hold_bytes;
	s.hold_ms = o.hold_ms;
	s.held_bytes = o.held_bytes;
	s.held_msgs = o.held_msgs;
	s.max_wr = m.entries;
	s.max_sge = m.max_sge;
	s.limit = m.limit;
	s.max_per_qp = m.per_qp;
	s.posted = m.posted;
	s.held = m.held;
	s.qps = m.qps;
	s.taken = m.taken;
	attr_write(state, &s, sizeof(s));
	return 0;
}
