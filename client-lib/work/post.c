/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes work requests to the rings: one submit and at most one bell for a list. */
#include <errno.h>
#include <string.h>

#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/work/flush.h"
#include "client-lib/work/post_check.h"
#include "ipc/doorbell.h"
#include "ipc/local_protocol.h"
#include "ipc/wqe.h"

_Static_assert(sizeof(struct ddp_sge) == sizeof(struct wqe_sge), "copied as they are");
_Static_assert(offsetof(struct ddp_sge, lkey) == offsetof(struct wqe_sge, lkey),
	       "copied as they are");

_Static_assert(DDP_QN_TAGGED == WQE_QN_TAGGED, "copied as it is");
_Static_assert((int)DDP_DATAGRAM_MAX == WQE_DATAGRAM_MAX && (int)DDP_GRH_LEN == WQE_GRH &&
		       DDP_QKEY_OWN == WQE_QKEY_OWN,
	       "datagrams have the same limits");
_Static_assert((int)DDP_WR_SEND == WQE_SEND && (int)DDP_WR_SEND_WITH_INV == WQE_SEND_INV &&
		       (int)DDP_WR_RDMA_WRITE == WQE_WRITE && (int)DDP_WR_RDMA_READ == WQE_READ &&
		       (int)DDP_WR_IMM_DATA == WQE_IMM &&
		       (int)DDP_WR_ATOMIC_FETCH_AND_ADD == WQE_FETCH_ADD &&
		       (int)DDP_WR_ATOMIC_CMP_AND_SWP == WQE_CMP_SWAP &&
		       (int)DDP_WR_BIND_MW == WQE_BIND && (int)DDP_WR_LOCAL_INV == WQE_LOCAL_INV,
	       "opcodes keep their numbers, but for masked atomics");
_Static_assert((int)DDP_SEND_SIGNALED == WQE_SIGNALED && (int)DDP_SEND_FENCE == WQE_FENCE &&
		       (int)DDP_SEND_SOLICITED == WQE_SOLICITED &&
		       (int)DDP_SEND_INLINE == WQE_INLINE && (int)DDP_SEND_PLACED == WQE_PLACED &&
		       (int)DDP_SEND_PACED == WQE_PACED && (int)DDP_SEND_WITH_IMM == WQE_WITH_IMM,
	       "flags keep their bits");
_Static_assert((int)DDP_SEND_WITH_NEXT > UINT8_MAX, "the ring does not have it");

/* A value that does not fit into a byte becomes UINT8_MAX, which is not an opcode. */
static uint8_t byte_of(unsigned v)
{
	return v <= UINT8_MAX ? (uint8_t)v : UINT8_MAX;
}

/* In the ring all atomics have masks. */
static uint8_t ring_opcode(enum ddp_wr_opcode op)
{
	switch (op) {
	case DDP_WR_MASKED_FETCH_AND_ADD:
		return WQE_FETCH_ADD;
	case DDP_WR_MASKED_CMP_AND_SWP:
		return WQE_CMP_SWAP;
	default:
		return byte_of(op);
	}
}

/* Whether ddp_reopen() has found another daemon. */
static bool is_former(struct queue *q)
{
	bool gone;

	pthread_mutex_lock(&q->ctx->lock);
	gone = q->gone;
	pthread_mutex_unlock(&q->ctx->lock);
	return gone;
}

/* 0 if there is room for one more entry. */
static int check_ring_room(struct queue *q, const char *call)
{
	int room = ring_room(&q->ring, 1);

	if (room == RING_BROKEN)
		return reason_fail(-EPROTO, "%s: the daemon's index of %s is out of range", call,
				   q->owner);
	if (room > 0)
		return 0;
	if (context_alive(q->ctx, call) < 0)
		return -EPIPE;
	if (is_former(q))
		return reason_former(call);
	return reason_fail(-ENOMEM, "%s: %s: all %u entries of the queue are in use", call,
			   q->owner, q->ring.size);
}

