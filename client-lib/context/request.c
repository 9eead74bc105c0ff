/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/context/request.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "ipc/conn.h"

/* Shuts the sockets down, which wakes the threads that wait on them. */
static void end_connection(struct ddp_ctx *ctx)
{
	shutdown(ctx->fd, SHUT_RDWR);
	if (ctx->event_fd >= 0)
		shutdown(ctx->event_fd, SHUT_RDWR);
	pthread_mutex_lock(&ctx->lock);
	if (ctx->async_fd >= 0)
		shutdown(ctx->async_fd, SHUT_RDWR);
	pthread_mutex_unlock(&ctx->lock);
}

/* Ends the connection to a daemon that violates the protocol. */
static int violation(struct ddp_ctx *ctx, const char *call, const char *what)
{
	end_connection(ctx);
	return reason_fail(-EPROTO, "%s: the daemon's reply %s", call, what);
}

static int refusal(struct ddp_ctx *ctx, const char *call, struct msg_error *e)
{
	if (e->err <= 0 || e->err > 4095)
		return violation(ctx, call, "has an errno value out of range");
	e->reason[MSG_REASON_MAX - 1] = '\0';
	if (e->reason[0] == '\0') /* the error is the daemon's: no limit of this process */
		return reason_fail(-e->err, "%s: refused by the daemon: %s", call,
				   strerror(e->err));
	return reason_fail(-e->err, "%s: %s", call, e->reason);
}

union any_reply {
	struct msg_hdr hdr;
	struct msg_error error;
	struct msg_handle object;
	uint8_t bytes[MSG_MAX];
};

/* Whether the reply names a new object. All of these replies begin with its handle. */
static bool makes_object(uint32_t op)
{
	switch (op) {
	case MSG_ALLOC_PD:
	case MSG_REG_MR:
	case MSG_REG_OWN_MR:
	case MSG_ALLOC_MW:
	case MSG_CREATE_CQ:
	case MSG_CREATE_SRQ:
	case MSG_CREATE_QP:
	case MSG_CREATE_AH:
	case MSG_LISTEN:
	case MSG_LISTEN_KEY:
		return true;
	default:
		return false;
	}
}

/* Whether the reply of len bytes and nfds descriptors answers this request. An error with seq 0
 * ends the connection and answers any request. */
static int check_reply(struct ddp_ctx *ctx, const struct request *r, union any_reply *reply,
		       size_t len, unsigned nfds)
{
	const struct msg_shape *shape = msg_shape(r->op);
	const struct msg_hdr *sent = r->req;
	bool any = len >= sizeof(reply->hdr) && reply->hdr.op == MSG_ERROR && reply->hdr.seq == 0;

	if (len < sizeof(reply->hdr) || (reply->hdr.seq != sent->seq && !any))
		return violation(ctx, r->call, "answers another request");
	if (reply->hdr.op == MSG_ERROR) {
		if (len != sizeof(reply->error) || nfds != 0)
			return violation(ctx, r->call, "has the wrong size");
		return refusal(ctx, r->call, &reply->error);
	}
	if (reply->hdr.op != r->op)
		return violation(ctx, r->call, "answers another request");
	if (len != msg_reply_len(shape, ctx->minor))
		return violation(ctx, r->call, "has the wrong size");
	if (nfds != shape->reply_nfds)
		return violation(ctx, r->call, "has the wrong number of descriptors");
	if (makes_object(r->op) && reply->object.handle == 0)
		return violation(ctx, r->call, "names no object"); /* 0: see context_serves() */
	return 0;
}

_Static_assert(offsetof(struct msg_mr, handle) == offsetof(struct msg_handle, handle) &&
		       offsetof(struct msg_cq, handle) == offsetof(struct msg_handle, handle) &&
		       offsetof(struct msg_srq, handle) == offsetof(struct msg_handle, handle) &&
		       offsetof(struct msg_qp, handle) == offsetof(struct msg_handle, handle) &&
		       offsetof(struct msg_listener, handle) == offsetof(struct msg_handle, handle),
	       "handles are in the same place");

static int receive_reply(struct ddp_ctx *ctx, const struct request *r)
{
	union any_reply reply;
	int fds[MSG_MAX_FDS];
	unsigned nfds = 0;
	size_t len;
	int e = conn_recv(ctx->fd, &reply, sizeof(reply), &len, fds, &nfds);

	if (e == CONN_E_CLOSED)
		return reason_daemon_gone(r->call);
	if (e == CONN_E_TRUNCATED)
		return violation(ctx, r->call, "is too long, or has too many descriptors");
	if (e == CONN_E_NO_FDS) { /* another thread took the last descriptor */
		end_connection(ctx);
		return reason_errno(-EMFILE, r->call, "the reply");
	}
	if (e < 0) /* its reply would answer the next request */
		end_connection(ctx);
	if (e)
		return reason_errno(e < 0 ? e : -EAGAIN, r->call, "waiting for the daemon");
	e = check_reply(ctx, r, &reply, len, nfds);
	if (e) {
		for (unsigned i = 0; i < nfds; i++)
			close(fds[i]);
		return e;
	}
	if (r->ret)
		memcpy(r->ret, &reply, len);
	for (unsigned i = 0; i < nfds; i++)
		r->ret_fds[i] = fds[i];
	return 0;
}

