/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mr.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/client.h"
#include "daemon/pd.h"
#include "daemon/qp.h"
#include "proto/stag.h"
#include "util/checked.h"

enum { ACCESS_ALL = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ };

static int check(const struct msg_reg_mr *req, struct reply *rep)
{
	if (req->access & ~(uint32_t)ACCESS_ALL)
		return reply_refuse(rep, EINVAL, "memory region: unknown access flags 0x%x",
				    req->access & ~(uint32_t)ACCESS_ALL);
	if (req->len == 0)
		return reply_refuse(rep, EINVAL, "memory region: its length is 0");
	if (checked_add_wraps(req->iova, req->len))
		return reply_refuse(rep, EINVAL,
				    "memory region: iova 0x%llx plus %llu bytes passes 2^64",
				    (unsigned long long)req->iova, (unsigned long long)req->len);
	return 0;
}

static int map(struct mr *mr, const struct msg_reg_mr *req, int fd, struct reply *rep)
{
	bool write = mr->access & (STAG_LOCAL_WRITE | STAG_REMOTE_WRITE);
	int r = memfd_map_client(fd, req->offset, req->len, write, &mr->map);

	if (r > 0)
		return reply_refuse(rep, memfd_errno(r),
				    "memory region of %llu bytes at %llu of the descriptor: %s",
				    (unsigned long long)req->len, (unsigned long long)req->offset,
				    memfd_reason(r));
	if (r < 0)
		return reply_refuse(rep, -r, "memory region of %llu bytes: cannot be mapped",
				    (unsigned long long)req->len);
	return 0;
}

/* Enters the region into the STag table under a value not in use, which becomes its STag. */
static int publish(struct mr *mr, uint64_t scope, struct reply *rep)
{
	struct daemon *d = mr->client->daemon;
	struct stag_region region = {
		.rights = mr->access,
		.pd = mr->pd->number,
		.scope = scope,
		.to = mr->iova,
		.len = mr->len,
		.base = mr->map.addr,
	};
	int r;

	do {
		region.stag = daemon_draw_stag(d);
		r = stag_add(d->stags, &region);
	} while (r == STAG_ADD_E_TAKEN);
	if (r)
		return reply_refuse(rep, ENOSPC,
				    "memory region: the daemon's table of regions is full");
	mr->stag = region.stag;
	return 0;
}

static int build(struct mr *mr, const struct msg_reg_mr *req, int fd, struct reply *rep)
{
	struct client *c = mr->client;
	int r = client_charge(c, ACCT_MRS, 1, &mr->charge, rep);

	if (!r)
		r = client_charge(c, ACCT_MR_BYTES, req->len, &mr->bytes, rep);
	if (!r)
		r = map(mr, req, fd, rep);
	if (!r)
		r = publish(mr, 0, rep);
	if (!r && idtab_add(&c->mrs, mr, &mr->handle))
		r = reply_refuse(rep, ENOMEM, "memory region: no room in the client's table");
	if (!r)
		c->mr_bytes += mr->len;
	return r;
}

int mr_register(struct client *c, const struct msg_reg_mr *req, int fd, struct reply *rep)
{
	struct pd *pd = idtab_get(&c->pds, req->pd);
	struct mr *mr;
	int r;

	if (!pd)
		return reply_violation(rep, ENOENT, "memory region: no protection domain 0x%x",
				       req->pd);
	r = check(req, rep);
	if (r)
		return r;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return reply_refuse(rep, ENOMEM, "memory region: out of memory");
	mr->client = c;
	mr->pd = pd;
	pd->users++;
	mr->iova = req->iova;
	mr->len = req->len;
	mr->access = req->access;
	if (mr->access & STAG_REMOTE_WRITE)
		mr->access |= STAG_LOCAL_WRITE;
	r = build(mr, req, fd, rep);
	if (r) {
		mr_free(mr);
		return r;
	}
	rep->mr.handle = mr->handle;
	rep->mr.stag = mr->stag;
	return 0;
}

int mr_bind(struct mr *mr, const struct qp *qp, struct reply *rep)
{
	uint32_t old = mr->stag;
	int r;

	if (qp && qp->pd != mr->pd)
		return reply_refuse(rep, EINVAL,
				    "memory region 0x%08x and queue pair %u: not the same domain",
				    mr->stag, qp->num);
	r = publish(mr, qp ? qp->scope : 0, rep);
	if (r)
		return r;
	stag_remove(mr->client->daemon->stags, old);
	rep->mr.handle = mr->handle;
	rep->mr.stag = mr->stag;
	return 0;
}

struct mr *mr_free(struct mr *mr)
{
	if (!mr)
		return NULL;
	if (idtab_del(&mr->client->mrs, mr->handle))
		mr->client->mr_bytes -= mr->len;
	if (mr->stag)
		stag_remove(mr->client->daemon->stags, mr->stag);
	memfd_unmap(&mr->map);
	mr->pd->users--;
	acct_release(&mr->bytes);
	acct_release(&mr->charge);
	free(mr);
	return NULL;
}
