/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: synchronous ids with all that they need. */
#include <errno.h>
#include <rdma/rdma_verbs.h>
#include <stdlib.h>

#include "verbs/base/error.h"
#include "verbs/cm/cm_id.h"
#include "verbs/cm/cm_sync.h"

static int keep_init(struct cm_id *id, struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	id->has_init = init != NULL;
	if (init)
		id->init = *init;
	if (pd)
		id->ibv.pd = pd;
	return 0;
}

static int resolve(struct rdma_cm_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *init)
{
	enum { TIMEOUT_MS = 2000 };

	if (rdma_resolve_addr(id, res->ai_src_addr, res->ai_dst_addr, TIMEOUT_MS) ||
	    rdma_resolve_route(id, TIMEOUT_MS))
		return -1;
	return init ? rdma_create_qp(id, pd, init) : 0;
}

int rdma_create_ep(struct rdma_cm_id **ret, struct rdma_addrinfo *res, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *init)
{
	struct rdma_cm_id *id;
	int r = rdma_create_id(NULL, &id, NULL, (enum rdma_port_space)res->ai_port_space);

	if (r)
		return r;
	if (init)
		init->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	if (res->ai_flags & RAI_PASSIVE) {
		r = rdma_bind_addr(id, res->ai_src_addr);
		if (r == 0)
			r = keep_init(cm_of(id), pd, init);
	} else {
		r = resolve(id, res, pd, init);
	}
	if (r) {
		int e = errno;

		rdma_destroy_ep(id);
		errno = e;
		return -1;
	}
	*ret = id;
	return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* ---- requests ---- */

static int take_request(struct cm_id *listener, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = listener->init;

	if (rdma_migrate_id(id, NULL))
		return -1;
	if (!listener->has_init)
		return 0;
	init.qp_context = id;
	return rdma_create_qp(id, listener->ibv.pd, &init);
}

/* The event of the request becomes that of its id, until the next call for that one. */
int rdma_get_request(struct rdma_cm_id *listener, struct rdma_cm_id **ret)
{
	struct cm_id *l = cm_of(listener);
	struct rdma_cm_id *id;

	if (!l->sync) {
		errno = EINVAL;
		return -1;
	}
	if (cm_sync_next(listener))
		return -1;
	if (listener->event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		errno = EINVAL;
		return -1;
	}
	id = listener->event->id;
	if (take_request(l, id)) {
		int e = errno;

		rdma_destroy_ep(id);
		errno = e;
		return -1;
	}
	id->event = listener->event;
	listener->event = NULL;
	*ret = id;
	return 0;
}

/* ---- shared receive queues ---- */

int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq;

	if (!id->verbs || id->srq) {
		errno = EINVAL;
		return -1;
	}
	srq = ibv_create_srq(pd ? pd : id->pd, attr);
	if (!srq)
		return -1;
	if (pd)
		id->pd = pd;
	id->srq = srq;
	return 0;
}

int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC) {
		error_unsupported("rdma_create_srq_ex", "only basic queues are supported, not XRC",
				  EOPNOTSUPP);
		return -1;
	}
	return rdma_create_srq(id, attr->comp_mask & IBV_SRQ_INIT_ATTR_PD ? attr->pd : NULL,
			       (struct ibv_srq_init_attr *)attr);
}

void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (id->srq)
		ibv_destroy_srq(id->srq);
	id->srq = NULL;
}