/* ---- entries ---- */

/* Copies the inline data to the entry, after its head. */
static int put_inline(struct ddp_qp *qp, struct wqe_send *e, const struct ddp_send_wr *wr)
{
	uint32_t len = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ddp_sge *s = &wr->sg_list[i];

		if (s->length > qp->max_inline - len)
			return reason_fail(
				-EINVAL, "ddp_post_send: inline data: QP %u was made for %u bytes",
				qp->num, qp->max_inline);
		if (s->length)
			memcpy(e->data + len, (const void *)(uintptr_t)s->addr, s->length);
		len += s->length;
	}
	e->inline_len = len;
	return 0;
}

/* An atomic without masks gets masks without effect. */
static void put_atomic(struct wqe_send *e, uint8_t op, const struct ddp_send_wr *wr)
{
	bool masked = wr->opcode == DDP_WR_MASKED_FETCH_AND_ADD ||
		      wr->opcode == DDP_WR_MASKED_CMP_AND_SWP;

	if (op == WQE_FETCH_ADD) {
		e->atomic.data = wr->atomic.compare_add;
		e->atomic.mask = masked ? wr->atomic.add_mask : 0;
		e->atomic.compare_mask = UINT64_MAX;
		return;
	}
	e->atomic.data = wr->atomic.swap;
	e->atomic.mask = masked ? wr->atomic.swap_mask : UINT64_MAX;
	e->atomic.compare = wr->atomic.compare_add;
	e->atomic.compare_mask = masked ? wr->atomic.compare_mask : UINT64_MAX;
}

static uint64_t imm_of(const struct ddp_send_wr *wr)
{
	return wr->send_flags & DDP_SEND_WITH_IMM ? wr->imm_data : 0;
}

/* Where it goes is in members that other Sends do not use. */
static void put_datagram(struct wqe_send *e, const struct ddp_send_wr *wr)
{
	e->inv_rkey = wr->ud.ah->handle;
	e->rkey = wr->ud.remote_qp;
	e->remote_addr = wr->ud.remote_qkey;
	e->imm = imm_of(wr);
}

/* The operands of the operation's form. */
static void put_operands(const struct ddp_qp *qp, struct wqe_send *e, uint8_t op,
			 const struct ddp_send_wr *wr)
{
	const struct opcode *row = opcode_get(op);

	memset(e->operand, 0, sizeof(e->operand));
	if (qp->datagram) {
		put_datagram(e, wr);
		return;
	}
	if (qp->raw) {
		e->raw.rsvd = wr->raw.rsvd;
		e->raw.qn = op == WQE_SEND ? wr->raw.qn : 0;
		return;
	}
	switch (row ? row->form : OPCODE_FORM_PLAIN) {
	case OPCODE_FORM_IMM:
		e->imm = wr->imm_data;
		break;
	case OPCODE_FORM_ATOMIC:
		put_atomic(e, op, wr);
		break;
	case OPCODE_FORM_BIND:
		e->remote_addr = wr->bind.addr;
		e->rkey = wr->bind.rkey;
		e->bind.region = wr->bind.mr->rkey;
		e->bind.access = wr->bind.access;
		e->bind.length = wr->bind.length;
		break;
	default:
		e->imm = imm_of(wr);
		break;
	}
}

/* A request with a fence is at qp->fence, or becomes the next one there. */
static void note_fence(struct ddp_qp *qp, const struct ddp_send_wr *wr)
{
	if (!(wr->send_flags & DDP_SEND_FENCE))
		return;
	qp->fenced = true;
	qp->fence = qp->sq.ring.mine;
}

/* Whether Reads that a fence waits for may still bring bytes. The daemon takes a request when the
 * one before it is sent. */
static bool is_fenced(struct ddp_qp *qp)
{
	struct ring *ring = &qp->sq.ring;

	if (qp->fenced && ring_room(ring, ring->size) > 0)
		qp->fenced = (int32_t)(ring->theirs - qp->fence) < 2;
	return qp->fenced;
}

