/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices and their objects, without sessions. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/faults/verbs.h"

static int undo_srq(void *srq)
{
	return -ibv_destroy_srq(srq);
}
static int undo_cq(void *cq)
{
	return -ibv_destroy_cq(cq);
}
static int undo_qp(void *qp)
{
	return -ibv_destroy_qp(qp);
}
static int undo_mw(void *mw)
{
	return -ibv_dealloc_mw(mw);
}
static int undo_mr(void *mr)
{
	return -ibv_dereg_mr(mr);
}

static int undo_device(void *ctx)
{
	return -ibv_close_device(ctx);
}

/* Opens both devices once. False: a call failed. */
static bool open_both(void)
{
	struct ibv_context *ctx[2] = {NULL, NULL};
	struct ibv_device **list;
	int n = 0;

	list = ibv_get_device_list(&n);
	if (!list)
		return false;
	for (int i = 0; i < 2 && i < n; i++) {
		ctx[i] = ibv_open_device(list[i]);
		if (ctx[i])
			later(undo_device, ctx[i]);
	}
	ibv_free_device_list(list);
	return ctx[0] && ctx[1];
}

/* A process that begins: a call that fails once succeeds the next time. */
void part_devices(struct program *p)
{
	(void)p;
	if (open_both())
		return;
	if (!open_both())
		complain("the devices cannot be opened after one failure");
}

static void query(struct side *s)
{
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint16_t key;

	VERB(ibv_query_device(s->ctx, &device) == 0);
	VERB(ibv_query_port(s->ctx, 1, &port) == 0);
	VERB(ibv_query_gid(s->ctx, 1, 0, &gid) == 0);
	VERB(ibv_query_pkey(s->ctx, 1, 0, &key) == 0);
}

static void queues(struct side *s)
{
	struct ibv_cq_init_attr_ex ex = {.cqe = 30, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct ibv_srq_init_attr init = {.attr = {.max_wr = DEPTH, .max_sge = 2}};
	struct ibv_srq_attr limit = {.srq_limit = 2};
	struct ibv_cq_ex *cq;
	struct ibv_srq *srq;

	VERB(cq = ibv_create_cq_ex(s->ctx, &ex));
	later(undo_cq, ibv_cq_ex_to_cq(cq));
	VERB(ibv_resize_cq(ibv_cq_ex_to_cq(cq), 5000) == 0);
	VERB(ibv_req_notify_cq(s->cq, 0) == 0);
	VERB(srq = ibv_create_srq(s->pd, &init));
	later(undo_srq, srq);
	VERB(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT) == 0);
	VERB(ibv_query_srq(srq, &limit) == 0);
}

static void queue_pair(int i)
{
	struct ibv_qp_init_attr init = side_init(i), got;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp *qp;

	VERB(qp = ibv_create_qp(side[i].pd, &init));
	later(undo_qp, qp);
	VERB(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
	     0);
	VERB(ibv_query_qp(qp, &attr, IBV_QP_STATE, &got) == 0);
	attr.qp_state = IBV_QPS_ERR;
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
	attr.qp_state = IBV_QPS_RESET;
	VERB(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
}

/* Memory of the heap is adopted; that of a mapping of the program, too. */
static void memory(struct side *s)
{
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	VERB(mr = ibv_reg_mr(s->pd, s->mem + 100, 5000, IBV_ACCESS_LOCAL_WRITE));
	later(undo_mr, mr);
	VERB(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) == 0);
	VERB(mr = ibv_reg_mr_iova(s->pd, s->mem, 8192, 0, IBV_ACCESS_REMOTE_READ));
	later(undo_mr, mr);
	VERB(mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2));
	later(undo_mw, mw);
}

void part_objects(struct program *p)
{
	side_clear();
	side_open(p, 1);
	query(&side[1]);
	queues(&side[1]);
	queue_pair(1);
	memory(&side[1]);
}
