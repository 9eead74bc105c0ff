/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to the daemon, one for each row of MSG_OPS (ipc/local_protocol.h): request_reg_mr() for
 * MSG_REG_MR. The parameters follow from the row:
 *
 *   ctx, call   the context, and the public function, for messages
 *   handle      of the object, if the request has no more than that;
 *   req         else the request, whose header is filled in here; and fd, its descriptor
 *   ret         the reply, if it is more than a header. Daemons that do not know its last members
 *               leave them unchanged
 *   ret_fds     the descriptors of the reply, as many as the row says
 *
 * Each returns 0, the daemon's refusal, -EPIPE, -EPROTO, -EOPNOTSUPP for an operation that the
 * daemon does not know, -ECHILD, or another negative errno value. On failure the reason is set, and
 * ret and ret_fds are unchanged.
 */
#ifndef CLIENT_LIB_REQUEST_H
#define CLIENT_LIB_REQUEST_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/ctl.h"
#include "ipc/msg.h"

struct ddp_ctx;

/* A request before it has a type. */
struct request {
	const char *call;
	uint32_t op;
	int fd;    /* sent with it, if the operation has one */
	void *req; /* begins with a header */
	void *ret; /* room for the reply; NULL: it is only a header */
	int *ret_fds;
};

/* Sends the request and waits for the reply. */
int request_send(struct ddp_ctx *ctx, const struct request *r);

/* What request_send_list() takes: the replies fit into the socket's buffer. */
enum { REQUEST_LIST_MAX = 32 };

/* Sends n requests, 1 .. REQUEST_LIST_MAX, of the same call and without descriptors in their
 * replies, one behind the other, and then takes the replies: daemon and library wake each other
 * once. A refused one does not stop the others. Fills in ret[n]. Returns the first failure, with
 * its reason, or 0.
 */
int request_send_list(struct ddp_ctx *ctx, const struct request *r, unsigned n, int *ret);

/* The result of destroying an object: 0 also if the daemon, and with it the object, is gone. */
static inline int request_released(int result)
{
	return result == -EPIPE || result == -EPROTO ? 0 : result;
}

/* Parameters, and members of struct request, by the columns `request`, `reply` and `fds`. */
#define REQUEST_TAKES_BARE
#define REQUEST_TAKES_HANDLE , uint32_t handle
#define REQUEST_TAKES_RECORD(type) , struct type *req
#define REQUEST_TAKES_RECORD_FD(type) , struct type *req, int fd
#define REQUEST_GIVES_EMPTY
#define REQUEST_GIVES_RECORD(type) , struct type *ret
#define REQUEST_GIVES_SURE_EMPTY
#define REQUEST_GIVES_SURE_RECORD(type) , struct type *ret
#define REQUEST_GIVES_STREAM
#define REQUEST_FDS_0
#define REQUEST_FDS_1 , int *ret_fds
#define REQUEST_FDS_2 , int *ret_fds
#define REQUEST_FDS_3 , int *ret_fds
#define REQUEST_SET_BARE                                                                           \
	, .req = &(struct msg_hdr)                                                                 \
	{                                                                                          \
		0                                                                                  \
	}
#define REQUEST_SET_HANDLE                                                                         \
	, .req = &(struct msg_handle)                                                              \
	{                                                                                          \
		.handle = handle                                                                   \
	}
#define REQUEST_SET_RECORD(type) , .req = req
#define REQUEST_SET_RECORD_FD(type) , .req = req, .fd = fd
#define REQUEST_RET_EMPTY
#define REQUEST_RET_RECORD(type) , .ret = ret
#define REQUEST_RET_SURE_EMPTY
#define REQUEST_RET_SURE_RECORD(type) , .ret = ret
#define REQUEST_RET_STREAM
#define REQUEST_RET_FDS_0
#define REQUEST_RET_FDS_1 , .ret_fds = ret_fds
#define REQUEST_RET_FDS_2 , .ret_fds = ret_fds
#define REQUEST_RET_FDS_3 , .ret_fds = ret_fds

/* clang-format off */
#define X(OP, name, object, takes, gives, fds, ...) \
	static inline int request_##name(struct ddp_ctx *ctx, const char *call \
					 REQUEST_TAKES_##takes REQUEST_GIVES_##gives \
					 REQUEST_FDS_##fds) \
	{ \
		return request_send(ctx, &(const struct request){ \
			.call = call, .op = MSG_##OP REQUEST_SET_##takes \
			REQUEST_RET_##gives REQUEST_RET_FDS_##fds}); \
	}
MSG_OPS(X)
#undef X
/* clang-format on */

#endif
