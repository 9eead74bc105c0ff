/* SPDX-License-Identifier: BSD-2-Clause */
/* Address handles, and the other calls for datagrams. */
#include <errno.h>
#include <stdlib.h>

#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "ipc/msg_addr.h"
#include "util/addr.h"

static int read_end(const char *which, const struct sockaddr *addr, struct msg_addr *ret)
{
	struct sockaddr_storage a;

	if (addr_copy(&a, addr) || msg_addr_put(ret, &a))
		return reason_fail(-EAFNOSUPPORT,
				   "ddp_create_ah: %s: address family %d: expected AF_INET or "
				   "AF_INET6",
				   which, (int)addr->sa_family);
	ret->port = 0;
	return 0;
}

static int create_ah(struct ddp_pd *pd, const struct sockaddr *remote, const struct sockaddr *local,
		     uint32_t *ret)
{
	struct msg_create_ah req = {.pd = pd->handle};
	struct msg_handle reply;
	int r;

	if (!remote)
		return reason_fail(-EINVAL, "ddp_create_ah: no remote address");
	r = read_end("remote", remote, &req.remote);
	if (r == 0 && local)
		r = read_end("local", local, &req.local);
	if (r == 0)
		r = request_create_ah(pd->ctx, "ddp_create_ah", &req, &reply);
	if (r == 0)
		*ret = reply.handle;
	return r;
}

int ddp_create_ah(struct ddp_pd *pd, const struct sockaddr *remote, const struct sockaddr *local,
		  struct ddp_ah **ret)
{
	struct ddp_ah *ah;
	int r = context_here(pd->ctx, "ddp_create_ah");

	if (r)
		return r;
	ah = malloc(sizeof(*ah));
	if (!ah)
		return reason_fail(-ENOMEM, "ddp_create_ah: out of memory");
	*ah = (struct ddp_ah){.pd = pd};
	r = create_ah(pd, remote, local, &ah->handle);
	if (r) {
		free(ah);
		return r;
	}
	context_add(pd->ctx, &pd->uses, &pd->ctx->ahs, &ah->link);
	*ret = ah;
	return 0;
}

int ddp_destroy_ah(struct ddp_ah *ah)
{
	struct ddp_ctx *ctx;
	int r;

	if (!ah)
		return 0;
	ctx = ah->pd->ctx;
	r = context_here(ctx, "ddp_destroy_ah");
	if (r == 0)
		r = request_released(request_destroy_ah(ctx, "ddp_destroy_ah", ah->handle));
	if (r)
		return r;
	context_del(ctx, &ah->pd->uses, &ah->link);
	free(ah);
	return 0;
}

int ddp_set_qp_qkey(struct ddp_qp *qp, uint32_t qkey)
{
	struct msg_qp_qkey req = {.handle = qp->handle, .qkey = qkey};
	struct ddp_ctx *ctx = qp->sq.ctx;
	int r = context_here(ctx, "ddp_set_qp_qkey");

	if (r)
		return r;
	if (!qp->datagram)
		return reason_fail(-EINVAL, "ddp_set_qp_qkey: QP %u is not for datagrams", qp->num);
	return request_set_qp_qkey(ctx, "ddp_set_qp_qkey", &req);
}

int ddp_take_qp_number(struct ddp_qp *qp, struct ddp_qp *from)
{
	struct msg_qp_number req = {.handle = qp->handle, .from = from->handle};
	struct ddp_ctx *ctx = qp->sq.ctx;
	int r = context_here(ctx, "ddp_take_qp_number");

	if (r)
		return r;
	if (ctx->minor < IPC_MINOR_NUMBER)
		return reason_fail(-EOPNOTSUPP, "ddp_take_qp_number: the daemon is too old for it");
	if (from->sq.ctx != ctx)
		return reason_fail(-EINVAL,
				   "ddp_take_qp_number: the QPs belong to different contexts");
	r = context_serves(from->handle, "ddp_take_qp_number");
	if (r)
		return r;
	return request_take_qp_number(ctx, "ddp_take_qp_number", &req);
}
