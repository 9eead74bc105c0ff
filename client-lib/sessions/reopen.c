/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The context at the next daemon. All is made there with a context of its own, and then takes
 * effect at once, so that a failure changes no object.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client-lib/base/deadline.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "client-lib/objects/agent_open.h"

enum {
	TRY_MS = 50,       /* between two attempts to connect */
	ANSWER_MS = 30000, /* for the answer of a daemon that listens */
};

static const char call[] = "ddp_reopen";

/* ---- making; the locks are held ---- */

#define RENEW_ALL(head, type, fn, next)                                                            \
	list_foreach (it, head) {                                                                  \
		int e = fn(list_entry(it, struct type, link), next, call);                         \
                                                                                                   \
		if (e)                                                                             \
			return e;                                                                  \
	}

static int renew_memory(struct ddp_ctx *ctx, struct ddp_ctx *next)
{
	int r = ctx->agent ? agent_prepare(next, call) : 0;

	if (r)
		return r;
	RENEW_ALL(&ctx->pds, ddp_pd, pd_renew, next)
	RENEW_ALL(&ctx->mrs, mr, mr_renew, next)
	RENEW_ALL(&ctx->mws, mw, mw_renew, next)
	return 0;
}

static int renew_listeners(struct ddp_ctx *ctx, struct ddp_ctx *next)
{
	struct ddp_id *id;
	uint32_t pos = 0;
	int r = 0;

	while (r == 0 && (id = idtab_next(&ctx->ids, &pos)))
		if (id->kind == ID_LISTENER)
			r = listen_renew(id, next, call);
	return r;
}

/* The bells of other threads' requests stay at the same address. A failure leaves a page that no
 * daemon reads, as before. */
static int move_page(struct ddp_ctx *ctx, struct ddp_ctx *next)
{
	if (mremap(next->page.map, next->page.map_len, ctx->page.map_len,
		   MREMAP_MAYMOVE | MREMAP_FIXED, ctx->page.map) == MAP_FAILED)
		return reason_errno(-errno, call, "the bell page");
	next->page = (struct memfd_map){0};
	return 0;
}

static int renew(struct ddp_ctx *ctx, struct ddp_ctx *next)
{
	int r = renew_memory(ctx, next);

	if (r == 0)
		r = renew_listeners(ctx, next);
	if (r == 0 && ctx->async_fd >= 0)
		r = request_async_open(next, call, &next->async_fd);
	if (r == 0)
		r = move_page(ctx, next);
	return r == 0 && ctx->agent ? agent_resume(ctx, next, call) : r;
}

/* ---- taking effect; the locks are held ---- */

static int replace_fd(int from, int to)
{
	return from < 0 || dup3(from, to, O_CLOEXEC) >= 0
		       ? 0
		       : reason_errno(-errno, call, "a descriptor");
}

/* The descriptor that tells that the daemon has ended is the last one. */
static int replace_fds(struct ddp_ctx *ctx, const struct ddp_ctx *next)
{
	int r = replace_fd(next->fd, ctx->fd);

	if (r == 0)
		r = replace_fd(next->bell, ctx->bell);
	if (r == 0)
		r = replace_fd(next->async_fd, ctx->async_fd);
	return r ? r : replace_fd(next->event_fd, ctx->event_fd);
}

static void end_qp(struct ddp_ctx *ctx, struct ddp_qp *qp)
{
	if (!qp || !qp->handle)
		return;
	qp_table_del(&ctx->qps, qp);
	qp->handle = 0;
	qp->sq.gone = qp->rq.gone = true;
}

static void take_ids(struct ddp_ctx *ctx)
{
	struct ddp_id *id;
	uint32_t pos = 0;

	while ((id = idtab_next(&ctx->ids, &pos))) {
		if (id->kind == ID_LISTENER)
			id->handle = id->renewed.handle;
		else if (id->kind == ID_REQUEST)
			id->kind = ID_VOID;
		end_qp(ctx, id->qp);
	}
}

static void take_objects(struct ddp_ctx *ctx)
{
	struct ddp_srq *srq;
	uint32_t pos = 0;

	list_foreach (it, &ctx->pds) {
		struct ddp_pd *pd = list_entry(it, struct ddp_pd, link);

		pd->handle = pd->renewed.handle;
	}
	list_foreach (it, &ctx->mrs)
		mr_take_renewed(list_entry(it, struct mr, link));
	list_foreach (it, &ctx->mws)
		mw_take_renewed(list_entry(it, struct mw, link));
	take_ids(ctx);
	while ((srq = idtab_next(&ctx->srqs, &pos))) {
		srq->handle = 0;
		srq->rq.gone = true;
	}
	list_foreach (it, &ctx->ahs)
		list_entry(it, struct ddp_ah, link)->handle = 0;
	list_foreach (it, &ctx->cqs)
		list_entry(it, struct ddp_cq, link)->handle = 0;
}

static int take_over(struct ddp_ctx *ctx, const struct ddp_ctx *next)
{
	int r = replace_fds(ctx, next);

	if (r)
		return r;
	ctx->seq = next->seq;
	ctx->minor = next->minor;
	ctx->poll_us = next->poll_us;
	ctx->reopened++;
	take_objects(ctx);
	return 0;
}

/* ---- the call ---- */

/* Waits for a daemon that answers. */
static int attach(struct ddp_ctx *ctx, uint64_t deadline, struct ddp_ctx **ret)
{
	for (;;) {
		int r = open_context(call, ctx->path, ANSWER_MS, ret);
		bool absent = r == -ENOENT || r == -ECONNREFUSED || r == -EPIPE;

		if (!absent || deadline_left(deadline) == 0)
			return r;
		poll(NULL, 0, TRY_MS);
	}
}

static int check_ended(struct ddp_ctx *ctx)
{
	return context_alive(ctx, call)
		       ? 0
		       : reason_fail(-EISCONN, "%s: the daemon has not ended", call);
}

static int renew_and_take(struct ddp_ctx *ctx, struct ddp_ctx *next)
{
	int r;

	pthread_mutex_lock(&ctx->agent_lock);
	pthread_mutex_lock(&ctx->calls);
	pthread_mutex_lock(&ctx->lock);
	r = check_ended(ctx); /* another thread may have been faster */
	if (r == 0)
		r = renew(ctx, next);
	if (r == 0)
		r = take_over(ctx, next);
	pthread_mutex_unlock(&ctx->lock);
	pthread_mutex_unlock(&ctx->calls);
	pthread_mutex_unlock(&ctx->agent_lock);
	return r;
}

int ddp_reopen(struct ddp_ctx *ctx, int timeout_ms)
{
	uint64_t deadline = deadline_in(timeout_ms);
	struct ddp_ctx *next;
	int r = context_here(ctx, call);

	if (r)
		return r;
	r = check_ended(ctx);
	if (r)
		return r;
	r = attach(ctx, deadline, &next);
	if (r)
		return r;
	r = renew_and_take(ctx, next);
	open_free(next);
	if (r)
		return r;
	pthread_mutex_lock(&ctx->async);
	ctx->gone_reported = false;
	pthread_mutex_unlock(&ctx->async);
	return 0;
}
