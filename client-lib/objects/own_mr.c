/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions of memory that the program already has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/base/attr.h"
#include "client-lib/base/maps.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/objects/agent_open.h"
#include "client-lib/objects/mr.h"
#include "client-lib/objects/registration.h"
#include "ipc/local_protocol.h"
#include "ipc/rung.h"
#include "util/minmax.h"

enum {
	WRITES = DDP_ACCESS_LOCAL_WRITE | DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_ATOMIC,
};

_Static_assert((int)DDP_MR_MEMFD == RUNG_MEMFD && (int)DDP_MR_SHARED == RUNG_SHARED &&
		       (int)DDP_MR_ADOPTED == RUNG_ADOPT && (int)DDP_MR_AGENT == RUNG_AGENT,
	       "rungs keep their numbers");

/* A call: the attributes of all of its regions. */
struct own_mr_call {
	const char *name;
	struct ddp_pd *pd;
	unsigned access;
	struct ddp_reg_attr attr;
};

static int begin_call(struct own_mr_call *c, const struct ddp_reg_attr *attr)
{
	const unsigned all = DDP_REG_IOVA | DDP_REG_KEEP | DDP_REG_QUIET | DDP_REG_GAPS;
	int r = context_here(c->pd->ctx, c->name);

	if (r == 0 && attr)
		r = attr_read(c->name, &c->attr, sizeof(c->attr), attr);
	if (r == 0 && c->attr.flags & ~all)
		r = reason_fail(-EINVAL, "%s: flags 0x%x: not a set of DDP_REG_", c->name,
				c->attr.flags);
	return r;
}

/* Memory that can neither be shared nor adopted is copied. */
static int make_copied(struct mr *mr, const char *call)
{
	int r = agent_open(mr->pub.pd->ctx, call);

	return r ? r
		 : agent_region_make(call, mr->pub.addr, mr->pub.length, mr->pub.iova, &mr->copied);
}

static int find_source(const struct own_mr_call *c, struct mr *mr, struct registration_source *ret)
{
	const struct own_memory_how how = {
		.write = c->access & WRITES,
		.quiet = c->attr.flags & DDP_REG_QUIET,
		.gaps = c->attr.flags & DDP_REG_GAPS,
		.agent = c->pd->ctx->minor >= IPC_MINOR_AGENT,
	};
	int r = own_memory_get(c->name, mr->pub.addr, mr->pub.length, &how, &mr->own);

	if (r)
		return r;
	*ret = (struct registration_source){mr->own.fd, mr->own.offset, mr->own.rung,
					    mr->own.reason};
	if (ret->rung == RUNG_AGENT) {
		r = make_copied(mr, c->name);
		ret->fd = mr->copied.file.fd;
		ret->offset = mr->copied.head;
	}
	return r;
}

/* A region that the daemon does not know yet. */
static int prepare(const struct own_mr_call *c, const struct iovec *range, struct registration *ret)
{
	struct mr *mr = malloc(sizeof(*mr));
	int r;

	if (!mr)
		return reason_fail(-ENOMEM, "%s: out of memory", c->name);
	*mr = (struct mr){
		.pub = {.addr = range->iov_base,
			.length = range->iov_len,
			.pd = c->pd,
			.memfd = -1},
		.keep = c->attr.flags & DDP_REG_KEEP,
	};
	mr->pub.iova = c->attr.flags & DDP_REG_IOVA ? c->attr.iova : (uintptr_t)range->iov_base;
	*ret = (struct registration){.mr = mr, .access = c->access};
	r = find_source(c, mr, &ret->src);
	if (r)
		mr_free(mr);
	return r;
}

/* At most REQUEST_LIST_MAX. All or none. */
static int register_some(const struct own_mr_call *c, const struct iovec *range, unsigned n,
			 struct ddp_mr **ret)
{
	struct registration g[REQUEST_LIST_MAX];
	unsigned ready = 0;
	int r = 0;

	maps_hold();
	while (ready < n && r == 0) {
		r = prepare(c, &range[ready], &g[ready]);
		ready += r == 0;
	}
	maps_release();
	if (r == 0)
		r = registration_run(g, n, c->name);
	for (unsigned i = 0; i < ready; i++)
		if (r)
			mr_free(g[i].mr);
		else
			ret[i] = &g[i].mr->pub;
	return r;
}

int ddp_reg_mr(struct ddp_pd *pd, void *addr, size_t length, unsigned access,
	       const struct ddp_reg_attr *attr, struct ddp_mr **ret)
{
	struct own_mr_call c = {.name = "ddp_reg_mr", .pd = pd, .access = access};
	const struct iovec range = {addr, length};
	int r = begin_call(&c, attr);

	return r ? r : register_some(&c, &range, 1, ret);
}

static int register_all(const struct own_mr_call *c, const struct iovec *range, size_t n,
			struct ddp_mr **ret)
{
	size_t done = 0;
	int r = 0;

	while (done < n && r == 0) {
		unsigned k = (unsigned)min_size(n - done, REQUEST_LIST_MAX);

		r = register_some(c, range + done, k, ret + done);
		done += r ? 0 : k;
	}
	if (r) {
		char reason[REASON_MAX];

		strcpy(reason, ddp_last_reason());
		(void)ddp_dereg_mrs(ret, done);
		(void)reason_fail(r, "%s", reason);
	}
	return r;
}

int ddp_reg_mrs(struct ddp_pd *pd, const struct iovec *range, size_t n, unsigned access,
		const struct ddp_reg_attr *attr, struct ddp_mr **ret)
{
	struct own_mr_call c = {.name = "ddp_reg_mrs", .pd = pd, .access = access};
	struct ddp_mr **made;
	int r = begin_call(&c, attr);

	if (r == 0 && c.attr.flags & DDP_REG_IOVA)
		r = reason_fail(-EINVAL, "ddp_reg_mrs: DDP_REG_IOVA: one address for %zu ranges",
				n);
	if (r || n == 0)
		return r;
	made = calloc(n, sizeof(struct ddp_mr *));
	if (!made)
		return reason_fail(-ENOMEM, "ddp_reg_mrs: out of memory for %zu regions", n);
	r = register_all(&c, range, n, made);
	if (r == 0)
		memcpy(ret, made, n * sizeof(struct ddp_mr *));
	free(made);
	return r;
}
