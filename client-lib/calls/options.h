/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of QPs and SRQs at the daemon. Older daemons have none. */
#ifndef CLIENT_LIB_OPTIONS_H
#define CLIENT_LIB_OPTIONS_H

#include <stdint.h>

#include <ddp/ddp.h>

#include "ipc/msg.h"

struct ddp_ctx;

/* All that remote_access of a QP can permit. */
enum {
	OPTIONS_ACCESS_ALL =
		DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_ATOMIC,
};

/* Sets options by MSG_QP_OPTIONS or MSG_SRQ_OPTIONS. 0 with *ret; -EOPNOTSUPP: the daemon is older
 * than they are; or the refusal. */
int options_call(struct ddp_ctx *ctx, const char *call, uint32_t op, const struct msg_options *req,
		 struct msg_options_state *ret);

/* Queries them. An older daemon has none, and withholds no
 * access. 0 or as request_qp_options(). */
int options_query(struct ddp_ctx *ctx, const char *call, uint32_t op, uint32_t handle,
		  struct msg_options_state *ret);

#endif
