/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "client-lib/base/attr.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"

int ddp_alloc_pd(struct ddp_ctx *ctx, struct ddp_pd **ret)
{
	struct msg_handle reply;
	struct ddp_pd *pd = malloc(sizeof(*pd));
	int r;

	if (!pd)
		return reason_fail(-ENOMEM, "ddp_alloc_pd: out of memory");
	r = request_alloc_pd(ctx, "ddp_alloc_pd", &reply);
	if (r) {
		free(pd);
		return r;
	}
	*pd = (struct ddp_pd){.ctx = ctx, .handle = reply.handle};
	context_add(ctx, &ctx->uses, &ctx->pds, &pd->link);
	*ret = pd;
	return 0;
}

int ddp_dealloc_pd(struct ddp_pd *pd)
{
	struct ddp_ctx *ctx;
	unsigned uses;
	int r;

	if (!pd)
		return 0;
	ctx = pd->ctx;
	r = context_here(ctx, "ddp_dealloc_pd");
	if (r)
		return r;
	uses = context_uses(ctx, &pd->uses);
	if (uses)
		return reason_fail(-EBUSY, "ddp_dealloc_pd: %u objects use the domain", uses);
	r = request_released(request_dealloc_pd(ctx, "ddp_dealloc_pd", pd->handle));
	if (r)
		return r;
	context_del(ctx, &ctx->uses, &pd->link);
	free(pd);
	return 0;
}

int pd_renew(struct ddp_pd *pd, struct ddp_ctx *next, const char *call)
{
	struct msg_handle reply;
	int r = request_alloc_pd(next, call, &reply);

	if (r == 0)
		pd->renewed.handle = reply.handle;
	return r;
}

int ddp_query_pd(struct ddp_pd *pd, struct ddp_pd_attr *attr)
{
	struct msg_pd_state m;
	struct ddp_pd_attr a = {0};
	int r = attr_check("ddp_query_pd", attr);

	if (r == 0)
		r = request_query_pd(pd->ctx, "ddp_query_pd", pd->handle, &m);
	if (r)
		return r;
	a.mrs = m.mrs;
	a.mws = m.mws;
	a.qps = m.qps;
	a.srqs = m.srqs;
	attr_write(attr, &a, sizeof(a));
	return 0;
}
