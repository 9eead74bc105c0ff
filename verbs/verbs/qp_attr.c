/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/qp_attr.h"

#include <errno.h>

#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/datagram.h"
#include "verbs/verbs/oob.h"
#include "verbs/verbs/qp_access.h"
#include "verbs/verbs/qp_rnr.h"

/* The events that are there already belong to the state. */
int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct qp *qp = qp_of(ibv);
	struct host *h = context_of(ibv->context)->host;

	(void)mask;
	pthread_mutex_lock(&h->event_lock);
	if (qp->state >= IBV_QPS_RTR && qp->state != IBV_QPS_ERR)
		host_hand_out(h);
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = ibv->state = qp->state;
	pthread_mutex_unlock(&h->event_lock);
	attr->cap = qp->init.cap;
	*init = qp->init;
	return 0;
}

/* ---- rights of the peer ---- */

int qp_attr_set_resources(struct qp *qp, unsigned n)
{
	return qp_access_set(qp, qp->own_access ? qp->attr.qp_access_flags : qp_cm_access(n),
			     n == 0);
}

static int set_access(struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	unsigned flags =
		mask & IBV_QP_ACCESS_FLAGS ? attr->qp_access_flags : qp->attr.qp_access_flags;
	bool none =
		mask & IBV_QP_MAX_DEST_RD_ATOMIC ? attr->max_dest_rd_atomic == 0 : qp->no_resources;
	int r;

	if (!(mask & (IBV_QP_ACCESS_FLAGS | IBV_QP_MAX_DEST_RD_ATOMIC)))
		return 0;
	r = qp_access_set(qp, flags, none);
	if (r == 0 && mask & IBV_QP_ACCESS_FLAGS)
		qp->own_access = true;
	return r;
}

/* Keeps the attributes that the program sets, for ibv_query_qp(). */
static void keep_attr(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
	if (mask & IBV_QP_DEST_QPN)
		to->dest_qp_num = from->dest_qp_num;
	if (mask & IBV_QP_AV)
		to->ah_attr = from->ah_attr;
	if (mask & IBV_QP_PATH_MTU)
		to->path_mtu = from->path_mtu;
	if (mask & IBV_QP_SQ_PSN)
		to->sq_psn = from->sq_psn;
	if (mask & IBV_QP_RQ_PSN)
		to->rq_psn = from->rq_psn;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = from->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	if (mask & IBV_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & IBV_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer;
}

/* The daemon sends again when the Q_Key is set. */
static bool leaves_sqe(const struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	return qp_is_datagram(qp) && qp->state == IBV_QPS_SQE && mask & IBV_QP_STATE &&
	       attr->qp_state == IBV_QPS_RTS;
}

static int apply_attr(struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	int r = set_access(qp, attr, mask);

	if (r == 0 && (mask & IBV_QP_QKEY || leaves_sqe(qp, attr, mask)))
		r = datagram_set_qkey(qp, mask & IBV_QP_QKEY ? attr->qkey : qp->attr.qkey);
	if (r)
		return r;
	keep_attr(&qp->attr, attr, mask);
	if (mask & (IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER))
		r = qp_rnr_apply(qp);
	if (r)
		return r;
	return mask & IBV_QP_STATE ? oob_modify(qp, attr->qp_state) : 0;
}

/* A program would wait for an event that no transport here can have. */
static int check_notify(const struct ibv_qp_attr *attr, int mask)
{
	if (!(mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) || !attr->en_sqd_async_notify)
		return 0;
	return error_unsupported("ibv_modify_qp",
				 "en_sqd_async_notify is not supported: SQD does not drain Sends",
				 EOPNOTSUPP);
}

/* On failure the state is the old one. */
static int modify_locked(struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const struct ibv_qp_attr old = qp->attr;
	const bool no_resources = qp->no_resources, own_access = qp->own_access;
	int r = qp_transition_check(qp_states(qp), qp->state, attr, mask,
				    context_of(qp->ibv.context)->host->gids.n);

	if (r == 0)
		r = check_notify(attr, mask);
	if (r)
		return r;
	r = apply_attr(qp, attr, mask);
	if (r && qp_is_datagram(qp)) {
		if (mask & IBV_QP_QKEY) /* else it would send again after a Send that has failed */
			datagram_set_qkey(qp, old.qkey);
	} else if (r) {
		qp_access_set(qp, old.qp_access_flags, no_resources);
		qp->attr = old;
		qp_rnr_apply(qp);
		qp->own_access = own_access;
	}
	return r;
}

int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct qp *qp = qp_of(ibv);
	struct host *h = context_of(ibv->context)->host;
	int r;

	pthread_mutex_lock(&h->event_lock);
	r = modify_locked(qp, attr, mask);
	pthread_mutex_unlock(&h->event_lock);
	if (r)
		errno = r;
	return r;
}
