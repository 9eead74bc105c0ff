/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/post.h"

#include <ddp/ddp.h>
#include <errno.h>
#include <stddef.h>

#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/datagram.h"
#include "verbs/verbs/mr.h"
#include "verbs/verbs/mw.h"
#include "verbs/verbs/qp.h"
#include "verbs/verbs/srq.h"

/* Entries: a list of post_whole(), whose requests take up to two each, is one batch. */
enum { BATCH = 2 * QP_MAX_BUILT };

/* How much may follow a request that is known to have arrived, before the next one has to. */
enum { UNPLACED_MAX = 64 << 10, PER_MESSAGE = 64 };

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct ddp_sge) &&
		       offsetof(struct ibv_sge, addr) == offsetof(struct ddp_sge, addr) &&
		       offsetof(struct ibv_sge, length) == offsetof(struct ddp_sge, length) &&
		       offsetof(struct ibv_sge, lkey) == offsetof(struct ddp_sge, lkey),
	       "elements need no conversion");

/* ---- sending ---- */

static unsigned flags_of(const struct qp *qp, unsigned flags)
{
	unsigned ret = 0;

	if (flags & IBV_SEND_SIGNALED || qp->init.sq_sig_all)
		ret |= DDP_SEND_SIGNALED;
	if (flags & IBV_SEND_FENCE)
		ret |= DDP_SEND_FENCE;
	if (flags & IBV_SEND_SOLICITED)
		ret |= DDP_SEND_SOLICITED;
	if (flags & IBV_SEND_INLINE)
		ret |= DDP_SEND_INLINE;
	return ret;
}

static void set_rdma(const struct ibv_send_wr *wr, enum ddp_wr_opcode opcode,
		     struct ddp_send_wr *ret)
{
	ret->opcode = opcode;
	ret->rdma.remote_addr = wr->wr.rdma.remote_addr;
	ret->rdma.rkey = wr->wr.rdma.rkey;
	ret->send_flags &= ~(unsigned)DDP_SEND_SOLICITED;
}

static void set_atomic(const struct ibv_send_wr *wr, enum ddp_wr_opcode opcode,
		       struct ddp_send_wr *ret)
{
	ret->opcode = opcode;
	ret->rdma.remote_addr = wr->wr.atomic.remote_addr;
	ret->rdma.rkey = wr->wr.atomic.rkey;
	ret->atomic.compare_add = wr->wr.atomic.compare_add;
	ret->atomic.swap = wr->wr.atomic.swap;
	ret->send_flags &= ~(unsigned)DDP_SEND_SOLICITED;
}

static int set_bind(const struct ibv_send_wr *wr, struct ddp_send_wr *ret)
{
	const struct ibv_mw_bind_info *b = &wr->bind_mw.bind_info;
	int r = mr_check_window("ibv_post_send", b->mw_access_flags);

	if (r)
		return -r;

	ret->opcode = DDP_WR_BIND_MW;
	ret->bind.mw = mw_ddp(wr->bind_mw.mw);
	ret->bind.rkey = wr->bind_mw.rkey;
	ret->bind.mr = b->mr ? ((struct mr *)b->mr)->ddp : NULL;
	ret->bind.addr = b->addr;
	ret->bind.length = b->length;
	ret->bind.access = mr_window_access(b->mw_access_flags);
	return 1;
}

static uint32_t length_of(const struct ibv_send_wr *wr)
{
	uint32_t n = 0;

	for (int i = 0; i < wr->num_sge; i++)
		n += wr->sg_list[i].length;
	return n;
}

/* ---- Immediate Data ---- */

static bool is_one_request(const struct qp *qp)
{
	return qp_entries_per_wr(&context_of(qp->ibv.context)->host->caps) == 1;
}

/* They go with the request. */
static int put_imm(const struct ibv_send_wr *wr, uint32_t len, struct ddp_send_wr *ret)
{
	ret->send_flags |= DDP_SEND_WITH_IMM;
	ret->imm_data = post_imm(wr->imm_data, len);
	return 1;
}

/* For an older daemon: Immediate Data that follow a Write, and whose completion is that of both. */
static int follow_with_imm(const struct ibv_send_wr *wr, struct ddp_send_wr *write)
{
	struct ddp_send_wr *imm = write + 1;

	*imm = (struct ddp_send_wr){
		.wr_id = wr->wr_id,
		.opcode = DDP_WR_IMM_DATA,
		.send_flags = write->send_flags & (DDP_SEND_SIGNALED | DDP_SEND_SOLICITED),
		.imm_data = post_imm(wr->imm_data, length_of(wr)),
	};
	write->send_flags &= ~(unsigned)(DDP_SEND_SIGNALED | DDP_SEND_SOLICITED);
	write->next = imm;
	return 2;
}

