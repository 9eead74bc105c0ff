/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/work/post_check.h"

#include <errno.h>
#include <inttypes.h>

#include "client-lib/base/reason.h"
#include "ipc/local_protocol.h"
#include "ipc/wqe.h"
#include "util/checked.h"

static const char CALL[] = "ddp_post_send";

enum {
	KEY_BITS = 8, /* of an rkey, which a bind may change */
	CELL = 8,     /* bytes that an atomic works on */
	REMOTE = DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_ATOMIC,
	CHANGES = DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_ATOMIC,
	PROBES = DDP_SEND_PLACED | DDP_SEND_PACED,
	FLAGS = DDP_SEND_SIGNALED | DDP_SEND_FENCE | DDP_SEND_SOLICITED | DDP_SEND_INLINE | PROBES |
		DDP_SEND_WITH_IMM | DDP_SEND_WITH_NEXT,
	FLAGS_OF_DATAGRAM = DDP_SEND_SIGNALED | DDP_SEND_SOLICITED | DDP_SEND_INLINE |
			    DDP_SEND_WITH_IMM | DDP_SEND_WITH_NEXT,
};

/* ---- elements ---- */

/* All elements of a request. */
struct elements {
	uint64_t len;                 /* bytes in total */
	const struct ddp_sge *beyond; /* the first one that reaches 2^64, or NULL */
};

/* The count, and the bytes in total. */
static int check_elements(const struct queue *q, const char *call, const struct ddp_sge *sge,
			  int num, struct elements *ret)
{
	struct elements all = {0};

	if (num < 0 || (uint32_t)num > q->max_sge)
		return reason_fail(-EINVAL, "%s: num_sge %d: %s was made for at most %u", call, num,
				   q->owner, q->max_sge);
	for (int i = 0; i < num; i++) {
		all.len += sge[i].length;
		if (!all.beyond && checked_add_wraps(sge[i].addr, sge[i].length))
			all.beyond = &sge[i];
	}
	if (all.len > UINT32_MAX)
		return reason_fail(-EINVAL,
				   "%s: elements of %" PRIu64 " bytes in total: at most %" PRIu32,
				   call, all.len, UINT32_MAX);
	*ret = all;
	return 0;
}

/* Every element ends below 2^64. */
static int check_ends(const char *call, const struct ddp_sge *sge, const struct elements *all)
{
	const struct ddp_sge *e = all->beyond;

	if (!e)
		return 0;
	return reason_fail(-EINVAL, "%s: sg_list[%d]: %u bytes at 0x%" PRIx64 " exceed 2^64", call,
			   (int)(e - sge), e->length, e->addr);
}

static int check_remote_end(const struct ddp_send_wr *wr, uint64_t len)
{
	if (!checked_add_wraps(wr->rdma.remote_addr, len))
		return 0;
	return reason_fail(-EINVAL,
			   "%s: %" PRIu64 " bytes at remote_addr 0x%" PRIx64 " exceed 2^64", CALL,
			   len, wr->rdma.remote_addr);
}

/* ---- checks that operations share ---- */

static int check_opcode(const struct ddp_qp *qp, uint8_t opcode, const struct ddp_send_wr *wr)
{
	if (!opcode_is_send(opcode))
		return reason_fail(-EINVAL, "%s: unknown opcode %d", CALL, (int)wr->opcode);
	if (qp->datagram && opcode != WQE_SEND)
		return reason_fail(-EINVAL,
				   "%s: QP %u is for datagrams: only DDP_WR_SEND is allowed", CALL,
				   qp->num);
	if (qp->raw && !opcode_has(opcode, OPCODE_RAW))
		return reason_fail(-EINVAL,
				   "%s: QP %u is raw: only DDP_WR_SEND and DDP_WR_RDMA_WRITE are "
				   "allowed",
				   CALL, qp->num);
	return 0;
}

