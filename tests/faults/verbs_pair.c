/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs that are connected by ibv_modify_qp(). */
#include <errno.h>

#include "tests/faults/verbs.h"

static int undo_qp(void *qp)
{
	return -ibv_destroy_qp(qp);
}
static int undo_mw(void *mw)
{
	return -ibv_dealloc_mw(mw);
}
static int undo_srq(void *srq)
{
	return -ibv_destroy_srq(srq);
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	VERB(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
	     0);
}

static void to_rtr(int i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = side[!i].qp->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}},
	};

	VERB(ibv_query_gid(side[!i].ctx, 1, 0, &attr.ah_attr.grh.dgid) == 0);
	VERB(ibv_modify_qp(side[i].qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER) == 0);
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	VERB(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void open_sides(struct program *p)
{
	side_clear();
	side_open(p, 0);
	side_open(p, 1);
}

static void connect_pair(void)
{
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = side_init(i);

		VERB(side[i].qp = ibv_create_qp(side[i].pd, &init));
		later(undo_qp, side[i].qp);
		to_init(side[i].qp);
	}
	for (int i = 0; i < 2; i++)
		to_rtr(i);
	for (int i = 0; i < 2; i++)
		to_rts(side[i].qp);
}

/* The next completion of a side wakes its channel. */
static void notified(int i)
{
	struct ibv_cq *cq;
	void *user;

	VERB(ibv_req_notify_cq(side[i].cq, 0) == 0);
	side_send(!i, 100);
	VERB(ibv_get_cq_event(side[i].channel, &cq, &user) == 0);
	ibv_ack_cq_events(cq, 1);
}

void part_pair(struct program *p)
{
	open_sides(p);
	connect_pair();
	for (int i = 0; i < 2; i++)
		side_send(i, 5000);
	side_reach(0, IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, 20000);
	side_reach(0, IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, 20000);
	side_reach(1, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, 8);
	side_reach(1, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, 8);
	side_recv(1, 8);
	side_post(0, (struct ibv_send_wr){.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 5}, 8);
	side_done(0, IBV_WC_SEND);
	side_done(1, IBV_WC_RECV);
	notified(1);
}

/* Two pairs, one after the other, at a shared receive queue; the last message leaves too few
 * receives in it. */
void part_shared(struct program *p)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = DEPTH, .max_sge = 2}};
	struct ibv_srq_attr limit = {.srq_limit = 1};

	open_sides(p);
	VERB(side[1].srq = ibv_create_srq(side[1].pd, &init));
	later(undo_srq, side[1].srq);
	for (int i = 0; i < 2; i++) {
		connect_pair();
		side_send(0, 1000);
	}
	side_recv(1, 8);
	VERB(ibv_modify_srq(side[1].srq, &limit, IBV_SRQ_LIMIT) == 0);
	side_post(0, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 8);
	side_event(1, IBV_EVENT_SRQ_LIMIT_REACHED);
}

void part_window(struct program *p)
{
	struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW},
			   inv = {.opcode = IBV_WR_SEND_WITH_INV};
	struct ibv_mw *mw;

	open_sides(p);
	connect_pair();
	VERB(mw = ibv_alloc_mw(side[1].pd, IBV_MW_TYPE_2));
	later(undo_mw, mw);
	bind.bind_mw.mw = mw;
	bind.bind_mw.rkey = inv.invalidate_rkey = ibv_inc_rkey(mw->rkey);
	bind.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = side[1].mr,
		.addr = (uintptr_t)side[1].mem,
		.length = 4096,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	side_post(1, bind, 0);
	side_done(1, IBV_WC_BIND_MW);
	side_recv(1, 100);
	side_post(0, inv, 100);
	side_done(0, IBV_WC_SEND);
	side_done(1, IBV_WC_RECV);
}

/* The peer refuses a Read: both sides hear of it. */
void part_violation(struct program *p)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_READ};

	open_sides(p);
	connect_pair();
	side_send(0, 100);
	wr.wr.rdma.remote_addr = (uintptr_t)side[1].mem;
	wr.wr.rdma.rkey = side[1].mr->rkey ^ 0x12345600;
	side_recv(1, 8);
	side_post(0, wr, 100);
	side_flushed(0);
	side_flushed(1);
	side_event(1, IBV_EVENT_QP_FATAL);
}
