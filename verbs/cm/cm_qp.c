/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of ids, and the completion queues that are created with them. */
#include <errno.h>
#include <string.h>

#include "verbs/base/addr.h"
#include "verbs/base/error.h"
#include "verbs/cm/cm_id.h"
#include "verbs/cm/cm_qp.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/qp.h"
#include "verbs/verbs/wr.h"

/* Completion queues for a program that brought none. */
static int own_cq(struct rdma_cm_id *id, uint32_t wr, struct ibv_comp_channel **channel,
		  struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return -1;
	*cq = ibv_create_cq(id->verbs, (int)(wr ? wr : 1), id, *channel, 0);
	if (*cq)
		return 0;
	ibv_destroy_comp_channel(*channel);
	*channel = NULL;
	return -1;
}

/* The program may have set one for both. */
static void free_cqs(struct rdma_cm_id *id)
{
	if (id->send_cq && id->send_cq != id->recv_cq)
		ibv_destroy_cq(id->send_cq);
	if (id->send_cq_channel && id->send_cq_channel != id->recv_cq_channel)
		ibv_destroy_comp_channel(id->send_cq_channel);
	if (id->recv_cq)
		ibv_destroy_cq(id->recv_cq);
	if (id->recv_cq_channel)
		ibv_destroy_comp_channel(id->recv_cq_channel);
	id->send_cq = id->recv_cq = NULL;
	id->send_cq_channel = id->recv_cq_channel = NULL;
}

/* Those of the id are for a program that brings none. */
static int own_cqs(struct rdma_cm_id *id, struct ibv_qp_init_attr *attr)
{
	if (!attr->recv_cq && !id->recv_cq &&
	    own_cq(id, attr->cap.max_recv_wr, &id->recv_cq_channel, &id->recv_cq))
		return -1;
	if (!attr->send_cq && !id->send_cq &&
	    own_cq(id, attr->cap.max_send_wr, &id->send_cq_channel, &id->send_cq))
		return -1;
	if (!attr->recv_cq)
		attr->recv_cq = id->recv_cq;
	if (!attr->send_cq)
		attr->send_cq = id->send_cq;
	return 0;
}

/* NULL if there is a queue pair that the program has taken from ibv.qp: the new one moves when the
 * id connects. */
static struct session_end *free_end(struct cm_id *id)
{
	struct session_end *ret;

	pthread_mutex_lock(&id->host->event_lock);
	ret = id->end.qp ? NULL : &id->end;
	pthread_mutex_unlock(&id->host->event_lock);
	return ret;
}

static struct ibv_qp *create_for_session(struct cm_id *id, struct ibv_pd *pd,
					 struct ibv_qp_init_attr *attr)
{
	struct qp *qp = qp_create(free_end(id), pd, attr);

	if (!qp)
		return NULL;
	pthread_mutex_lock(&id->host->event_lock);
	qp->cm = true;
	qp_set_state(qp, IBV_QPS_INIT);
	pthread_mutex_unlock(&id->host->event_lock);
	return &qp->ibv;
}

static int make_ready(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = RDMA_UDP_QKEY};
	int r = ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	if (r == 0)
		r = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	return r ? r : ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* It sends and receives at once, as that of the kernel. */
static struct ibv_qp *create_for_datagrams(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = ibv_create_qp(pd, attr);
	int r = qp ? make_ready(qp) : 0;

	if (r == 0)
		return qp;
	ibv_destroy_qp(qp);
	errno = r;
	return NULL;
}

static int check_id_type(const struct cm_id *id, const struct ibv_qp_init_attr *attr)
{
	const bool datagrams = attr->qp_type == IBV_QPT_UD;

	if (datagrams == (id->ibv.qp_type == IBV_QPT_UD))
		return 0;
	return error_unsupported("rdma_create_qp",
				 datagrams ? "the id is for connections: one of RDMA_PS_UDP has "
					     "queue pairs for datagrams (UD)"
					   : "the id is for datagrams (RDMA_PS_UDP): its queue "
					     "pair has the type UD",
				 EINVAL);
}

int rdma_create_qp(struct rdma_cm_id *ibv, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct cm_id *id = cm_of(ibv);
	struct ibv_qp *qp = NULL;

	if (!id->host || ibv->qp || (pd && pd->context != ibv->verbs) || check_id_type(id, attr))
		return cm_fail(EINVAL);
	if (!pd)
		pd = ibv->pd;
	if (!attr->srq)
		attr->srq = ibv->srq; /* of rdma_create_srq() */
	if (pd && own_cqs(ibv, attr) == 0)
		qp = attr->qp_type == IBV_QPT_UD ? create_for_datagrams(pd, attr)
						 : create_for_session(id, pd, attr);
	if (!qp) {
		int e = errno;

		free_cqs(ibv);
		return cm_fail(e);
	}
	ibv->qp = qp;
	ibv->pd = pd;
	return 0;
}