static int set_write_imm(const struct qp *qp, const struct ibv_send_wr *wr, struct ddp_send_wr *ret)
{
	if (length_of(wr) == DDP_IMM_MARK)
		return -EINVAL; /* 3.7 GB: it would be a Send's */
	set_rdma(wr, DDP_WR_RDMA_WRITE, ret);
	if (wr->send_flags & IBV_SEND_SOLICITED)
		ret->send_flags |= DDP_SEND_SOLICITED;
	return is_one_request(qp) ? put_imm(wr, length_of(wr), ret) : follow_with_imm(wr, ret);
}

/* For an older daemon: Immediate Data, which the peer reports with the Send that follows. */
static int precede_with_imm(const struct ibv_send_wr *wr, struct ddp_send_wr *imm)
{
	struct ddp_send_wr *send = imm + 1;

	*send = *imm;
	*imm = (struct ddp_send_wr){
		.wr_id = wr->wr_id,
		.next = send,
		.opcode = DDP_WR_IMM_DATA,
		.imm_data = post_imm(wr->imm_data, DDP_IMM_MARK),
	};
	return 2;
}

static int set_send_imm(const struct qp *qp, const struct ibv_send_wr *wr, struct ddp_send_wr *ret)
{
	if (!qp_knows(&qp->send_imm))
		return -error_unsupported("ibv_post_send", POST_NO_SEND_IMM, EOPNOTSUPP);
	ret->opcode = DDP_WR_SEND;
	return is_one_request(qp) ? put_imm(wr, DDP_IMM_MARK, ret) : precede_with_imm(wr, ret);
}

/* Converts one request to one or two. Returns their number, or a negative errno value. */
static int convert_wr(const struct qp *qp, const struct ibv_send_wr *wr, struct ddp_send_wr *ret)
{
	*ret = (struct ddp_send_wr){
		.wr_id = wr->wr_id,
		.sg_list = (struct ddp_sge *)wr->sg_list,
		.num_sge = wr->num_sge,
		.send_flags = flags_of(qp, wr->send_flags),
	};
	if (qp_is_datagram(qp))
		return datagram_convert(qp, wr, ret);
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ret->opcode = DDP_WR_SEND;
		return 1;
	case IBV_WR_SEND_WITH_INV:
		ret->opcode = DDP_WR_SEND_WITH_INV;
		ret->invalidate_rkey = wr->invalidate_rkey;
		return 1;
	case IBV_WR_RDMA_WRITE:
		set_rdma(wr, DDP_WR_RDMA_WRITE, ret);
		return 1;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return set_write_imm(qp, wr, ret);
	case IBV_WR_RDMA_READ:
		set_rdma(wr, DDP_WR_RDMA_READ, ret);
		return 1;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		set_atomic(wr, DDP_WR_ATOMIC_CMP_AND_SWP, ret);
		return 1;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		set_atomic(wr, DDP_WR_ATOMIC_FETCH_AND_ADD, ret);
		return 1;
	case IBV_WR_LOCAL_INV:
		ret->opcode = DDP_WR_LOCAL_INV;
		ret->num_sge = 0;
		ret->invalidate_rkey = wr->invalidate_rkey;
		return 1;
	case IBV_WR_BIND_MW:
		ret->num_sge = 0;
		return set_bind(wr, ret);
	case IBV_WR_SEND_WITH_IMM:
		return set_send_imm(qp, wr, ret);
	default:
		return -EOPNOTSUPP;
	}
}

/* A converted part of a chain. of: the program's request of each entry. */
struct batch {
	struct ddp_send_wr wr[BATCH + 1];
	struct ibv_send_wr *of[BATCH + 1];
	unsigned n;
	int err; /* of *next */
	struct ibv_send_wr *next;
};

/*
 * On hardware a request completes when the peer's receive has taken it, so a sender is never more
 * than its send queue ahead of a receiver that is late. Here it completes when the peer's transport
 * has it, which could fill the buffers of the peer's daemon. So now and then the completion of a
 * message waits until its data is placed.
 */
static void pace(struct qp *qp, const struct ibv_send_wr *wr, struct ddp_send_wr *last)
{
	bool takes_receive = last->opcode == DDP_WR_SEND || last->opcode == DDP_WR_SEND_WITH_INV ||
			     last->opcode == DDP_WR_IMM_DATA ||
			     last->send_flags & DDP_SEND_WITH_IMM;
	uint32_t unplaced = qp_unplaced(qp);

	if (!takes_receive || qp_knows(&qp->no_reads) || qp_is_datagram(qp))
		return;
	unplaced += length_of(wr) + PER_MESSAGE;
	if (last->send_flags & DDP_SEND_SIGNALED && unplaced >= UNPLACED_MAX) {
		last->send_flags |= DDP_SEND_PACED;
		unplaced = 0;
	}
	qp_set_unplaced(qp, unplaced);
}