/* Memory that the daemon cannot map is copied now, or behind a fence when the request is sent. */
static int gather(struct ddp_qp *qp, struct wqe_send *e, const struct ddp_send_wr *wr)
{
	struct ddp_ctx *ctx = qp->sq.ctx;

	if (!opcode_has(e->opcode, OPCODE_PAYLOAD))
		return 0;
	if (!is_fenced(qp))
		return agent_gather(ctx, wr->sg_list, wr->num_sge);
	if (!agent_has(ctx, wr->sg_list, wr->num_sge))
		return 0;
	if (ctx->minor < IPC_MINOR_FETCH)
		return reason_fail(
			-EOPNOTSUPP,
			"ddp_post_send: a fence does not work with memory that is copied: "
			"the daemon is too old");
	e->fetch = 1;
	return 0;
}

/* Writes the entry to the next free slot, and reserves the slot on success. */
static int put_send(struct ddp_qp *qp, const struct ddp_send_wr *wr)
{
	struct ring *ring = &qp->sq.ring;
	struct wqe_send *e = ring_slot(ring, ring->mine);
	uint8_t op = ring_opcode(wr->opcode);
	int r = check_ring_room(&qp->sq, "ddp_post_send");

	if (r == 0)
		r = post_check_send(qp, op, wr);
	if (r)
		return r;
	e->wr_id = wr->wr_id;
	e->opcode = op;
	e->flags = (uint8_t)wr->send_flags;
	e->num_sge = 0;
	e->fetch = 0;
	e->inline_len = 0;
	e->remote_addr = wr->rdma.remote_addr;
	e->rkey = wr->rdma.rkey;
	e->inv_rkey = wr->invalidate_rkey;
	put_operands(qp, e, op, wr);
	note_fence(qp, wr);
	if (wr->send_flags & DDP_SEND_INLINE) {
		r = put_inline(qp, e, wr);
		if (r)
			return r;
	} else if (wr->num_sge > 0) {
		r = gather(qp, e, wr);
		if (r)
			return r;
		e->num_sge = (uint8_t)wr->num_sge;
		memcpy(e->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
	}
	r = flush_keep(&qp->sq, "ddp_post_send", wr->wr_id);
	if (r)
		return r;
	ring_reserve(ring);
	return 0;
}

static int put_recv(struct queue *q, const char *call, const struct ddp_recv_wr *wr)
{
	struct wqe_recv *e = ring_slot(&q->ring, q->ring.mine);
	int r = check_ring_room(q, call);

	if (r == 0)
		r = post_check_recv(q, call, wr);
	if (r == 0)
		r = flush_keep(q, call, wr->wr_id);
	if (r)
		return r;
	e->wr_id = wr->wr_id;
	e->num_sge = (uint8_t)wr->num_sge;
	memset(e->pad, 0, sizeof(e->pad));
	e->qn = wr->qn;
	if (wr->num_sge > 0)
		memcpy(e->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
	ring_reserve(&q->ring);
	return 0;
}

/* Of the windows that the requests before `end` bind. */
static void set_rkeys(const struct ddp_send_wr *wr, const struct ddp_send_wr *end)
{
	for (; wr != end; wr = wr->next)
		if (wr->opcode == DDP_WR_BIND_MW)
			wr->bind.mw->rkey = wr->bind.rkey;
}

/* Reserves the entries of *wr and of those that are posted with it, or none. *wr is then the next
 * one. */
static int put_together(struct ddp_qp *qp, struct ddp_send_wr **wr)
{
	const uint32_t mine = qp->sq.ring.mine, fence = qp->fence;
	const bool fenced = qp->fenced;
	struct ddp_send_wr *at = *wr;
	bool goes_on;
	int r;

	do {
		r = put_send(qp, at);
		goes_on = at->send_flags & DDP_SEND_WITH_NEXT;
		at = at->next;
	} while (r == 0 && goes_on && at);
	if (r) {
		ring_unreserve(&qp->sq.ring, mine);
		qp->fence = fence;
		qp->fenced = fenced;
		return r;
	}
	set_rkeys(*wr, at);
	*wr = at;
	return 0;
}

int ddp_post_send(struct ddp_qp *qp, struct ddp_send_wr *wr, struct ddp_send_wr **bad)
{
	struct bell_page *page = (struct bell_page *)qp->sq.ctx->page.addr;
	uint32_t before;
	int r = context_here(qp->sq.ctx, "ddp_post_send");

	if (r) {
		if (bad)
			*bad = wr;
		return r;
	}
	pthread_mutex_lock(&qp->sq.lock);
	before = qp->sq.ring.mine;
	while (r == 0 && wr)
		r = put_together(qp, &wr);
	if (qp->sq.ring.mine != before) {
		ring_submit(&qp->sq.ring);
		/* If the daemon has ended, the next call reports it: this work is posted. */
		if (bell_ring(page, qp->slot))
			doorbell_ring(qp->sq.ctx->bell);
	}
	pthread_mutex_unlock(&qp->sq.lock);
	if (r && bad)
		*bad = wr;
	return r;
}

/* Posts the list up to the first request that cannot be posted, which is *wr then. The lock is
 * held. True if the daemon waits for receives. */
static bool put_recvs(struct queue *q, const char *call, struct ddp_recv_wr **wr, int *ret)
{
	uint32_t before = q->ring.mine;

	for (; *wr; *wr = (*wr)->next) {
		*ret = put_recv(q, call, *wr);
		if (*ret)
			break;
	}
	if (q->ring.mine == before)
		return false;
	ring_submit(&q->ring);
	return ring_sleeper(&q->ring) != RING_RUNS;
}

int ddp_post_recv(struct ddp_qp *qp, struct ddp_recv_wr *wr, struct ddp_recv_wr **bad)
{
	struct bell_page *page = (struct bell_page *)qp->sq.ctx->page.addr;
	int r = context_here(qp->rq.ctx, "ddp_post_recv");

	if (r == 0 && qp->srq) {
		r = reason_fail(-EINVAL,
				"ddp_post_recv: QP %u takes its receives from a shared queue: use "
				"ddp_post_srq_recv()",
				qp->num);
	} else if (r == 0) {
		pthread_mutex_lock(&qp->rq.lock);
		/* The daemon reads this ring when a message arrives. It waits for the bell only
		 * while a message waits for a receive, and after the session has ended: no message
		 * arrives then, and it flushes. */
		if (put_recvs(&qp->rq, "ddp_post_recv", &wr, &r) && bell_ring(page, qp->slot))
			doorbell_ring(qp->sq.ctx->bell);
		pthread_mutex_unlock(&qp->rq.lock);
	}
	if (r && bad)
		*bad = wr;
	return r;
}

/* Messages of any of its QPs may wait. */
static void ring_users(struct ddp_srq *srq)
{
	const struct ddp_ctx *ctx = srq->pd->ctx;
	bool wake = false;

	list_foreach (it, &srq->users)
		wake |= bell_ring((struct bell_page *)ctx->page.addr,
				  list_entry(it, struct cq_user, link)->slot);
	if (wake)
		doorbell_ring(ctx->bell);
}

int ddp_post_srq_recv(struct ddp_srq *srq, struct ddp_recv_wr *wr, struct ddp_recv_wr **bad)
{
	int r = context_here(srq->rq.ctx, "ddp_post_srq_recv");

	if (r == 0) {
		pthread_mutex_lock(&srq->rq.lock);
		/* The end of a session does not flush them: the daemon needs the bell only while a
		 * message waits for a receive. */
		if (put_recvs(&srq->rq, "ddp_post_srq_recv", &wr, &r))
			ring_users(srq);
		pthread_mutex_unlock(&srq->rq.lock);
	}
	if (r && bad)
		*bad = wr;
	return r;
}
