/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of QPs and SRQs at the daemon, which older daemons do not support. */
#ifndef CLIENT_LIB_OPTIONS_H
#define CLIENT_LIB_OPTIONS_H

#include <stdint.h>

#include <ddp/ddp.h>

#include "ipc/msg.h"

struct ddp_ctx;

/* All rights that remote_access of a QP can permit. */
enum {
	OPTIONS_ACCESS_ALL =
		DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_ATOMIC,
};

/* Whether a new QP of that domain may have its scope_of. 0; -EINVAL; -EOPNOTSUPP: the daemon is too
 * old. */
int options_check_scope(const struct ddp_pd *pd, const struct ddp_qp_init *init);

/* Sets options, by MSG_QP_OPTIONS or MSG_SRQ_OPTIONS. Returns 0 with *ret; -EOPNOTSUPP if the
 * daemon does not support options; or as request_qp_options(). */
int options_call(struct ddp_ctx *ctx, const char *call, uint32_t op, const struct msg_options *req,
		 struct msg_options_state *ret);

/* Queries options, likewise. Of an older daemon *ret has no options and every right. Returns 0 or
 * as request_qp_options(). */
int options_query(struct ddp_ctx *ctx, const char *call, uint32_t op, uint32_t handle,
		  struct msg_options_state *ret);

#endif
