/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/serve.h"

#include <errno.h>

#include "daemon/objects/client/handles.h"

/* The arguments of a handler, without their types. */
struct args {
	void *target; /* the client, if the request names none */
	const void *req;
	int fd;
	void *ret;
	struct reply *rep;
};

/* ---- a function for each operation that gives the arguments their types ---- */

#define ASK_BARE
#define ASK_HANDLE
#define ASK_RECORD(type) , a->req
#define ASK_RECORD_FD(type) , a->req, a->fd
#define ANSWER_EMPTY , a->rep
#define ANSWER_RECORD(type) , a->ret, a->rep
#define ANSWER_SURE_EMPTY
#define ANSWER_SURE_RECORD(type) , a->ret
#define ANSWER_STREAM , a->rep
#define CALL_EMPTY MAY_REFUSE
#define CALL_RECORD(type) MAY_REFUSE
#define CALL_SURE_EMPTY NEVER_REFUSES
#define CALL_SURE_RECORD(type) NEVER_REFUSES
#define CALL_STREAM MAY_REFUSE
#define MAY_REFUSE(call) return call
#define NEVER_REFUSES(call)                                                                        \
	call;                                                                                      \
	return 0

#define X(op, name, object, request, reply, ...)                                                   \
	static int run_##name(const struct args *a)                                                \
	{                                                                                          \
		CALL_##reply(serve_##name(a->target ASK_##request ANSWER_##reply));                \
	}
MSG_OPS(X)
#undef X

/* ---- the dispatch ---- */

static const struct {
	enum handles_kind object;
	int (*run)(const struct args *a);
} operations[MSG_OP_COUNT] = {
#define X(op, name, object, ...) [MSG_##op] = {HANDLES_##object, run_##name},
	MSG_OPS(X)
#undef X
};

int serve_request(struct client *c, const struct msg_handle *rec, int fd, struct reply *rep)
{
	struct args a = {.target = c, .req = rec, .fd = fd, .ret = &rep->hdr, .rep = rep};
	const uint32_t op = rec->hdr.op;

	if (operations[op].object != HANDLES_client)
		a.target = handles_find(c, operations[op].object, rec->handle, rep);
	return a.target ? operations[op].run(&a) : -ENOENT;
}
