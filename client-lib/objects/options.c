/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/objects/options.h"

#include <errno.h>
#include <string.h>

#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "ipc/local_protocol.h"

_Static_assert((int)DDP_QP_PLACE_IN_ORDER == MSG_QP_PLACE_IN_ORDER &&
		       (int)DDP_QP_KEEP_RECVS == MSG_QP_KEEP_RECVS &&
		       (int)DDP_QP_ACKED == MSG_QP_ACKED &&
		       (int)DDP_QP_IMM_OF_SEND == MSG_QP_IMM_OF_SEND &&
		       (int)DDP_QP_CREDITS == MSG_QP_CREDITS &&
		       (int)DDP_QP_STRICT_RECVS == MSG_QP_STRICT_RECVS &&
		       (int)DDP_QP_RNR == MSG_QP_RNR &&
		       (int)DDP_QP_STRICT_SENDS == MSG_QP_STRICT_SENDS,
	       "options keep their bits");

int options_call(struct ddp_ctx *ctx, const char *call, uint32_t op, const struct msg_options *req,
		 struct msg_options_state *ret)
{
	struct msg_options rec = *req;

	if (ctx->minor < IPC_MINOR_OPTIONS)
		return reason_fail(-EOPNOTSUPP, "%s: the daemon is too old to support options",
				   call);
	return op == MSG_QP_OPTIONS ? request_qp_options(ctx, call, &rec, ret)
				    : request_srq_options(ctx, call, &rec, ret);
}

int options_query(struct ddp_ctx *ctx, const char *call, uint32_t op, uint32_t handle,
		  struct msg_options_state *ret)
{
	const struct msg_options req = {.handle = handle};

	memset(ret, 0, sizeof(*ret));
	ret->access = OPTIONS_ACCESS_ALL; /* an older daemon grants every right */
	return ctx->minor < IPC_MINOR_OPTIONS ? 0 : options_call(ctx, call, op, &req, ret);
}

int options_check_scope(const struct ddp_pd *pd, const struct ddp_qp_init *init)
{
	if (!init->scope_of)
		return 0;
	if (init->qp_type != DDP_QP_RDMAP)
		return reason_fail(-EINVAL, "ddp_create_qp: scope_of is for DDP_QP_RDMAP");
	if (init->scope_of->pd != pd)
		return reason_fail(-EINVAL, "ddp_create_qp: scope_of has another PD");
	if (pd->ctx->minor < IPC_MINOR_SCOPE)
		return reason_fail(-EOPNOTSUPP,
				   "ddp_create_qp: the daemon is too old for scope_of");
	return context_serves(init->scope_of->handle, "ddp_create_qp");
}