/* Flags, and elements as the operation has them. */
static int check_send_flags(const struct ddp_qp *qp, const struct opcode *op,
			    const struct ddp_send_wr *wr)
{
	unsigned flags = qp->datagram ? FLAGS_OF_DATAGRAM : FLAGS;

	if (wr->send_flags & ~flags)
		return reason_fail(-EINVAL, "%s: send_flags 0x%x: %s 0x%x", CALL, wr->send_flags,
				   qp->datagram ? "a datagram cannot have" : "unknown flags",
				   wr->send_flags & ~flags);
	if (wr->send_flags & DDP_SEND_INLINE && !(op->traits & OPCODE_PAYLOAD))
		return reason_fail(-EINVAL, "%s: %s cannot have DDP_SEND_INLINE", CALL, op->text);
	if (wr->send_flags & PROBES && op->traits & (OPCODE_RESPONSE | OPCODE_LOCAL))
		return reason_fail(-EINVAL,
				   "%s: %s cannot have DDP_SEND_PLACED or DDP_SEND_PACED: its "
				   "completion means the same",
				   CALL, op->text);
	if (wr->num_sge > op->max_sge)
		return reason_fail(-EINVAL, "%s: num_sge %d: %s has at most %d", CALL, wr->num_sge,
				   op->text, op->max_sge);
	return 0;
}

/* Of a session: datagrams have their own. */
static int check_imm(const struct ddp_qp *qp, const struct opcode *op, const struct ddp_send_wr *wr)
{
	if (!(wr->send_flags & DDP_SEND_WITH_IMM) || qp->datagram)
		return 0;
	if (!(op->traits & OPCODE_MAY_IMM))
		return reason_fail(-EINVAL, "%s: %s cannot have DDP_SEND_WITH_IMM", CALL, op->text);
	if (qp->sq.ctx->minor < IPC_MINOR_WITH_IMM)
		return reason_fail(-EOPNOTSUPP,
				   "%s: the daemon is too old for DDP_SEND_WITH_IMM in a session",
				   CALL);
	return 0;
}

/* ---- one operation ---- */

static int check_read(const struct ddp_qp *qp, const struct ddp_send_wr *wr, uint64_t len)
{
	if (wr->num_sge != 1 && qp->sq.ctx->minor < IPC_MINOR_READ_PARTS)
		return reason_fail(-EOPNOTSUPP,
				   "%s: num_sge %d: the daemon is too old for a Read that has not "
				   "one element",
				   CALL, wr->num_sge);
	return check_remote_end(wr, len);
}

static int check_atomic(const struct ddp_send_wr *wr, uint64_t len)
{
	if (wr->num_sge == 1 && len != CELL)
		return reason_fail(-EINVAL, "%s: sge of %" PRIu64 " bytes: the old value has %d",
				   CALL, len, CELL);
	return check_remote_end(wr, CELL);
}

static int check_window(const struct ddp_qp *qp, const struct ddp_send_wr *wr)
{
	const struct ddp_mw *mw = wr->bind.mw;

	if (!mw || !wr->bind.mr)
		return reason_fail(-EINVAL, "%s: bind.mw or bind.mr is not set", CALL);
	if (mw->pd != qp->pd || wr->bind.mr->pd != qp->pd)
		return reason_fail(-EINVAL, "%s: QP %u, bind.mw and bind.mr have different PDs",
				   CALL, qp->num);
	if (mw->type != DDP_MW_TYPE_2)
		return reason_fail(-EINVAL, "%s: a window of type 1 is bound by ddp_bind_mw()",
				   CALL);
	if ((wr->bind.rkey ^ mw->rkey) >> KEY_BITS)
		return reason_fail(-EINVAL,
				   "%s: bind.rkey 0x%08x: only the last %d bits may differ from "
				   "the window's 0x%08x",
				   CALL, wr->bind.rkey, KEY_BITS, mw->rkey);
	return 0;
}

/* The region as it is now. */
static int check_bound(const struct ddp_send_wr *wr)
{
	const struct mr *mr = (const struct mr *)wr->bind.mr;
	unsigned needs = DDP_ACCESS_MW_BIND, has = mr->access;

	if (wr->bind.access & ~(unsigned)REMOTE)
		return reason_fail(-EINVAL, "%s: bind.access 0x%x: not a set of DDP_ACCESS_REMOTE_",
				   CALL, wr->bind.access);
	if (wr->bind.access & CHANGES)
		needs |= DDP_ACCESS_LOCAL_WRITE;
	if (has & CHANGES)
		has |= DDP_ACCESS_LOCAL_WRITE;
	if (needs & ~has)
		return reason_fail(
			-EINVAL,
			"%s: bind.access 0x%x needs the rights 0x%x of the region, which has 0x%x",
			CALL, wr->bind.access, needs, has);
	if (wr->bind.length == 0 || wr->bind.addr < mr->pub.iova ||
	    !checked_range(wr->bind.addr - mr->pub.iova, wr->bind.length, mr->pub.length))
		return reason_fail(-EINVAL,
				   "%s: bind of %" PRIu64 " bytes at 0x%" PRIx64
				   ": the region has %zu bytes at 0x%" PRIx64,
				   CALL, wr->bind.length, wr->bind.addr, mr->pub.length,
				   mr->pub.iova);
	return 0;
}

