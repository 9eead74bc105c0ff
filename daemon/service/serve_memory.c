/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests about memory: protection domains, regions, windows, and the agent that copies. */
#include <errno.h>

#include "daemon/objects/client/handles.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/memory/agent.h"
#include "daemon/objects/memory/mr.h"
#include "daemon/objects/memory/mw.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/service/serve.h"

/* ---- protection domains ---- */

int serve_alloc_pd(struct client *c, struct msg_handle *ret, struct reply *rep)
{
	return pd_alloc(c, ret, rep);
}

int serve_dealloc_pd(struct pd *pd, struct reply *rep)
{
	return pd_dealloc(pd, rep);
}

void serve_query_pd(struct pd *pd, struct msg_pd_state *ret)
{
	pd_query(pd, ret);
}

/* ---- memory regions ---- */

int serve_reg_mr(struct client *c, const struct msg_reg_mr *req, int fd, struct msg_mr *ret,
		 struct reply *rep)
{
	return mr_register(c, req, fd, ret, rep);
}

int serve_reg_own_mr(struct client *c, const struct msg_reg_own_mr *req, int fd, struct msg_mr *ret,
		     struct reply *rep)
{
	return mr_register_own(c, req, fd, ret, rep);
}

int serve_open_agent(struct client *c, struct msg_agent *ret, struct reply *rep)
{
	return agent_open(c, ret, rep);
}

int serve_bind_mr(struct mr *mr, const struct msg_bind_mr *req, struct msg_mr *ret,
		  struct reply *rep)
{
	const struct qp *qp = req->qp ? handles_qp(mr->client, req->qp, rep) : NULL;

	return req->qp && !qp ? -ENOENT : mr_bind(mr, qp ? &qp->scope : NULL, ret, rep);
}

int serve_notify_mr(struct mr *mr, const struct msg_notify_mr *req, struct reply *rep)
{
	struct cq *cq = req->cq ? handles_cq(mr->client, req->cq, rep) : NULL;

	return req->cq && !cq ? -ENOENT : mr_notify(mr, cq, req->wr_id, rep);
}

int serve_dereg_mr(struct mr *mr, struct reply *rep)
{
	return mr_dereg(mr, rep);
}

void serve_query_mr(struct mr *mr, struct msg_mr_state *ret)
{
	mr_query(mr, ret);
}

/* A descriptor is sent if and only if memory is to be mapped. */
int serve_rereg_mr(struct mr *mr, const struct msg_rereg_mr *req, struct msg_mr *ret,
		   struct reply *rep)
{
	if (req->what & MSG_REREG_TRANSLATION)
		return reply_violation(rep, EINVAL, "rereg 0x%x with 0 descriptors", req->what);
	return mr_rereg(mr, req, -1, ret, rep);
}

int serve_remap_mr(struct mr *mr, const struct msg_rereg_mr *req, int fd, struct msg_mr *ret,
		   struct reply *rep)
{
	if (!(req->what & MSG_REREG_TRANSLATION))
		return reply_violation(rep, EINVAL, "rereg 0x%x with 1 descriptors", req->what);
	return mr_rereg(mr, req, fd, ret, rep);
}

/* ---- memory windows ---- */

int serve_alloc_mw(struct client *c, const struct msg_alloc_mw *req, struct msg_mr *ret,
		   struct reply *rep)
{
	return mw_alloc(c, req, ret, rep);
}

int serve_bind_mw(struct mw *mw, const struct msg_bind_mw *req, struct msg_mr *ret,
		  struct reply *rep)
{
	const struct mr *mr = req->mr ? handles_mr(mw->client, req->mr, rep) : NULL;

	return req->mr && !mr ? -ENOENT : mw_bind(mw, mr, req, ret, rep);
}

void serve_query_mw(struct mw *mw, struct msg_mw_state *ret)
{
	mw_query(mw, ret);
}

void serve_dealloc_mw(struct mw *mw)
{
	mw_free(mw);
}
