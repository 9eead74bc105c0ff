/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/wr.h"

#include <string.h>

#include "daemon/base/queue.h"
#include "daemon/objects/memory/agent.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/memory/holes.h"
#include "daemon/objects/memory/mr.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_hold.h"
#include "daemon/objects/queues/srq.h"

/* ---- entries of the rings have the layout of the protocol's requests ---- */

_Static_assert((int)WQE_SIGNALED == RDMAP_SIGNALED && (int)WQE_FENCE == RDMAP_FENCE &&
		       (int)WQE_SOLICITED == RDMAP_SOLICITED && (int)WQE_INLINE == RDMAP_INLINE &&
		       (int)WQE_PLACED == RDMAP_PLACED && (int)WQE_PACED == RDMAP_PACED &&
		       (int)WQE_WITH_IMM == RDMAP_WITH_IMM,
	       "flags keep their bits");

#define SAME_OPERAND(wqe, wr)                                                                      \
	_Static_assert(offsetof(struct wqe_send, wqe) - offsetof(struct wqe_send, operand) ==      \
			       offsetof(struct rdmap_wr, wr) - offsetof(struct rdmap_wr, operand), \
		       "operands are copied as they are")
SAME_OPERAND(imm, imm);
SAME_OPERAND(atomic.data, atomic.data);
SAME_OPERAND(atomic.mask, atomic.mask);
SAME_OPERAND(atomic.compare, atomic.compare);
SAME_OPERAND(atomic.compare_mask, atomic.compare_mask);
SAME_OPERAND(bind.region, bind.region);
SAME_OPERAND(bind.access, bind.rights);
SAME_OPERAND(bind.length, bind.len);
SAME_OPERAND(raw.rsvd, raw.rsvd);
SAME_OPERAND(raw.qn, raw.qn);
_Static_assert(sizeof(((struct wqe_send *)0)->operand) == sizeof(((struct rdmap_wr *)0)->operand),
	       "operands are copied as they are");

/* ---- from entries to work requests ---- */

/*
 * Only counts are checked here, so that copies stay in bounds. The protocol checks everything else
 * (proto/rdmap/rdmap_work.c).
 */

static bool elements_of(const struct wqe_sge *in, unsigned n, struct sgl_elem *ret)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < n; i++) {
		ret[i] = (struct sgl_elem){in[i].addr, in[i].len, in[i].lkey};
		total += in[i].len;
	}
	return total <= UINT32_MAX;
}

/* The payload: inline, or elements. */
static enum rdmap_status payload_of(const struct qp *qp, const struct wqe_send *e,
				    struct rdmap_wr *ret)
{
	if (e->flags & WQE_INLINE) {
		if (e->inline_len > qp->attr.max_inline)
			return RDMAP_LOC_LEN_ERR;
		ret->len = e->inline_len;
		memcpy(ret->inl, e->data, e->inline_len);
		return RDMAP_SUCCESS;
	}
	if (e->num_sge > qp->attr.max_send_sge)
		return RDMAP_LOC_SGE_ERR;
	ret->nsge = e->num_sge;
	return elements_of(e->sge, e->num_sge, ret->sge) ? RDMAP_SUCCESS : RDMAP_LOC_LEN_ERR;
}

/* An unknown opcode completes as a Send. */
static uint8_t op_of(const struct wqe_send *e)
{
	return opcode_is_send(e->opcode) ? e->opcode : WQE_SEND;
}

static void request_of(const struct qp *qp, const struct wqe_send *e, struct rdmap_wr *ret)
{
	ret->cookie = e->wr_id;
	ret->op = op_of(e);
	ret->flags = e->flags;
	if (qp->attr.sig_all)
		ret->flags |= RDMAP_SIGNALED;
	ret->nsge = 0;
	ret->len = 0;
	ret->inv_stag = e->inv_rkey;
	ret->rstag = e->rkey;
	ret->rto = e->remote_addr;
	ret->fetch = e->fetch;
	ret->status =
		(uint8_t)(opcode_is_send(e->opcode) ? payload_of(qp, e, ret) : RDMAP_LOC_OP_ERR);
	memcpy(ret->operand, e->operand, sizeof(ret->operand));
}

