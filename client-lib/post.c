/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests into the rings: one submit and at most one bell for a list. */
#include <errno.h>
#include <string.h>

#include "client-lib/ddp_impl.h"
#include "client-lib/reason.h"
#include "ipc/evfd.h"
#include "ipc/wqe.h"

_Static_assert(sizeof(struct ddp_sge) == sizeof(struct wqe_sge), "copied as they are");
_Static_assert(offsetof(struct ddp_sge, lkey) == offsetof(struct wqe_sge, lkey),
	       "copied as they are");

/* A value that does not fit the entry's byte becomes one that the daemon refuses. */
static uint8_t byte_of(unsigned v)
{
	return v <= UINT8_MAX ? (uint8_t)v : UINT8_MAX;
}

static int check_sges(const char *call, int num_sge, uint32_t max)
{
	if (num_sge < 0 || (uint32_t)num_sge > max)
		return reason_fail(-EINVAL, "%s: num_sge %d: this QP was made for at most %u", call,
				   num_sge, max);
	return 0;
}

/* 0 if there is room for one more entry. */
static int check_room(struct ddp_qp *qp, struct queue *q, const char *call)
{
	int room = ring_room(&q->ring, 1);

	if (room == RING_BROKEN)
		return reason_fail(-EPROTO, "%s: the daemon's index of QP %u is out of range", call,
				   qp->num);
	if (room > 0)
		return 0;
	if (context_alive(qp->id->ctx, call) < 0)
		return -EPIPE;
	return reason_fail(-ENOMEM, "%s: QP %u: all %u entries of the queue are in use", call,
			   qp->num, q->ring.size);
}

/* Copies the data of an inline request behind the entry's head. */
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

/* Writes the entry into the next free slot, which is taken only if all is well. */
static int put_send(struct ddp_qp *qp, const struct ddp_send_wr *wr)
{
	struct ring *ring = &qp->sq.ring;
	struct wqe_send *e = ring_slot(ring, ring->mine);
	int r = check_room(qp, &qp->sq, "ddp_post_send");

	if (r == 0)
		r = check_sges("ddp_post_send", wr->num_sge, qp->sq.max_sge);
	if (r)
		return r;
	e->wr_id = wr->wr_id;
	e->opcode = byte_of(wr->opcode);
	e->flags = byte_of(wr->send_flags);
	e->num_sge = 0;
	e->pad = 0;
	e->inline_len = 0;
	e->remote_addr = wr->rdma.remote_addr;
	e->rkey = wr->rdma.rkey;
	e->inv_rkey = wr->invalidate_rkey;
	memset(e->reserved, 0, sizeof(e->reserved));
	if (wr->send_flags & DDP_SEND_INLINE) {
		r = put_inline(qp, e, wr);
		if (r)
			return r;
	} else if (wr->num_sge > 0) {
		e->num_sge = (uint8_t)wr->num_sge;
		memcpy(e->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
	}
	ring_reserve(ring);
	return 0;
}

static int put_recv(struct ddp_qp *qp, const struct ddp_recv_wr *wr)
{
	struct ring *ring = &qp->rq.ring;
	struct wqe_recv *e = ring_slot(ring, ring->mine);
	int r = check_room(qp, &qp->rq, "ddp_post_recv");

	if (r == 0)
		r = check_sges("ddp_post_recv", wr->num_sge, qp->rq.max_sge);
	if (r)
		return r;
	e->wr_id = wr->wr_id;
	e->num_sge = (uint8_t)wr->num_sge;
	memset(e->pad, 0, sizeof(e->pad));
	if (wr->num_sge > 0)
		memcpy(e->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
	ring_reserve(ring);
	return 0;
}

int ddp_post_send(struct ddp_qp *qp, struct ddp_send_wr *wr, struct ddp_send_wr **bad)
{
	struct bell_page *page = (struct bell_page *)qp->id->ctx->page.addr;
	uint32_t before;
	int r = 0;

	pthread_mutex_lock(&qp->sq.lock);
	before = qp->sq.ring.mine;
	for (; wr; wr = wr->next) {
		r = put_send(qp, wr);
		if (r)
			break;
	}
	if (qp->sq.ring.mine != before) {
		ring_submit(&qp->sq.ring);
		/* That the daemon has ended is for the next call to tell: this work is posted. */
		if (bell_ring(page, qp->slot))
			evfd_signal(qp->id->ctx->bell);
	}
	pthread_mutex_unlock(&qp->sq.lock);
	if (r && bad)
		*bad = wr;
	return r;
}

int ddp_post_recv(struct ddp_qp *qp, struct ddp_recv_wr *wr, struct ddp_recv_wr **bad)
{
	uint32_t before;
	int r = 0;

	pthread_mutex_lock(&qp->rq.lock);
	before = qp->rq.ring.mine;
	for (; wr; wr = wr->next) {
		r = put_recv(qp, wr);
		if (r)
			break;
	}
	if (qp->rq.ring.mine != before) {
		ring_submit(&qp->rq.ring);
		/* The daemon looks when a message arrives. Only where none will, because the
		 * session is over, does it wait for the bell, to flush. */
		if (ring_sleeper(&qp->rq.ring) != RING_RUNS &&
		    bell_ring((struct bell_page *)qp->id->ctx->page.addr, qp->slot))
			evfd_signal(qp->id->ctx->bell);
	}
	pthread_mutex_unlock(&qp->rq.lock);
	if (r && bad)
		*bad = wr;
	return r;
}
