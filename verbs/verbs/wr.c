/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/wr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/post.h"

/* The requests are collected and posted together by ibv_wr_complete(). The queue pair is locked
 * from ibv_wr_start() on, as other providers do it. */

static struct qp *of(struct ibv_qp_ex *ex)
{
	return (struct qp *)ex;
}

static void note_failure(struct ibv_qp_ex *ex, int err)
{
	if (!of(ex)->built->err)
		of(ex)->built->err = err;
}

/* Begins a request. If there are too many, they share the last entry, and the batch fails. */
static struct ibv_send_wr *begin_wr(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct qp_built *b = of(ex)->built;
	struct ibv_send_wr *wr;

	if (b->n < QP_MAX_BUILT)
		b->n++;
	else
		note_failure(ex, ENOMEM);
	wr = &b->wr[b->n - 1];
	*wr = (struct ibv_send_wr){
		.wr_id = ex->wr_id,
		.opcode = opcode,
		.send_flags = ex->wr_flags,
		.sg_list = b->sge[b->n - 1],
	};
	return wr;
}

/* The request that is being made. */
static struct ibv_send_wr *current(struct ibv_qp_ex *ex)
{
	struct qp_built *b = of(ex)->built;

	return &b->wr[b->n > 0 ? b->n - 1 : 0];
}

static void rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr)
{
	struct ibv_send_wr *wr = begin_wr(ex, opcode);

	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = addr;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	rdma(ex, IBV_WR_RDMA_READ, rkey, addr);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	rdma(ex, IBV_WR_RDMA_WRITE, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr);
	current(ex)->imm_data = imm;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	struct ibv_send_wr *wr = begin_wr(ex, IBV_WR_ATOMIC_CMP_AND_SWP);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.compare_add = compare;
	wr->wr.atomic.swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	struct ibv_send_wr *wr = begin_wr(ex, IBV_WR_ATOMIC_FETCH_AND_ADD);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.compare_add = add;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin_wr(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	begin_wr(ex, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
	if (!qp_is_datagram(of(ex)) && !qp_knows(&of(ex)->send_imm))
		note_failure(ex,
			     error_unsupported("ibv_wr_send_imm", POST_NO_SEND_IMM, EOPNOTSUPP));
}

/* Where a datagram goes to. */
static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct ibv_send_wr *wr = current(ex);

	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = qpn;
	wr->wr.ud.remote_qkey = qkey;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	begin_wr(ex, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	begin_wr(ex, IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = begin_wr(ex, IBV_WR_BIND_MW);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *data)
{
	(void)rkey, (void)addr, (void)data;
	note_failure(ex,
		     error_unsupported("ibv_wr_atomic_write",
				       "Atomic Write is not supported: RFC 7306 does not define it",
				       EOPNOTSUPP));
}

/* ---- data ---- */

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct ibv_send_wr *wr = current(ex);

	if (n > QP_MAX_SGE) {
		note_failure(ex, EINVAL);
		return;
	}
	for (size_t i = 0; i < n; i++)
		wr->sg_list[i] = list[i];
	wr->num_sge = (int)n;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {addr, length, lkey};

	wr_set_sge_list(ex, length > 0 ? 1 : 0, &sge);
}

/* Copies, because the program may change its data at once. */
static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
	const size_t room = of(ex)->init.cap.max_inline_data;
	struct ibv_send_wr *wr = current(ex);
	uint8_t *to = of(ex)->built->data + (size_t)(wr - of(ex)->built->wr) * room;
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (list[i].length > room - len) {
			note_failure(ex, EINVAL);
			return;
		}
		memcpy(to + len, list[i].addr, list[i].length);
		len += list[i].length;
	}
	wr_set_sge(ex, 0, (uintptr_t)to, (uint32_t)len);
	wr->send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = {addr, length};

	wr_set_inline_data_list(ex, 1, &buf);
}

/* ---- batches ---- */

static void wr_start(struct ibv_qp_ex *ex)
{
	pthread_mutex_lock(&of(ex)->built->lock);
	of(ex)->built->n = 0;
	of(ex)->built->err = 0;
}

static int post_built(struct qp *qp)
{
	struct qp_built *b = qp->built;

	if (b->err || b->n == 0)
		return b->err;
	for (unsigned i = 0; i + 1 < b->n; i++)
		b->wr[i].next = &b->wr[i + 1];
	b->wr[b->n - 1].next = NULL;
	return context_of(qp->ibv.context)->post_whole(&qp->ibv, b->wr);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	int r = post_built(of(ex));

	pthread_mutex_unlock(&of(ex)->built->lock);
	return r;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	pthread_mutex_unlock(&of(ex)->built->lock);
}

int wr_check_ops(enum ibv_qp_type type, uint64_t ops)
{
	const uint64_t of_datagrams = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t offered = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
				 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

	if (ops & ~offered)
		return error_probed("ibv_create_qp_ex",
				    "Atomic Writes and large sends (TSO) are not supported",
				    EOPNOTSUPP);
	if (type == IBV_QPT_UD && ops & ~of_datagrams)
		return error_probed("ibv_create_qp_ex",
				    "a queue pair for datagrams (UD) has Sends alone", EOPNOTSUPP);
	return 0;
}

int wr_enable(struct qp *qp)
{
	struct ibv_qp_ex *ex = &qp->ex;

	qp->built =
		calloc(1, sizeof(*qp->built) + QP_MAX_BUILT * (size_t)qp->init.cap.max_inline_data);
	if (!qp->built)
		return ENOMEM;
	pthread_mutex_init(&qp->built->lock, NULL);
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_atomic_write = wr_atomic_write;
	return 0;
}
