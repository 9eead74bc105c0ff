/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows. Work requests bind those of type 2: post.c. */
#include <errno.h>
#include <stdlib.h>

#include "client-lib/base/attr.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"

enum { KEY = 0xff }; /* the bits of an rkey that a bind may change */

_Static_assert((int)DDP_MW_TYPE_1 == MSG_MW_TYPE_1 && (int)DDP_MW_TYPE_2 == MSG_MW_TYPE_2,
	       "types keep their numbers");

static int alloc(struct mw *mw)
{
	struct ddp_pd *pd = mw->pub.pd;
	struct msg_alloc_mw req = {
		.pd = pd->handle,
		.type = mw->pub.type,
	};
	struct msg_mr reply;
	int r = request_alloc_mw(pd->ctx, "ddp_alloc_mw", &req, &reply);

	if (r)
		return r;
	mw->handle = reply.handle;
	mw->pub.rkey = reply.stag;
	context_add(pd->ctx, &pd->uses, &pd->ctx->mws, &mw->link);
	return 0;
}

int ddp_alloc_mw(struct ddp_pd *pd, enum ddp_mw_type type, struct ddp_mw **ret)
{
	struct mw *mw;
	int r;

	if (type != DDP_MW_TYPE_1 && type != DDP_MW_TYPE_2)
		return reason_fail(-EINVAL, "ddp_alloc_mw: unknown type %d", (int)type);
	mw = malloc(sizeof(*mw));
	if (!mw)
		return reason_fail(-ENOMEM, "ddp_alloc_mw: out of memory");
	*mw = (struct mw){.pub = {.type = type, .pd = pd}};
	r = alloc(mw);
	if (r) {
		free(mw);
		return r;
	}
	*ret = &mw->pub;
	return 0;
}

/* Notes a bind of type 1; mr NULL: the window is not bound. */
static void set_bound(struct mw *mw, struct mr *mr, const struct msg_bind_mw *req)
{
	struct ddp_ctx *ctx = mw->pub.pd->ctx;

	pthread_mutex_lock(&ctx->lock);
	if (mw->mr)
		mw->mr->windows--;
	mw->mr = mr;
	if (mr) {
		mr->windows++;
		mw->addr = req->addr;
		mw->length = req->len;
		mw->access = req->access;
	}
	pthread_mutex_unlock(&ctx->lock);
}

int ddp_dealloc_mw(struct ddp_mw *pub)
{
	struct mw *mw = (struct mw *)pub;
	int r;

	if (!pub)
		return 0;
	r = request_released(request_dealloc_mw(pub->pd->ctx, "ddp_dealloc_mw", mw->handle));
	if (r)
		return r;
	set_bound(mw, NULL, NULL);
	context_del(pub->pd->ctx, &pub->pd->uses, &mw->link);
	free(mw);
	return 0;
}

int ddp_bind_mw(struct ddp_mw *pub, struct ddp_mr *mr, uint64_t addr, size_t length,
		unsigned access)
{
	struct msg_bind_mw req = {.mw = ((struct mw *)pub)->handle};
	struct msg_mr reply;
	int r;

	if (pub->type != DDP_MW_TYPE_1)
		return reason_fail(-EINVAL,
				   "ddp_bind_mw: a window of type 2 is bound by DDP_WR_BIND_MW");
	if (mr && mr->pd != pub->pd)
		return reason_fail(-EINVAL, "ddp_bind_mw: window and MR have different PDs");
	if (mr) {
		req.mr = ((struct mr *)mr)->handle;
		req.access = access;
		req.addr = addr;
		req.len = length;
	}
	r = request_bind_mw(pub->pd->ctx, "ddp_bind_mw", &req, &reply);
	if (r)
		return r;
	pub->rkey = reply.stag;
	set_bound((struct mw *)pub, (struct mr *)mr, &req);
	return 0;
}

/* Binds the window that was just made at the other daemon as it was bound here. */
static int rebind(struct mw *mw, struct ddp_ctx *next, const char *call)
{
	struct msg_bind_mw req = {
		.mw = mw->renewed.handle,
		.mr = mw->mr->renewed.handle,
		.access = mw->access,
		.addr = mw->addr,
		.len = mw->length,
	};
	struct msg_mr reply;
	int r = request_bind_mw(next, call, &req, &reply);

	if (r == 0)
		mw->renewed.stag = reply.stag;
	return r;
}

int mw_renew(struct mw *mw, struct ddp_ctx *next, const char *call)
{
	struct msg_alloc_mw req = {
		.pd = mw->pub.pd->renewed.handle,
		.type = mw->pub.type,
	};
	struct msg_mr reply;
	int r = request_alloc_mw(next, call, &req, &reply);

	if (r)
		return r;
	mw->renewed = (struct renewed){reply.handle, reply.stag};
	return mw->mr ? rebind(mw, next, call) : 0;
}

void mw_take_renewed(struct mw *mw)
{
	mw->handle = mw->renewed.handle;
	mw->pub.rkey = mw->renewed.stag;
}

uint32_t ddp_inc_rkey(uint32_t rkey)
{
	return (rkey & ~(uint32_t)KEY) | ((rkey + 1) & KEY);
}

int ddp_query_mw(struct ddp_mw *mw, struct ddp_mw_attr *attr)
{
	struct msg_mw_state m;
	struct ddp_mw_attr a = {0};
	int r = attr_check("ddp_query_mw", attr);

	if (r == 0)
		r = request_query_mw(mw->pd->ctx, "ddp_query_mw", ((struct mw *)mw)->handle, &m);
	if (r)
		return r;
	a.rkey = m.stag;
	a.bound = m.valid != 0;
	a.access = m.access;
	a.addr = m.addr;
	a.length = m.len;
	a.mr_rkey = m.mr_stag;
	a.qp_num = m.qp_num;
	attr_write(attr, &a, sizeof(a));
	return 0;
}
