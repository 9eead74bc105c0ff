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
	context_use(pd->ctx, &pd->uses, 1);
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

int ddp_dealloc_mw(struct ddp_mw *pub)
{
	struct mw *mw = (struct mw *)pub;
	int r;

	if (!pub)
		return 0;
	r = request_released(request_dealloc_mw(pub->pd->ctx, "ddp_dealloc_mw", mw->handle));
	if (r)
		return r;
	context_use(pub->pd->ctx, &pub->pd->uses, -1);
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
	if (r == 0)
		pub->rkey = reply.stag;
	return r;
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