static int check_raw(const struct ddp_qp *qp, uint8_t op, const struct ddp_send_wr *wr,
		     uint64_t len)
{
	unsigned bits = op == WQE_SEND ? 40 : 8;

	if (wr->send_flags & (PROBES | DDP_SEND_SOLICITED | DDP_SEND_WITH_IMM))
		return reason_fail(-EINVAL,
				   "%s: send_flags 0x%x: QP %u is raw, without DDP_SEND_SOLICITED, "
				   "_PLACED, _PACED and _WITH_IMM",
				   CALL, wr->send_flags, qp->num);
	if (wr->raw.rsvd >> bits)
		return reason_fail(-EINVAL, "%s: raw.rsvd 0x%llx: it has %u bits", CALL,
				   (unsigned long long)wr->raw.rsvd, bits);
	return op == WQE_WRITE ? check_remote_end(wr, len) : 0;
}

static int check_datagram(const struct ddp_qp *qp, const struct ddp_send_wr *wr, uint64_t len)
{
	const struct ddp_ah *ah = wr->ud.ah;

	if (!ah || ah->pd != qp->pd)
		return reason_fail(-EINVAL, "%s: ud.ah %s", CALL,
				   ah ? "and QP have different PDs" : "is not set");
	if (!ah->handle)
		return reason_former(CALL);
	if (wr->ud.remote_qp == 0 || wr->ud.remote_qp >= WQE_NUMBERS)
		return reason_fail(-EINVAL, "%s: ud.remote_qp 0x%x: expected 1 to 0x%x", CALL,
				   wr->ud.remote_qp, WQE_NUMBERS - 1);
	if (len > DDP_DATAGRAM_MAX)
		return reason_fail(-EINVAL, "%s: datagram of %" PRIu64 " bytes: at most %d", CALL,
				   len, DDP_DATAGRAM_MAX);
	return 0;
}

static int check_operands(const struct ddp_qp *qp, uint8_t opcode, const struct ddp_send_wr *wr,
			  uint64_t len)
{
	int r;

	if (qp->datagram)
		return check_datagram(qp, wr, len);
	if (qp->raw)
		return check_raw(qp, opcode, wr, len);
	switch (opcode) {
	case WQE_WRITE:
		return check_remote_end(wr, len);
	case WQE_READ:
		return check_read(qp, wr, len);
	case WQE_FETCH_ADD:
	case WQE_CMP_SWAP:
		return check_atomic(wr, len);
	case WQE_BIND:
		r = check_window(qp, wr);
		return r ? r : check_bound(wr);
	default:
		return 0;
	}
}

int post_check_send(const struct ddp_qp *qp, uint8_t opcode, const struct ddp_send_wr *wr)
{
	struct elements all;
	int r = check_opcode(qp, opcode, wr);

	if (r == 0)
		r = check_elements(&qp->sq, CALL, wr->sg_list, wr->num_sge, &all);
	if (r == 0)
		r = check_send_flags(qp, opcode_get(opcode), wr);
	if (r == 0)
		r = check_imm(qp, opcode_get(opcode), wr);
	if (r == 0 && !(wr->send_flags & DDP_SEND_INLINE))
		r = check_ends(CALL, wr->sg_list, &all);
	return r ? r : check_operands(qp, opcode, wr, all.len);
}

static int check_qn(const struct queue *q, const char *call, uint32_t qn)
{
	if (qn < q->qns || (qn == DDP_QN_TAGGED && q->tagged))
		return 0;
	return reason_fail(-EINVAL, "%s: qn %u: the queues of %s are 0 to %u", call, qn, q->owner,
			   q->qns - 1);
}

int post_check_recv(const struct queue *q, const char *call, const struct ddp_recv_wr *wr)
{
	struct elements all;
	int r = check_elements(q, call, wr->sg_list, wr->num_sge, &all);

	if (r == 0)
		r = check_ends(call, wr->sg_list, &all);
	return r ? r : check_qn(q, call, wr->qn);
}