/* The queue of a receive. False if this queue pair has no queue of that number. */
static bool queue_of(const struct qp *qp, const struct wqe_recv *e, uint8_t *ret)
{
	if (qp->attr.raw && e->qn == WQE_QN_TAGGED)
		*ret = RDMAP_QN_TAGGED;
	else if (e->qn < (qp->attr.raw ? qp->attr.raw_queues : 1U))
		*ret = (uint8_t)e->qn;
	else
		return false;
	return true;
}

static enum rdmap_status check_recv(const struct qp *qp, const struct wqe_recv *e,
				    struct rdmap_recv *ret)
{
	if (!queue_of(qp, e, &ret->qn))
		return RDMAP_LOC_OP_ERR;
	if (e->num_sge > qp->attr.max_recv_sge)
		return RDMAP_LOC_SGE_ERR;
	ret->nsge = e->num_sge;
	return elements_of(e->sge, e->num_sge, ret->sge) ? RDMAP_SUCCESS : RDMAP_LOC_LEN_ERR;
}

/* ---- taking entries; room for the completion is reserved first ---- */

/* QUEUE_E_*, of which BROKEN ends the client. */
static int pop_send(struct qp *qp, struct wqe_send *ret)
{
	int r;

	if (ring_avail(&qp->wq.sq) == 0 || !cq_reserve(qp->wq.send_cq, &qp->send_room))
		return QUEUE_E_EMPTY;
	r = queue_pop_send(&qp->wq.sq, ret);
	if (r == QUEUE_E_BROKEN)
		client_fault(qp->client,
			     "queue pair %u: the index of its send ring is out of range", qp->num);
	if (r)
		cq_unreserve(qp->wq.send_cq, 1);
	else
		qp->wq.taken_send++;
	return r;
}

static bool offers_recv(struct qp *qp)
{
	return qp->wq.srq ? srq_offers(qp->wq.srq, qp->wq.taken_recv) : ring_avail(&qp->wq.rq) != 0;
}

/* If there is none and messages may wait for one, the client rings when it posts it. */
static bool recv_waits(struct qp *qp)
{
	if (offers_recv(qp))
		return true;
	if (!qp->hold.mem)
		return false;
	if (qp->wq.srq)
		srq_wait(qp->wq.srq, &qp->wq.srq_waits);
	else
		ring_sleep(&qp->wq.rq, RING_SLEEPS);
	return offers_recv(qp);
}

static void count_recv(struct qp *qp)
{
	qp->wq.taken_recv++;
	if (!qp->wq.srq)
		return;
	qp->wq.srq_taken++;
	srq_taken(qp->wq.srq);
	if (qp->wq.srq_waits)
		srq_wait_end(qp->wq.srq, &qp->wq.srq_waits);
}

static int pop_recv(struct qp *qp, struct wqe_recv *ret)
{
	int r;

	if (!recv_waits(qp) || !cq_reserve(qp->wq.recv_cq, &qp->recv_room))
		return QUEUE_E_EMPTY;
	r = queue_pop_recv(qp->wq.srq ? &qp->wq.srq->ring : &qp->wq.rq, ret);
	if (r == QUEUE_E_BROKEN)
		client_fault(qp->client,
			     "queue pair %u: the index of its receive ring is out of range",
			     qp->num);
	if (r)
		cq_unreserve(qp->wq.recv_cq, 1);
	else
		count_recv(qp);
	return r;
}

static bool take_send(void *user, struct rdmap_wr *ret)
{
	struct qp *qp = user;
	struct wqe_send e;

	wr_flush_pending(qp);
	if (qp->wq.flush_pending > 0 || pop_send(qp, &e))
		return false;
	request_of(qp, &e, ret);
	return true;
}