int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t send_ops = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_pd *pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL;
	int r;

	if (attr->comp_mask & ~(send_ops | IBV_QP_INIT_ATTR_PD))
		return cm_fail(error_unsupported("rdma_create_qp_ex",
						 "only the attributes PD and SEND_OPS_FLAGS are "
						 "supported",
						 EOPNOTSUPP));
	if (attr->comp_mask & send_ops && wr_check_ops(attr->qp_type, attr->send_ops_flags))
		return -1;
	r = rdma_create_qp(id, pd, (struct ibv_qp_init_attr *)attr);
	if (r == 0 && attr->comp_mask & send_ops && wr_enable(qp_of(id->qp))) {
		rdma_destroy_qp(id);
		return cm_fail(ENOMEM);
	}
	return r;
}

/* ---- attributes ---- */

enum {
	HOP_LIMIT = 64,
	NO_NUMBER = 1,    /* of the peer: the session knows it */
	ACK_TIMEOUT = 14, /* 67 ms, as rdma_cm computes it for a short path */
};

/* A peer may offer more. */
static uint8_t within_device(uint8_t reads)
{
	return reads < QP_READS ? reads : QP_READS;
}

/* Of the address that the id has; 0 if it has none. */
static uint8_t own_index(const struct cm_id *id)
{
	const struct gid_table *t = &id->host->gids;
	const unsigned i = gid_table_find(t, &id->src);

	return (uint8_t)(i < t->n ? i : 0);
}

void cm_qp_fill_handle(const struct cm_id *id, struct ibv_ah_attr *ret)
{
	*ret = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = {.hop_limit = HOP_LIMIT, .sgid_index = own_index(id)},
	};
	addr_gid(&id->dst, &ret->grh.dgid);
}

static void fill_path(struct cm_id *id, struct ibv_qp_attr *attr)
{
	cm_qp_fill_handle(id, &attr->ah_attr);
	attr->path_mtu = IBV_MTU_4096;
	attr->dest_qp_num = NO_NUMBER;
	attr->rq_psn = 0;
	attr->max_dest_rd_atomic = within_device(id->resources);
	attr->min_rnr_timer = 0;
}

static void fill_limits(struct cm_id *id, struct ibv_qp_attr *attr)
{
	attr->sq_psn = 0;
	attr->max_rd_atomic = within_device(id->depth);
	attr->timeout = id->ack_timeout ? id->ack_timeout : ACK_TIMEOUT;
	attr->retry_cnt = id->retry_count;
	attr->rnr_retry = id->rnr_retry_count;
}

void cm_qp_note_session(struct cm_id *id, struct qp *qp)
{
	fill_path(id, &qp->attr);
	fill_limits(id, &qp->attr);
}

/* Without the mask of InfiniBand: an iWARP device has no use for it. */
static int init_iwarp(struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	*mask = 0;
	if (attr->qp_state == IBV_QPS_RTS)
		return 0;
	attr->qp_access_flags = qp_cm_access(id->resources);
	*mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
	return 0;
}

static int init_datagrams(struct ibv_qp_attr *attr, int *mask)
{
	*mask = IBV_QP_STATE;
	if (attr->qp_state == IBV_QPS_INIT) {
		attr->pkey_index = 0;
		attr->port_num = 1;
		attr->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	} else if (attr->qp_state == IBV_QPS_RTS) {
		attr->sq_psn = 0;
		*mask |= IBV_QP_SQ_PSN;
	}
	return 0;
}

/* For queue pairs that the program moves through their states itself. */
int rdma_init_qp_attr(struct rdma_cm_id *ibv, struct ibv_qp_attr *attr, int *mask)
{
	struct cm_id *id = cm_of(ibv);

	if (!id->host || attr->qp_state < IBV_QPS_INIT || attr->qp_state > IBV_QPS_RTS)
		return cm_fail(EINVAL);
	if (ibv->qp_type == IBV_QPT_UD)
		return init_datagrams(attr, mask);
	if (ibv->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
		return init_iwarp(id, attr, mask);
	if (attr->qp_state == IBV_QPS_INIT) {
		attr->qp_access_flags = qp_cm_access(id->resources);
		attr->pkey_index = 0;
		attr->port_num = 1;
		*mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	} else if (attr->qp_state == IBV_QPS_RTR) {
		fill_path(id, attr);
		*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	} else {
		fill_limits(id, attr);
		*mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return 0;
}

/* ---- ending ---- */

void rdma_destroy_qp(struct rdma_cm_id *ibv)
{
	if (!ibv->qp)
		return;
	ibv_destroy_qp(ibv->qp);
	ibv->qp = NULL;
	free_cqs(ibv);
}
