/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/wr.h"

#include <string.h>

#include "daemon/client.h"
#include "daemon/cq.h"
#include "daemon/qp.h"
#include "daemon/queue.h"

enum { FLAGS_ALL = RDMAP_SIGNALED | RDMAP_FENCE | RDMAP_SOLICITED | RDMAP_INLINE };

static bool elements_of(const struct wqe_sge *in, unsigned n, struct sgl_elem *ret)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < n; i++) {
		ret[i] = (struct sgl_elem){in[i].addr, in[i].len, in[i].lkey};
		total += in[i].len;
	}
	return total <= UINT32_MAX;
}

/* The form of a send entry. Whether its STags hold is for the protocol to see, in its turn. */
static enum rdmap_status check_send(const struct qp *qp, const struct wqe_send *e,
				    struct rdmap_wr *ret)
{
	if (e->opcode > RDMAP_READ || (e->flags & ~FLAGS_ALL))
		return RDMAP_LOC_OP;
	if (e->flags & RDMAP_INLINE) {
		if (e->opcode == RDMAP_READ)
			return RDMAP_LOC_OP;
		if (e->inline_len > qp->max_inline)
			return RDMAP_LOC_LEN;
		ret->len = e->inline_len;
		memcpy(ret->inl, e->data, e->inline_len);
		return RDMAP_OK;
	}
	if (e->num_sge > qp->max_send_sge || (e->opcode == RDMAP_READ && e->num_sge != 1))
		return RDMAP_LOC_SGE;
	ret->nsge = e->num_sge;
	return elements_of(e->sge, e->num_sge, ret->sge) ? RDMAP_OK : RDMAP_LOC_LEN;
}

static void request_of(const struct qp *qp, const struct wqe_send *e, struct rdmap_wr *ret)
{
	ret->cookie = e->wr_id;
	ret->op = e->opcode;
	ret->flags = e->flags;
	if (qp->sig_all)
		ret->flags |= RDMAP_SIGNALED;
	ret->nsge = 0;
	ret->len = 0;
	ret->inv_stag = e->inv_rkey;
	ret->rstag = e->rkey;
	ret->rto = e->remote_addr;
	ret->status = (uint8_t)check_send(qp, e, ret);
	if (ret->op > RDMAP_READ)
		ret->op = RDMAP_SEND; /* an unknown opcode completes as a Send that never was */
}

/* Takes an entry with room for its completion. QUEUE_E_*, of which BROKEN ends the client. */
static int pop_send(struct qp *qp, struct wqe_send *ret)
{
	int r;

	if (ring_avail(&qp->sq) == 0 || !cq_reserve(qp->send_cq))
		return QUEUE_E_EMPTY;
	r = queue_pop_send(&qp->sq, ret);
	if (r == QUEUE_E_BROKEN)
		client_fault(qp->client,
			     "queue pair %u: the index of its send ring is out of range", qp->num);
	if (r)
		cq_unreserve(qp->send_cq, 1);
	else
		qp->taken_send++;
	return r;
}

static int pop_recv(struct qp *qp, struct wqe_recv *ret)
{
	int r;

	if (ring_avail(&qp->rq) == 0 || !cq_reserve(qp->recv_cq))
		return QUEUE_E_EMPTY;
	r = queue_pop_recv(&qp->rq, ret);
	if (r == QUEUE_E_BROKEN)
		client_fault(qp->client,
			     "queue pair %u: the index of its receive ring is out of range",
			     qp->num);
	if (r)
		cq_unreserve(qp->recv_cq, 1);
	else
		qp->taken_recv++;
	return r;
}

static bool take_send(void *user, struct rdmap_wr *ret)
{
	struct qp *qp = user;
	struct wqe_send e;

	if (pop_send(qp, &e))
		return false;
	request_of(qp, &e, ret);
	return true;
}

static bool take_recv(void *user, struct rdmap_recv *ret)
{
	struct qp *qp = user;
	struct wqe_recv e;

	if (pop_recv(qp, &e))
		return false;
	ret->cookie = e.wr_id;
	ret->nsge = 0;
	ret->status = RDMAP_LOC_SGE;
	if (e.num_sge <= qp->max_recv_sge) {
		ret->nsge = e.num_sge;
		ret->status = elements_of(e.sge, e.num_sge, ret->sge) ? RDMAP_OK : RDMAP_LOC_LEN;
	}
	return true;
}

static void complete(void *user, const struct rdmap_done *done)
{
	struct qp *qp = user;
	bool recv = done->op == RDMAP_RECV;
	struct cq *cq = recv ? qp->recv_cq : qp->send_cq;
	struct wqe_cqe e = {
		.wr_id = done->cookie,
		.qp_num = qp->num,
		.status = done->status,
		.opcode = done->op,
		.flags = (uint8_t)(done->invalidated | done->solicited << 1),
		.byte_len = done->len,
		.inv_rkey = done->inv_stag,
		.err_perr = done->at.perr,
		.err_term = done->at.term,
		.err_stag = done->at.stag,
		.err_to = done->at.to,
		.err_len = done->at.len,
	};

	if (recv)
		qp->taken_recv--;
	else
		qp->taken_send--;
	if (done->status == RDMAP_OK && !done->signaled)
		cq_unreserve(cq, 1);
	else
		cq_push(cq, &e, done->solicited || done->status != RDMAP_OK);
}

const struct rdmap_ops wr_ops = {
	.take_send = take_send,
	.take_recv = take_recv,
	.complete = complete,
};

/* At most a ring's worth: the client may post as fast as it is flushed. */
static bool flush_sends(struct qp *qp)
{
	struct rdmap_done done = {.status = RDMAP_FLUSHED, .signaled = true};
	struct wqe_send e;

	for (uint32_t i = 0; i < qp->sq.size; i++) {
		if (pop_send(qp, &e))
			return false;
		done.cookie = e.wr_id;
		done.op = e.opcode <= RDMAP_READ ? e.opcode : RDMAP_SEND;
		complete(qp, &done);
	}
	return true;
}

static bool flush_recvs(struct qp *qp)
{
	struct rdmap_done done = {.status = RDMAP_FLUSHED, .signaled = true, .op = RDMAP_RECV};
	struct wqe_recv e;

	for (uint32_t i = 0; i < qp->rq.size; i++) {
		if (pop_recv(qp, &e))
			return false;
		done.cookie = e.wr_id;
		complete(qp, &done);
	}
	return true;
}

void wr_flush(struct qp *qp)
{
	bool more = flush_sends(qp);

	if (flush_recvs(qp) || more)
		client_ring(qp->client, qp);
}
