/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm/cm_number.h"

#include "verbs/verbs/datagram.h"

static bool names_datagrams(const struct cm_id *id, const struct rdma_conn_param *conn)
{
	bool ret;

	if (id->ibv.qp || !conn)
		return false;
	pthread_mutex_lock(&id->host->event_lock);
	ret = datagram_has_number(id->host, conn->qp_num);
	pthread_mutex_unlock(&id->host->event_lock);
	return ret;
}

static struct qp *create_unseen(struct cm_id *id, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1},
		.qp_type = IBV_QPT_RC,
	};

	return pd && cq ? qp_create_unseen(&id->end, pd, &init) : NULL;
}

static void free_objects(struct ibv_pd *pd, struct ibv_cq *cq)
{
	int e = errno;

	if (cq)
		ibv_destroy_cq(cq);
	if (pd)
		ibv_dealloc_pd(pd);
	errno = e;
}

/* Its domain and queue are its own: the program can destroy its objects in any order. */
int cm_number_make(struct cm_id *id)
{
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	if (id->unseen)
		return 0;
	pd = ibv_alloc_pd(id->context);
	cq = pd ? ibv_create_cq(id->context, 1, NULL, NULL, 0) : NULL;
	id->unseen = create_unseen(id, pd, cq);
	if (id->unseen)
		return 0;
	free_objects(pd, cq);
	return -1;
}

int cm_number_take(struct cm_id *id, const struct rdma_conn_param *conn)
{
	return names_datagrams(id, conn) ? cm_number_make(id) : 0;
}

void cm_number_drop(struct cm_id *id)
{
	struct qp *qp = id->unseen;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	if (!qp)
		return;
	pd = qp->ibv.pd;
	cq = qp->ibv.send_cq;
	id->unseen = NULL;
	if (ibv_destroy_qp(&qp->ibv) == 0)
		free_objects(pd, cq);
}