/* There is a receive, but no room for its completion: without a hold the session ends. A datagram
 * is dropped. */
static void note_overrun(struct qp *qp)
{
	if (!qp->hold.mem && !qp->datagram && offers_recv(qp))
		async_post(qp->client, &qp->wq.recv_cq->async, MSG_ASYNC_CQ_OVERRUN,
			   qp->wq.recv_cq->handle);
}

static bool take_recv(void *user, struct rdmap_recv *ret)
{
	struct qp *qp = user;
	struct wqe_recv e;

	if (pop_recv(qp, &e)) {
		note_overrun(qp);
		return false;
	}
	ret->cookie = e.wr_id;
	ret->nsge = 0;
	ret->qn = 0;
	ret->status = (uint8_t)check_recv(qp, &e, ret);
	return true;
}

/* Others take those of a shared queue. */
static uint32_t posted_recvs(void *user)
{
	struct qp *qp = user;

	return qp->wq.srq ? 0 : queue_waiting(&qp->wq.rq);
}

/* ---- completing ---- */

static uint8_t bits_of_done(const struct rdmap_done *done)
{
	return (uint8_t)((done->invalidated ? CQE_WITH_INV : 0) |
			 (done->solicited ? CQE_SOLICITED : 0) |
			 (done->immediate ? CQE_WITH_IMM : 0));
}

/* Each member by itself: a struct that is made first would be read as soon as it was written
 * (util/words.h). */
static void fill_entry(struct wqe_cqe *e, const struct qp *qp, const struct rdmap_done *done)
{
	e->wr_id = done->cookie;
	e->qp_num = qp->num;
	e->status = done->status;
	e->opcode = done->op;
	e->flags = bits_of_done(done);
	e->pad = 0;
	e->imm = done->imm;
	e->byte_len = done->len;
	e->inv_rkey = done->inv_stag;
	e->err_perr = done->at.perr;
	e->err_term = done->at.term;
	e->err_stag = done->at.stag;
	e->err_to = done->at.to;
	e->err_len = done->at.len;
	e->qn = done->qn;
	e->pad2 = 0;
}

/* Returns the index behind the entry that is complete now; 0: its queue has none. */
static uint32_t count_done(struct qp *qp, bool recv)
{
	if (!recv)
		return ++qp->wq.done_send;
	return qp->wq.srq || qp->attr.raw ? 0 : ++qp->wq.done_recv;
}

static void complete_work(void *user, const struct rdmap_done *done)
{
	struct qp *qp = user;
	bool recv = opcode_has(done->op, OPCODE_COMPLETION);
	struct cq *cq = recv ? qp->wq.recv_cq : qp->wq.send_cq;
	struct ring *ring = recv ? &qp->wq.rq : &qp->wq.sq;
	uint32_t index = count_done(qp, recv);
	struct wqe_cqe *e;

	if (recv)
		qp->wq.taken_recv--;
	else
		qp->wq.taken_send--;
	if (recv && qp->wq.srq)
		srq_done(qp->wq.srq, 1);
	if (done->status == RDMAP_SUCCESS && !done->signaled) {
		cq_unreserve(cq, 1);
	} else {
		e = cq_slot(cq);
		fill_entry(e, qp, done);
		e->index = index;
		cq_push(cq, done->solicited || done->status != RDMAP_SUCCESS);
	}
	if (index)
		ring_set_done(ring, index);
}

/* ---- memory that the client's agent copies ---- */

static int reach_memory(void *user, struct rdmap_reach *r)
{
	struct qp *qp = user;

	return agent_reach(&qp->call, r);
}

static void mark_written(void *user, uint8_t *p, uint32_t len)
{
	const struct qp *qp = user;

	agent_placed(qp->client->worker, &(struct span){p, len}, 1);
}

static bool touch_memory(void *user, const struct span *at, unsigned n)
{
	const struct qp *qp = user;

	return holes_fill(qp->client, at, n);
}

static bool keep_in_hold(void *user, uint32_t reach)
{
	return qp_hold_keep(user, reach);
}

