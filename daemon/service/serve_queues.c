/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests about completion queues, shared receive queues, queue pairs and address handles. */
#include <errno.h>

#include "daemon/objects/client/handles.h"
#include "daemon/objects/datagrams/ah.h"
#include "daemon/objects/queues/cq.h"
#include "daemon/objects/queues/srq.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_options.h"
#include "daemon/service/serve.h"

/* ---- completion queues ---- */

int serve_create_cq(struct client *c, const struct msg_create_cq *req, struct msg_cq *ret,
		    struct reply *rep)
{
	return cq_create(c, req, ret, rep);
}

int serve_resize_cq(struct cq *cq, const struct msg_resize_cq *req, struct msg_cq *ret,
		    struct reply *rep)
{
	return cq_resize(cq, req->entries, ret, rep);
}

int serve_destroy_cq(struct cq *cq, struct reply *rep)
{
	return cq_destroy(cq, rep);
}

void serve_query_cq(struct cq *cq, struct msg_cq_state *ret)
{
	cq_query(cq, ret);
}

/* ---- shared receive queues ---- */

int serve_create_srq(struct client *c, const struct msg_create_srq *req, struct msg_srq *ret,
		     struct reply *rep)
{
	return srq_create(c, req, ret, rep);
}

int serve_modify_srq(struct srq *srq, const struct msg_modify_srq *req, struct reply *rep)
{
	return srq_modify(srq, req, rep);
}

int serve_srq_options(struct srq *srq, const struct msg_options *req, struct msg_options_state *ret,
		      struct reply *rep)
{
	return qp_options_set_srq(srq, req, ret, rep);
}

int serve_destroy_srq(struct srq *srq, struct reply *rep)
{
	return srq_destroy(srq, rep);
}

void serve_query_srq(struct srq *srq, struct msg_srq_state *ret)
{
	srq_query(srq, ret);
}

/* ---- queue pairs ---- */

int serve_create_qp(struct client *c, const struct msg_create_qp *req, struct msg_qp *ret,
		    struct reply *rep)
{
	return qp_create(c, req, ret, rep);
}

int serve_qp_options(struct qp *qp, const struct msg_options *req, struct msg_options_state *ret,
		     struct reply *rep)
{
	return qp_options_set(qp, req, ret, rep);
}

int serve_set_qp_rnr(struct qp *qp, const struct msg_qp_rnr *req, struct reply *rep)
{
	return qp_options_set_rnr(qp, req, rep);
}

int serve_set_qp_qkey(struct qp *qp, const struct msg_qp_qkey *req, struct reply *rep)
{
	return qp_set_qkey(qp, req, rep);
}

int serve_take_qp_number(struct qp *qp, const struct msg_qp_number *req, struct reply *rep)
{
	struct qp *from = handles_qp(qp->client, req->from, rep);

	return from ? qp_take_number(qp, from, rep) : -ENOENT;
}

void serve_destroy_qp(struct qp *qp)
{
	qp_free(qp);
}

void serve_query_qp(struct qp *qp, struct msg_qp_state *ret)
{
	qp_query(qp, ret);
}

void serve_query_peer(struct qp *qp, struct msg_peer *ret)
{
	qp_query_peer(qp, &ret->peer);
}

/* ---- address handles ---- */

int serve_create_ah(struct client *c, const struct msg_create_ah *req, struct msg_handle *ret,
		    struct reply *rep)
{
	return ah_create(c, req, ret, rep);
}

void serve_destroy_ah(struct ah *ah)
{
	ah_free(ah);
}
