/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "client-lib/base/attr.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "ipc/wqe.h"
#include "util/checked.h"
#include "util/cleanup.h"

enum { ALL_AT_ONCE = 4096 /* entries of a queue whose ring has all of them from the beginning */ };

static void init_locks(struct ddp_cq *cq)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&cq->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&cq->turn, &attr);
	pthread_condattr_destroy(&attr);
}

/* Frees the CQ's resources in this process. */
static void free_cq(struct ddp_cq *cq)
{
	ring_map_put(&cq->ctx->maps, cq->map);
	cleanup_close(&cq->bell);
	pthread_cond_destroy(&cq->turn);
	pthread_mutex_destroy(&cq->lock);
	free(cq);
}

/* Maps the ring that the daemon made, instead of the one before. */
static int attach_ring(struct ddp_cq *cq, const char *call, const struct msg_cq *reply, int memfd)
{
	struct ring_map *map;
	uint8_t *addr;
	int r;

	if (!checked_pow2(reply->entries) || reply->entries > RING_MAX_COMPLETIONS ||
	    ring_bytes(reply->entries, sizeof(struct wqe_cqe)) > reply->bytes)
		return reason_fail(-EPROTO, "%s: the daemon made %u entries in %llu bytes", call,
				   reply->entries, (unsigned long long)reply->bytes);
	r = ring_map_get(&cq->ctx->maps, call, memfd, reply->offset, reply->bytes, &map, &addr);
	if (r)
		return r;
	ring_map_put(&cq->ctx->maps, cq->map);
	cq->map = map;
	ring_init(&cq->ring, addr, reply->entries, sizeof(struct wqe_cqe));
	return 0;
}

/* The entries of its ring. A large queue has room for the work of its users, twice, for completions
 * may wait while new work begins. Then work finds room as if the ring had all entries. */
static uint32_t ring_entries(const struct ddp_cq *cq)
{
	const uint64_t wanted = (uint64_t)cq->wanted * 2;

	if (cq->entries <= ALL_AT_ONCE || wanted >= cq->entries ||
	    cq->ctx->minor < IPC_MINOR_OPTIONS)
		return cq->entries;
	return wanted <= ALL_AT_ONCE ? ALL_AT_ONCE : ddp_pow2((uint32_t)wanted);
}

/* The daemon checks the size of the ring, which may be smaller. */
static int check_entries(struct ddp_ctx *ctx, const char *call, uint32_t entries)
{
	struct msg_caps caps = {.max_cqe = 0};
	uint32_t max = RING_MAX_COMPLETIONS;
	int r = 0;

	if (entries > ALL_AT_ONCE && entries <= max) {
		r = request_query(ctx, call, &caps);
		max = caps.max_cqe;
	}
	if (r == 0 && (entries == 0 || entries > max))
		r = reason_fail(-EINVAL, "%s: %u entries: expected 1 to %u (limits.cqe)", call,
				entries, max);
	return r;
}

static int create_cq(struct ddp_cq *cq, uint32_t entries)
{
	struct msg_create_cq req = {.entries = entries};
	struct msg_cq reply = {.offset = 0};
	int fds[2];
	int r = request_create_cq(cq->ctx, "ddp_create_cq", &req, &reply, fds);

	if (r)
		return r;
	cq->handle = reply.handle;
	cq->bell = fds[1];
	r = attach_ring(cq, "ddp_create_cq", &reply, fds[0]);
	close(fds[0]);
	if (r)
		request_destroy_cq(cq->ctx, "ddp_create_cq", cq->handle);
	return r;
}

/* Microseconds to spin before sleeping. On one CPU, spinning would only delay the daemon. */
static uint32_t spin(const struct ddp_ctx *ctx, int32_t wanted)
{
	if (ctx->one_cpu)
		return 0;
	return wanted < 0 ? ctx->poll_us : (uint32_t)wanted;
}

int ddp_create_cq(struct ddp_ctx *ctx, const struct ddp_cq_attr *attr, struct ddp_cq **ret)
{
	struct ddp_cq_attr a;
	struct ddp_cq *cq;
	int r = attr_read("ddp_create_cq", &a, sizeof(a), attr);

	if (r)
		return r;
	r = check_entries(ctx, "ddp_create_cq", a.entries);
	if (r)
		return r;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return reason_fail(-ENOMEM, "ddp_create_cq: out of memory");
	cq->ctx = ctx;
	cq->bell = -1;
	cq->spin_always = a.spin_us >= 0;
	cq->keep_events = a.keep_events;
	spin_init(&cq->spin, spin(ctx, a.spin_us));
	list_init(&cq->users);
	init_locks(cq);
	cq->entries = ddp_pow2(a.entries);
	r = create_cq(cq, ring_entries(cq));
	if (r) {
		free_cq(cq);
		return r;
	}
	pthread_mutex_lock(&ctx->lock);
	ctx->uses++;
	list_add_tail(&ctx->cqs, &cq->link);
	pthread_mutex_unlock(&ctx->lock);
	*ret = cq;
	return 0;
}