static void fill_send(struct qp *qp, struct ibv_send_wr *wr, struct batch *b)
{
	b->n = 0;
	b->err = 0;
	while (wr && b->n < BATCH) {
		int n = convert_wr(qp, wr, &b->wr[b->n]);

		if (n < 0) {
			b->err = -n;
			break;
		}
		pace(qp, wr, &b->wr[b->n + (unsigned)n - 1]);
		if (b->n > 0)
			b->wr[b->n - 1].next = &b->wr[b->n];
		b->of[b->n] = b->of[b->n + (unsigned)n - 1] = wr;
		b->n += (unsigned)n;
		wr = wr->next;
	}
	b->next = wr;
}

int post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct qp *qp = qp_of(ibv);
	struct batch b;
	struct ddp_send_wr *refused;
	int r = qp_takes(qp, QP_TAKES_SENDS) ? 0 : qp_check_sends(qp);

	if (r) {
		*bad = wr;
		return r;
	}
	while (wr) {
		fill_send(qp, wr, &b);
		r = b.n > 0 ? ddp_post_send(qp_sender(qp), b.wr, &refused) : 0;
		if (r) {
			*bad = b.of[refused - b.wr];
			return error_of_call("ibv_post_send", r);
		}
		if (b.err) {
			*bad = b.next;
			return b.err;
		}
		wr = b.next;
	}
	return 0;
}

static int post_whole(struct ibv_qp *ibv, struct ibv_send_wr *wr)
{
	struct qp *qp = qp_of(ibv);
	const uint32_t unplaced = qp_unplaced(qp);
	struct batch b;
	int r = qp_takes(qp, QP_TAKES_SENDS) ? 0 : qp_check_sends(qp);

	if (r)
		return r;
	fill_send(qp, wr, &b);
	for (unsigned i = 0; i < b.n; i++)
		b.wr[i].send_flags |= DDP_SEND_WITH_NEXT;
	r = b.err ? -b.err : ddp_post_send(qp_sender(qp), b.wr, NULL);
	if (r == 0)
		return 0;
	qp_set_unplaced(qp, unplaced);
	return b.err ? b.err : error_of_call("ibv_wr_complete", r);
}

/* ---- receiving ---- */

struct recv_batch {
	struct ddp_recv_wr wr[BATCH];
	struct ibv_recv_wr *of[BATCH];
};

static struct ibv_recv_wr *fill_recv(struct ibv_recv_wr *wr, struct recv_batch *b)
{
	unsigned n = 0;

	for (; wr && n < BATCH; wr = wr->next, n++) {
		b->wr[n] = (struct ddp_recv_wr){
			.wr_id = wr->wr_id,
			.next = &b->wr[n + 1],
			.sg_list = (struct ddp_sge *)wr->sg_list,
			.num_sge = wr->num_sge,
		};
		b->of[n] = wr;
	}
	b->wr[n - 1].next = NULL;
	return wr;
}

static int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct recv_batch b;
	struct ddp_recv_wr *refused;

	if (!qp_takes(qp_of(ibv), QP_TAKES_RECVS)) {
		*bad = wr;
		return EINVAL;
	}
	while (wr) {
		struct ibv_recv_wr *next = fill_recv(wr, &b);
		int r = ddp_post_recv(qp_of(ibv)->ddp, b.wr, &refused);

		if (r) {
			*bad = b.of[refused - b.wr];
			return error_of_call("ibv_post_recv", r);
		}
		wr = next;
	}
	return 0;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct recv_batch b;
	struct ddp_recv_wr *refused;

	while (wr) {
		struct ibv_recv_wr *next = fill_recv(wr, &b);
		int r = ddp_post_srq_recv(srq_ddp(srq), b.wr, &refused);

		if (r) {
			*bad = b.of[refused - b.wr];
			return error_of_call("ibv_post_srq_recv", r);
		}
		wr = next;
	}
	return 0;
}

void post_set_ops(struct verbs_context *v)
{
	CONTAINER(v, struct context, verbs)->post_whole = post_whole;
	v->context.ops.post_send = post_send;
	v->context.ops.post_recv = post_recv;
	v->context.ops.post_srq_recv = post_srq_recv;
}