/* A region's STag works only for queue pairs of its domain, so it is one of this client. */
static void note_written(void *user, uint32_t notice)
{
	const struct qp *qp = user;
	struct mr *mr = idtab_get(&qp->client->handles.mrs, notice);

	if (mr)
		notice_written(&mr->notice, qp->num);
}

const struct rdmap_ops wr_ops = {
	.take_send = take_send,
	.take_recv = take_recv,
	.recvs = posted_recvs,
	.complete = complete_work,
	.reach = reach_memory,
	.written = note_written,
	.keep = keep_in_hold,
	.touch = touch_memory,
	.wrote = mark_written,
};

/* ---- flushing ---- */

enum {
	MOST_FLUSHED = 64,  /* of a queue, when its bell has its turn */
	FIRST_FLUSHED = 16, /* at the end of its session */
};

static bool flush_send(struct qp *qp)
{
	struct rdmap_done done = {.status = RDMAP_FLUSH_ERR, .signaled = true};
	struct wqe_send e;

	if (pop_send(qp, &e))
		return false;
	done.cookie = e.wr_id;
	done.op = op_of(&e);
	complete_work(qp, &done);
	return true;
}

static bool flush_recv(struct qp *qp)
{
	struct rdmap_done done = {.status = RDMAP_FLUSH_ERR, .signaled = true, .op = RDMAP_RECV};
	struct wqe_recv e;

	if (pop_recv(qp, &e))
		return false;
	done.cookie = e.wr_id;
	if (queue_of(qp, &e, &done.qn) && done.qn == RDMAP_QN_TAGGED) {
		done.op = RDMAP_RECV_TAGGED;
		done.qn = 0;
	}
	complete_work(qp, &done);
	return true;
}

/* Flush at most so many entries, and return how many: the client may post as fast as the daemon
 * flushes. */
static uint32_t flush_sends(struct qp *qp, uint32_t most)
{
	uint32_t n = 0;

	while (n < most && flush_send(qp))
		n++;
	return n;
}

static uint32_t flush_recvs(struct qp *qp, uint32_t most)
{
	uint32_t n = 0;

	if (qp->wq.srq || rdmap_keeps_recvs(qp->ep))
		return 0;
	while (n < most && flush_recv(qp))
		n++;
	return n;
}

/* The rest has its turn with the bells. */
static unsigned flush_some(struct qp *qp, uint32_t most)
{
	uint32_t sends = flush_sends(qp, most), recvs = flush_recvs(qp, most);

	if (sends == most || recvs == most)
		client_ring(qp->client, qp->handle);
	return sends + recvs;
}

unsigned wr_flush(struct qp *qp)
{
	return flush_some(qp, MOST_FLUSHED);
}

void wr_flush_first(struct qp *qp)
{
	flush_some(qp, FIRST_FLUSHED);
}

unsigned wr_flush_pending(struct qp *qp)
{
	unsigned n = 0;

	/* After the message that is still being sent: requests complete in the order of posting. */
	for (; n < MOST_FLUSHED && qp->wq.flush_pending > 0 && qp->wq.taken_send == 0; n++) {
		if (!flush_send(qp))
			break;
		qp->wq.flush_pending--;
	}
	for (; n < MOST_FLUSHED && qp->wq.flush_recvs > 0 && flush_recv(qp); n++)
		qp->wq.flush_recvs--;
	if (n == MOST_FLUSHED)
		client_ring(qp->client, qp->handle);
	return n;
}

void wr_mark_flush(struct qp *qp)
{
	bool keeps = qp->wq.srq || rdmap_keeps_recvs(qp->ep);

	qp->wq.flush_recvs = keeps ? 0 : queue_waiting(&qp->wq.rq);
	wr_flush_sends(qp);
}

void wr_flush_sends(struct qp *qp)
{
	qp->wq.flush_pending = queue_waiting(&qp->wq.sq);
	wr_flush_pending(qp);
}
