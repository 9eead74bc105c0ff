/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/objects/agent_open.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "client-lib/base/reason.h"
#include "client-lib/context/agent.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "ipc/agent.h"

/* The daemon makes the memory once. It is kept for another attempt if the thread cannot start. */
static int get_memory(struct ddp_ctx *ctx, const char *call)
{
	struct agent_memory *m = &ctx->agent_memory;
	int fds[2];
	int r;

	if (m->kept)
		return 0;
	r = request_open_agent(ctx, call, &m->at, fds);
	if (r)
		return r;
	m->area = fds[0];
	m->bell = fds[1];
	m->kept = true;
	return 0;
}

static int map_area(struct ddp_ctx *ctx, const char *call, const struct agent_memory *m,
		    struct ring_map **ret, uint8_t **ret_area)
{
	if (m->at.bytes < sizeof(struct agent_area))
		return reason_fail(-EPROTO, "%s: the daemon made an agent of %llu bytes", call,
				   (unsigned long long)m->at.bytes);
	return ring_map_get(&ctx->maps, call, m->area, m->at.offset, m->at.bytes, ret, ret_area);
}

/* The thread goes on with the memory that a daemon made, or begins with it. */
static int run_with_memory(struct ddp_ctx *ctx, struct agent_memory *m, const char *call)
{
	struct ring_map *map;
	uint8_t *area;
	int r = map_area(ctx, call, m, &map, &area);

	if (r)
		return r;
	r = ctx->agent ? agent_restart(ctx->agent, map, area, m->bell)
		       : agent_start(ctx, map, area, m->bell);
	if (r) {
		ring_map_put(&ctx->maps, map);
		return reason_thread(r, call, "a thread to copy the memory");
	}
	close(m->area);
	m->kept = false;
	return 0;
}

static int open_agent(struct ddp_ctx *ctx, const char *call)
{
	int r = get_memory(ctx, call);

	return r ? r : run_with_memory(ctx, &ctx->agent_memory, call);
}

int agent_prepare(struct ddp_ctx *next, const char *call)
{
	return get_memory(next, call);
}

int agent_resume(struct ddp_ctx *ctx, struct ddp_ctx *next, const char *call)
{
	return run_with_memory(ctx, &next->agent_memory, call);
}

int agent_open(struct ddp_ctx *ctx, const char *call)
{
	int r;

	pthread_mutex_lock(&ctx->agent_lock);
	r = ctx->agent ? 0 : open_agent(ctx, call);
	pthread_mutex_unlock(&ctx->agent_lock);
	return r;
}
