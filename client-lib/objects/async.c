/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events. The daemon keeps them with its objects; its bell says that there are some.
 */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "client-lib/base/deadline.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "ipc/doorbell.h"

_Static_assert((int)DDP_ASYNC_QP_FATAL == MSG_ASYNC_QP_FATAL &&
		       (int)DDP_ASYNC_CQ_OVERRUN == MSG_ASYNC_CQ_OVERRUN &&
		       (int)DDP_ASYNC_SRQ_LIMIT == MSG_ASYNC_SRQ_LIMIT &&
		       (int)DDP_ASYNC_PORT_DOWN == MSG_ASYNC_PORT_DOWN &&
		       (int)DDP_ASYNC_PORT_UP == MSG_ASYNC_PORT_UP,
	       "events keep their numbers");

#define CLAIMED UINT_MAX /* count of events of an object that is being destroyed */

/* ---- the bell ---- */

static int ask_for_bell(struct ddp_ctx *ctx, const char *call)
{
	int fd;
	int r = request_async_open(ctx, call, &fd);

	if (r)
		return r;
	pthread_mutex_lock(&ctx->lock);
	ctx->async_fd = fd;
	pthread_mutex_unlock(&ctx->lock);
	return 0;
}

/* The descriptor of the bell, which the first call asks for; or a negative errno value. */
static int bell(struct ddp_ctx *ctx, const char *call)
{
	int r = context_here(ctx, call);

	if (r)
		return r;
	pthread_mutex_lock(&ctx->async);
	if (ctx->async_fd < 0)
		r = ask_for_bell(ctx, call);
	pthread_mutex_unlock(&ctx->async);
	return r ? r : ctx->async_fd;
}

int ddp_async_fd(struct ddp_ctx *ctx)
{
	return bell(ctx, "ddp_async_fd");
}

/* ---- the objects ---- */

static struct ddp_qp *find_qp(struct ddp_ctx *ctx, uint32_t handle)
{
	const struct ddp_id *id;
	uint32_t pos = 0;

	while ((id = idtab_next(&ctx->ids, &pos)))
		if (id->qp && id->qp->handle == handle)
			return id->qp;
	return NULL;
}

static struct ddp_cq *find_cq(const struct ddp_ctx *ctx, uint32_t handle)
{
	list_foreach (it, &ctx->cqs) {
		struct ddp_cq *cq = list_entry(it, struct ddp_cq, link);

		if (cq->handle == handle)
			return cq;
	}
	return NULL;
}

static struct ddp_srq *find_srq(struct ddp_ctx *ctx, uint32_t handle)
{
	struct ddp_srq *srq;
	uint32_t pos = 0;

	while ((srq = idtab_next(&ctx->srqs, &pos)))
		if (srq->handle == handle)
			return srq;
	return NULL;
}

/* The count of events that the object of the event holds; NULL: it has none. */
static unsigned *held(const struct ddp_async_event *ev)
{
	if (ev->qp)
		return &ev->qp->events;
	if (ev->cq)
		return &ev->cq->events;
	return ev->srq ? &ev->srq->events : NULL;
}

/* Names the object, if it has not been destroyed meanwhile. The lock is held. */
static void name_object(struct ddp_ctx *ctx, const struct msg_async *m, struct ddp_async_event *ev)
{
	switch (m->type) {
	case MSG_ASYNC_QP_FATAL:
		ev->qp = find_qp(ctx, m->handle);
		break;
	case MSG_ASYNC_CQ_OVERRUN:
		ev->cq = find_cq(ctx, m->handle);
		break;
	case MSG_ASYNC_SRQ_LIMIT:
		ev->srq = find_srq(ctx, m->handle);
		break;
	default:
		break;
	}
}

