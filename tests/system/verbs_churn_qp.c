/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_churn: queue pairs without rdma_cm. */
#include "tests/system/verbs_churn.h"
#include "tests/system/verbs_rig.h"

struct ibv_qp_init_attr init_attr(const struct thread *t, unsigned at)
{
	return (struct ibv_qp_init_attr){
		.send_cq = t->cq[at],
		.recv_cq = t->cq[at],
		.cap = {DEPTH, DEPTH, 1, 1, 0},
		.qp_type = IBV_QPT_RC,
	};
}

void make_qp(struct thread *t, struct life *l)
{
	struct ibv_qp_init_attr init = init_attr(t, l->at);

	if (draw(t, 3) == 0)
		init.qp_type = IBV_QPT_UD;
	VERB(l->qp = ibv_create_qp(t->pd[l->at], &init));
	atomic_store(&board->qp[t->number][l->at], l->qp->qp_num);
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

	ibv_modify_qp(qp, &attr,
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

/* To a queue pair of any thread. */
static void to_rtr(struct thread *t, struct ibv_qp *qp)
{
	unsigned to = draw(t, 2);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = atomic_load(&board->qp[draw(t, THREADS + 1)][to]),
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid[to]}},
		.max_dest_rd_atomic = 1,
	};

	atomic_store(&board->qp[t->number][qp->context == devices[1]], qp->qp_num);
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER) == 0)
		count(READY);
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .max_rd_atomic = 1};

	if (qp->qp_type == IBV_QPT_UD)
		ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	else
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static void query(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	VERB(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0);
}

void post_any(struct thread *t, struct ibv_qp *qp, unsigned at)
{
	struct ibv_sge sge = {(uintptr_t)t->mem[at], 1 + draw(t, BYTES), t->mr[at]->lkey};
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = draw(t, 2) ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	if (draw(t, 2)) {
		sge.length = BYTES;
		ibv_post_recv(qp, &recv, &bad_recv);
	} else {
		ibv_post_send(qp, &send, &bad);
	}
}

static void poll_queue(struct ibv_cq *cq)
{
	struct ibv_wc wc[DEPTH];
	int n;

	VERB((n = ibv_poll_cq(cq, DEPTH, wc)) >= 0);
	for (int i = 0; i < n; i++)
		if (wc[i].status == IBV_WC_SUCCESS && wc[i].wc_flags & IBV_WC_GRH)
			count(DATAGRAMS);
}

/* To a queue pair of any thread at this device, which may be none for datagrams. */
static void post_datagram(struct thread *t, struct ibv_qp *qp, unsigned at)
{
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid[at]}};
	struct ibv_sge sge = {(uintptr_t)t->mem[at], 1 + draw(t, BYTES - GRH), t->mr[at]->lkey};
	struct ibv_send_wr *bad, wr = {
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = draw(t, 2) ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM,
					 .send_flags = IBV_SEND_SIGNALED,
				 };

	VERB(wr.wr.ud.ah = ibv_create_ah(t->pd[at], &to));
	wr.wr.ud.remote_qpn =
		draw(t, 2) ? qp->qp_num : atomic_load(&board->qp[draw(t, THREADS + 1)][at]);
	wr.wr.ud.remote_qkey = QKEY;
	ibv_post_send(qp, &wr, &bad);
	VERB(ibv_destroy_ah(wr.wr.ud.ah) == 0);
}

static void use_datagrams(struct thread *t, struct ibv_qp *qp, unsigned at)
{
	if (draw(t, 2)) {
		to_init(qp);
		to_state(qp, IBV_QPS_RTR);
		to_rts(qp);
	}
	post_any(t, qp, at);
	post_datagram(t, qp, at);
}

void use_qp(struct thread *t, struct ibv_qp *qp, unsigned at)
{
	if (qp->qp_type == IBV_QPT_UD && draw(t, 4))
		use_datagrams(t, qp, at);
	switch (draw(t, 10)) {
	case 0:
		to_init(qp);
		break;
	case 1:
	case 2:
		to_init(qp);
		to_rtr(t, qp);
		break;
	case 3:
		to_rts(qp);
		break;
	case 4:
		to_state(qp, draw(t, 2) ? IBV_QPS_ERR : IBV_QPS_RESET);
		break;
	case 5:
		query(qp);
		break;
	default:
		post_any(t, qp, at);
		break;
	}
	poll_queue(t->cq[at]);
}