/* Fails if this process has no room for the descriptors of the reply: then the daemon creates no
 * object. */
static int check_room(const struct ddp_ctx *ctx, const char *call, unsigned nfds)
{
	int fds[MSG_MAX_FDS], r = 0;
	unsigned n = 0;

	while (n < nfds && r == 0) {
		fds[n] = fcntl(ctx->fd, F_DUPFD_CLOEXEC, 0);
		if (fds[n] < 0)
			r = reason_errno(-errno, call, "descriptors for the reply");
		else
			n++;
	}
	while (n > 0)
		close(fds[--n]);
	return r;
}

#define OBJECT_client false
#define OBJECT_pd true
#define OBJECT_mr true
#define OBJECT_mw true
#define OBJECT_cq true
#define OBJECT_qp true
#define OBJECT_ah true
#define OBJECT_srq true
#define OBJECT_listener true

/* Whether the request begins with the handle of an object. */
static const bool names_object[] = {
#define X(OP, name, object, ...) [MSG_##OP] = OBJECT_##object,
	MSG_OPS(X)
#undef X
};

static int check_object(const struct request *r)
{
	const struct msg_handle *req = r->req;

	return names_object[r->op] ? context_serves(req->handle, r->call) : 0;
}

static int check_request(const struct ddp_ctx *ctx, const struct request *r)
{
	const struct msg_shape *shape = msg_shape(r->op);
	int e = check_object(r);

	if (e)
		return e;
	if (ctx->minor < shape->since)
		return reason_fail(-EOPNOTSUPP, "%s: the daemon is too old for this call", r->call);
	return check_room(ctx, r->call, shape->reply_nfds);
}

/* Checks all, and takes the lock for them. */
static int begin_calls(struct ddp_ctx *ctx, const struct request *r, unsigned n)
{
	unsigned reopened;
	int e = context_here(ctx, r->call);

	if (e)
		return e;
	reopened = context_uses(ctx, &ctx->reopened);
	for (unsigned i = 0; i < n && e == 0; i++)
		e = check_request(ctx, &r[i]);
	if (e)
		return e;
	pthread_mutex_lock(&ctx->calls);
	if (reopened !=
	    context_uses(ctx, &ctx->reopened)) { /* the handles are of the daemon before */
		pthread_mutex_unlock(&ctx->calls);
		return reason_former(r->call);
	}
	return 0;
}

/* Returns as conn_send(), which waits for room, and conn_try_send(). */
static int send_record(struct ddp_ctx *ctx, const struct request *r, bool wait)
{
	const struct msg_shape *shape = msg_shape(r->op);
	struct msg_hdr *hdr = r->req;

	*hdr = (struct msg_hdr){.op = r->op, .seq = ++ctx->seq};
	return (wait ? conn_send : conn_try_send)(ctx->fd, hdr, shape->len, &r->fd, shape->nfds);
}

static int reply_or_failure(struct ddp_ctx *ctx, const struct request *r, int sent)
{
	/* A daemon that closed the connection may have sent the reason. */
	if (sent == 0 || sent == CONN_E_CLOSED)
		return receive_reply(ctx, r);
	return reason_errno(sent < 0 ? sent : -EAGAIN, r->call, "sending to the daemon");
}

/* Never waits for room while a reply is due: daemon and library would wait for each other. */
static int next_result(struct ddp_ctx *ctx, const struct request *r, unsigned left, unsigned *ahead)
{
	int e = *ahead ? 0 : send_record(ctx, r, true);

	if (*ahead == 0)
		*ahead = 1;
	while (e == 0 && *ahead < left && send_record(ctx, &r[*ahead], false) == 0)
		++*ahead;
	--*ahead;
	return reply_or_failure(ctx, r, e);
}

int request_send_list(struct ddp_ctx *ctx, const struct request *r, unsigned n, int *ret)
{
	char reason[REASON_MAX] = "";
	unsigned ahead = 0;
	int first = begin_calls(ctx, r, n);

	if (first) {
		for (unsigned i = 0; i < n; i++)
			ret[i] = first;
		return first;
	}
	for (unsigned i = 0; i < n; i++) {
		ret[i] = next_result(ctx, &r[i], n - i, &ahead);
		if (ret[i] && !first)
			snprintf(reason, sizeof(reason), "%s", ddp_last_reason());
		first = first ? first : ret[i];
	}
	pthread_mutex_unlock(&ctx->calls);
	return first ? reason_fail(first, "%s", reason) : 0;
}

int request_send(struct ddp_ctx *ctx, const struct request *r)
{
	int result;

	return request_send_list(ctx, r, 1, &result);
}