/* The event holds its object from now on. False if that is gone, or about to be. */
static bool hold(struct ddp_ctx *ctx, const struct msg_async *m, struct ddp_async_event *ev)
{
	unsigned *n;
	bool ok;

	pthread_mutex_lock(&ctx->lock);
	name_object(ctx, m, ev);
	n = held(ev);
	ok = n ? *n != CLAIMED : m->type >= MSG_ASYNC_PORT_DOWN;
	if (ok && n)
		++*n;
	pthread_mutex_unlock(&ctx->lock);
	return ok;
}

int async_claim(struct ddp_ctx *ctx, const char *call, unsigned *events)
{
	unsigned n;

	pthread_mutex_lock(&ctx->lock);
	n = *events;
	if (n == 0)
		*events = CLAIMED;
	pthread_mutex_unlock(&ctx->lock);
	if (n)
		return reason_fail(-EBUSY,
				   "%s: %u asynchronous events are not acknowledged: call "
				   "ddp_ack_async_event() for each, then try again",
				   call, n);
	return 0;
}

void async_unclaim(struct ddp_ctx *ctx, unsigned *events)
{
	pthread_mutex_lock(&ctx->lock);
	*events = 0;
	pthread_mutex_unlock(&ctx->lock);
}

/* ---- taking ---- */

/* The daemon is gone, which is an event, once. */
static int report_gone(struct ddp_ctx *ctx, struct ddp_async_event *ret)
{
	if (ctx->gone_reported)
		return reason_daemon_gone("ddp_get_async_event");
	ctx->gone_reported = true;
	*ret = (struct ddp_async_event){.type = DDP_ASYNC_DEVICE_GONE};
	return 0;
}

static int deliver_async(struct ddp_ctx *ctx, const struct msg_async *m,
			 struct ddp_async_event *ret)
{
	struct ddp_async_event ev = {
		.type = (enum ddp_async_type)m->type,
		.err = -m->err,
		.term = m->term,
	};

	if (m->type == MSG_ASYNC_NONE)
		return -EAGAIN;
	if (m->type > MSG_ASYNC_PORT_UP || m->err < 0 || m->err > 4095)
		return reason_fail(-EPROTO,
				   "ddp_get_async_event: the daemon's event has values out of "
				   "range");
	if (!hold(ctx, m, &ev))
		return -EAGAIN;
	*ret = ev;
	return 0;
}

/* Reads the rings before it takes an event: the daemon rings again if there are more. The bell of a
 * daemon that ends may be the last descriptor that is closed, when nobody looks at it any more. */
static int take_async(struct ddp_ctx *ctx, struct ddp_async_event *ret)
{
	const char *call = "ddp_get_async_event";
	struct msg_async m;
	int r = doorbell_drain(ctx->async_fd);

	if (r == 0)
		r = context_alive(ctx, call) == 0 ? -EAGAIN : -EPIPE;
	else if (r > 0)
		r = request_async_take(ctx, call, &m);
	if (r == -EPIPE)
		return report_gone(ctx, ret);
	return r < 0 ? r : deliver_async(ctx, &m, ret);
}

int ddp_get_async_event(struct ddp_ctx *ctx, struct ddp_async_event *ret, int timeout_ms)
{
	uint64_t deadline = deadline_in(timeout_ms);
	int fd = bell(ctx, "ddp_get_async_event");
	int r;

	if (fd < 0)
		return fd;
	do {
		pthread_mutex_lock(&ctx->async);
		r = take_async(ctx, ret);
		pthread_mutex_unlock(&ctx->async);
	} while (r == -EAGAIN && (r = deadline_poll(fd, deadline, "ddp_get_async_event")) == 0);
	return r;
}

static struct ddp_ctx *context_of(const struct ddp_async_event *ev)
{
	if (ev->qp)
		return ev->qp->sq.ctx;
	if (ev->cq)
		return ev->cq->ctx;
	return ev->srq ? ev->srq->pd->ctx : NULL;
}

void ddp_ack_async_event(const struct ddp_async_event *ev)
{
	struct ddp_ctx *ctx = context_of(ev);

	if (ctx && *ctx->here)
		context_use(ctx, held(ev), -1);
}
