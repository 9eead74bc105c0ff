/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handlers of the client socket's records, one for each row of MSG_OPS
 * (ipc/local_protocol.h): serve_reg_mr() for MSG_REG_MR. Its parameters follow from the row:
 *
 *   the object that the request names, found among those of its client; or the client
 *   req   the request, if it has more than that; and fd, its descriptor, which the caller closes
 *   ret   the reply, if it is more than a header: all members but hdr are to be filled in; zeros
 *   rep   descriptors of the reply, and a refusal, if the operation may be refused. Then the
 *         handler returns 0, or the negative errno value of the refusal
 *
 * The handler of CTL_SHOW sends its replies itself.
 */
#ifndef DAEMON_SERVICE_SERVE_H
#define DAEMON_SERVICE_SERVE_H

#include <stdint.h>

#include "daemon/base/reply.h"
#include "ipc/ctl.h"
#include "ipc/msg.h"

struct ah;
struct client;
struct cq;
struct listener;
struct mr;
struct mw;
struct pd;
struct qp;
struct srq;

/* Parameters and result by the columns `request` and `reply`. */
#define SERVE_REQ_BARE
#define SERVE_REQ_HANDLE
#define SERVE_REQ_RECORD(type) , const struct type *req
#define SERVE_REQ_RECORD_FD(type) , const struct type *req, int fd
#define SERVE_RET_EMPTY , struct reply *rep
#define SERVE_RET_RECORD(type) , struct type *ret, struct reply *rep
#define SERVE_RET_SURE_EMPTY
#define SERVE_RET_SURE_RECORD(type) , struct type *ret
#define SERVE_RET_STREAM , struct reply *rep
#define SERVE_TYPE_EMPTY int
#define SERVE_TYPE_RECORD(type) int
#define SERVE_TYPE_SURE_EMPTY void
#define SERVE_TYPE_SURE_RECORD(type) void
#define SERVE_TYPE_STREAM int

/* The prototypes. */
#define X(op, name, object, request, reply, ...)                                                   \
	SERVE_TYPE_##reply serve_##name(                                                           \
		struct object *object SERVE_REQ_##request SERVE_RET_##reply);
MSG_OPS(X)
#undef X

/*
 * Finds the object that the request names and calls the handler. rec: a request with the size of
 * its opcode, which is a valid one; fd: its descriptor, if it has one. 0, or -errno with the
 * refusal in *rep.
 */
int serve_request(struct client *c, const struct msg_handle *rec, int fd, struct reply *rep);

#endif
