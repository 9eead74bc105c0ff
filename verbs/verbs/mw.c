/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs/mw.h"

#include <errno.h>
#include <stdlib.h>

#include "verbs/base/error.h"
#include "verbs/verbs/context.h"
#include "verbs/verbs/cq.h"
#include "verbs/verbs/mr.h"
#include "verbs/verbs/qp.h"

struct mw {
	struct ibv_mw ibv;
	struct ddp_mw *ddp;
};

struct ddp_mw *mw_ddp(struct ibv_mw *mw)
{
	return ((struct mw *)mw)->ddp;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct mw *mw;
	enum ddp_mw_type t = type == IBV_MW_TYPE_1 ? DDP_MW_TYPE_1 : DDP_MW_TYPE_2;
	int r;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
		errno = EINVAL;
		return NULL;
	}
	mw = calloc(1, sizeof(*mw));
	r = mw ? ddp_alloc_mw(pd_ddp(pd), t, &mw->ddp) : -ENOMEM;
	if (r) {
		free(mw);
		error_of_call("ibv_alloc_mw", r);
		return NULL;
	}
	mw->ibv.context = pd->context;
	mw->ibv.pd = pd;
	mw->ibv.rkey = mw->ddp->rkey;
	mw->ibv.type = type;
	return &mw->ibv;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	int r = ddp_dealloc_mw(mw_ddp(mw));

	if (r)
		return error_of_call("ibv_dealloc_mw", r);
	free(mw);
	return 0;
}

static int bind_now(struct ibv_mw *mw, const struct ibv_mw_bind_info *b)
{
	struct ddp_mr *mr = b->mr && b->length > 0 ? ((struct mr *)b->mr)->ddp : NULL;
	int r = ddp_bind_mw(mw_ddp(mw), mr, b->addr, b->length,
			    mr_window_access(b->mw_access_flags));

	if (r)
		return error_of_call("ibv_bind_mw", r);
	mw->rkey = mw_ddp(mw)->rkey;
	return 0;
}

/* The call itself binds; the completion is for programs that wait for it. The call fails before the
 * window changes, or not at all. */
static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const struct ibv_wc wc = {
		.wr_id = bind->wr_id,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_BIND_MW,
		.qp_num = qp->qp_num,
	};
	struct cq_own *own = NULL;
	int r;

	r = mr_check_window("ibv_bind_mw", bind->bind_info.mw_access_flags);
	if (r)
		return r;
	if (bind->send_flags & IBV_SEND_SIGNALED || qp_of(qp)->init.sq_sig_all)
		r = cq_prepare(qp->send_cq, &own);
	if (r)
		return r;
	r = bind_now(mw, &bind->bind_info);
	if (r)
		free(own);
	else if (own)
		cq_push(qp->send_cq, own, &wc);
	return r;
}

void mw_set_ops(struct verbs_context *v)
{
	v->context.ops.alloc_mw = alloc_mw;
	v->context.ops.dealloc_mw = dealloc_mw;
	v->context.ops.bind_mw = bind_mw;
}
