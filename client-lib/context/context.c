/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>

#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "ipc/doorbell.h"

int context_alive(struct ddp_ctx *ctx, const char *call)
{
	struct pollfd p = {.fd = ctx->event_fd}; /* POLLHUP needs no request */

	return poll(&p, 1, 0) > 0 ? reason_daemon_gone(call) : 0;
}

int context_wake(struct ddp_ctx *ctx, const char *call)
{
	int r = doorbell_ring(ctx->bell);

	return r == -EPIPE ? reason_daemon_gone(call) : 0;
}

void context_use(struct ddp_ctx *ctx, unsigned *uses, int change)
{
	pthread_mutex_lock(&ctx->lock);
	*uses += (unsigned)change;
	pthread_mutex_unlock(&ctx->lock);
}

void context_add(struct ddp_ctx *ctx, unsigned *uses, struct list *all, struct list *link)
{
	pthread_mutex_lock(&ctx->lock);
	++*uses;
	list_add_tail(all, link);
	pthread_mutex_unlock(&ctx->lock);
}

void context_del(struct ddp_ctx *ctx, unsigned *uses, struct list *link)
{
	pthread_mutex_lock(&ctx->lock);
	--*uses;
	list_del(link);
	pthread_mutex_unlock(&ctx->lock);
}

unsigned context_uses(struct ddp_ctx *ctx, const unsigned *uses)
{
	unsigned n;

	pthread_mutex_lock(&ctx->lock);
	n = *uses;
	pthread_mutex_unlock(&ctx->lock);
	return n;
}
