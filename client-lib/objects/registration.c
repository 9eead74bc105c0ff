/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/objects/registration.h"

#include <stdbool.h>

#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/own_memory/populate.h"
#include "ipc/local_protocol.h"
#include "ipc/rung.h"

struct request registration_request(struct registration *g, const struct ddp_ctx *ctx, uint32_t pd,
				    const char *call)
{
	const struct mr *mr = g->mr;
	bool own = g->src.rung != RUNG_MEMFD && ctx->minor >= IPC_MINOR_OWN_MEMORY;

	g->req = (struct msg_reg_own_mr){
		.reg =
			{
				.pd = pd,
				.access = g->access & ~(unsigned)DDP_ACCESS_POPULATE,
				.offset = g->src.offset,
				.len = mr->pub.length,
				.iova = mr->pub.iova,
			},
		.rung = g->src.rung,
		.reason = g->src.reason,
	};
	return (struct request){
		.call = call,
		.op = own ? MSG_REG_OWN_MR : MSG_REG_MR,
		.fd = g->src.fd,
		.req = &g->req,
		.ret = &g->reply,
	};
}

/* After the registration: it has limits. Memory that is copied is the daemon's to fill: its shadow.
 */
static int populate_source(const struct registration *g, const char *call)
{
	int r;

	if (!(g->access & DDP_ACCESS_POPULATE) || g->src.rung == RUNG_AGENT)
		return 0;
	r = populate(g->src.fd, g->src.offset, g->mr->pub.length);
	return r ? reason_errno(r, call, "DDP_ACCESS_POPULATE") : 0;
}

static void add_published(const struct registration *g)
{
	struct mr *mr = g->mr;
	struct ddp_pd *pd = mr->pub.pd;

	mr->handle = g->reply.handle;
	mr->access = g->req.reg.access;
	mr->populate = g->access & DDP_ACCESS_POPULATE;
	mr->pub.lkey = mr->pub.rkey = g->reply.stag;
	mr->offset = g->src.offset;
	if (g->src.rung == RUNG_AGENT)
		agent_region_add(&mr->copied, pd->ctx, mr->handle, g->reply.stag);
	context_add(pd->ctx, &pd->uses, &pd->ctx->mrs, &mr->link);
}

/* Of a failure, those that the daemon has registered: their results are 0. */
static void take_back(const struct registration *g, unsigned n, const int *result, const char *call)
{
	for (unsigned i = 0; i < n; i++)
		if (result[i] == 0)
			(void)request_dereg_mr(g[i].mr->pub.pd->ctx, call, g[i].reply.handle);
}

int registration_run(struct registration *g, unsigned n, const char *call)
{
	struct ddp_pd *pd = g->mr->pub.pd;
	struct request list[REQUEST_LIST_MAX] = {0};
	int result[REQUEST_LIST_MAX];
	int r;

	for (unsigned i = 0; i < n; i++)
		list[i] = registration_request(&g[i], pd->ctx, pd->handle, call);
	r = request_send_list(pd->ctx, list, n, result);
	for (unsigned i = 0; i < n && !r; i++)
		r = populate_source(&g[i], call);
	if (r) {
		take_back(g, n, result, call);
		return r;
	}
	for (unsigned i = 0; i < n; i++)
		add_published(&g[i]);
	return 0;
}