/* The lock is held, so no thread reads the ring until it is replaced. */
static int replace_ring(struct ddp_cq *cq, const char *call, uint32_t entries)
{
	struct msg_resize_cq req = {.cq = cq->handle, .entries = entries};
	struct msg_cq reply;
	int memfd;
	int r = request_resize_cq(cq->ctx, call, &req, &reply, &memfd);

	if (r)
		return r;
	r = attach_ring(cq, call, &reply, memfd);
	close(memfd);
	if (r)
		cq->broken = true; /* the daemon does not write to the old ring any more */
	return r;
}

/* The ring shrinks only with the queue. */
static int resize(struct ddp_cq *cq, uint32_t entries)
{
	const uint32_t before = cq->entries;
	uint32_t size;
	int r;

	cq->entries = entries;
	size = ring_entries(cq);
	if (size < cq->ring.size)
		size = entries < cq->ring.size ? entries : cq->ring.size;
	r = size == cq->ring.size ? 0 : replace_ring(cq, "ddp_resize_cq", size);
	if (r)
		cq->entries = before;
	return r;
}

int ddp_resize_cq(struct ddp_cq *cq, uint32_t entries)
{
	int r = context_here(cq->ctx, "ddp_resize_cq");

	if (r == 0)
		r = check_entries(cq->ctx, "ddp_resize_cq", entries);
	if (r)
		return r;
	pthread_mutex_lock(&cq->lock);
	r = resize(cq, ddp_pow2(entries));
	pthread_mutex_unlock(&cq->lock);
	return r;
}

int cq_make_room(struct ddp_cq *cq, const char *call, struct cq_user *user, uint32_t entries)
{
	int r = 0;

	pthread_mutex_lock(&cq->lock);
	cq->wanted += entries;
	if (ring_entries(cq) > cq->ring.size)
		r = replace_ring(cq, call, ring_entries(cq));
	if (r)
		cq->wanted -= entries;
	else
		user->entries = entries;
	pthread_mutex_unlock(&cq->lock);
	return r;
}

void cq_give_room(struct ddp_cq *cq, struct cq_user *user)
{
	pthread_mutex_lock(&cq->lock);
	cq->wanted -= user->entries;
	user->entries = 0;
	pthread_mutex_unlock(&cq->lock);
}

int ddp_destroy_cq(struct ddp_cq *cq)
{
	struct ddp_ctx *ctx;
	int r;

	if (!cq)
		return 0;
	ctx = cq->ctx;
	r = context_here(ctx, "ddp_destroy_cq");
	if (r)
		return r;
	if (context_uses(ctx, &cq->uses))
		return reason_fail(-EBUSY, "ddp_destroy_cq: QPs or MRs use the queue");
	r = async_claim(ctx, "ddp_destroy_cq", &cq->events);
	if (r)
		return r;
	r = request_released(request_destroy_cq(ctx, "ddp_destroy_cq", cq->handle));
	if (r) {
		async_unclaim(ctx, &cq->events);
		return r;
	}
	pthread_mutex_lock(&ctx->lock);
	ctx->uses--;
	list_del(&cq->link);
	pthread_mutex_unlock(&ctx->lock);
	free_cq(cq);
	return 0;
}

void cq_add_user(struct ddp_cq *cq, struct cq_user *user, uint32_t slot)
{
	user->slot = slot;
	pthread_mutex_lock(&cq->lock);
	list_add_tail(&cq->users, &user->link);
	pthread_mutex_unlock(&cq->lock);
	context_use(cq->ctx, &cq->uses, 1);
}

void cq_del_user(struct ddp_cq *cq, struct cq_user *user)
{
	pthread_mutex_lock(&cq->lock);
	list_del(&user->link);
	cq->wanted -= user->entries;
	pthread_mutex_unlock(&cq->lock);
	context_use(cq->ctx, &cq->uses, -1);
}

int ddp_query_cq(struct ddp_cq *cq, struct ddp_cq_state *state)
{
	struct msg_cq_state m;
	struct ddp_cq_state s = {0};
	int r = attr_check("ddp_query_cq", state);

	if (r == 0)
		r = request_query_cq(cq->ctx, "ddp_query_cq", cq->handle, &m);
	if (r)
		return r;
	s.entries = cq->entries > ALL_AT_ONCE ? cq->entries : m.entries;
	s.waiting = m.waiting;
	s.reserved = m.reserved;
	s.qps = m.qps;
	s.completions = m.completions;
	attr_write(state, &s, sizeof(s));
	return 0;
}

int ddp_cq_fd(struct ddp_cq *cq)
{
	int r = context_here(cq->ctx, "ddp_cq_fd");

	return r ? r : cq->bell;
}
