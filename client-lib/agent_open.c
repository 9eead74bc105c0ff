/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/agent_open.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "client-lib/agent.h"
#include "client-lib/ddp_impl.h"
#include "client-lib/reason.h"
#include "ipc/agent.h"

/* Starts the thread with what the daemon made. */
static int start(struct ddp_ctx *ctx, const char *call, const struct msg_agent *m, const int fds[2])
{
	struct ring_map *map;
	uint8_t *area;
	int r;

	if (m->bytes < sizeof(struct agent_area))
		return reason_fail(-EPROTO, "%s: the daemon made an agent of %llu bytes", call,
				   (unsigned long long)m->bytes);
	r = ring_map_get(&ctx->maps, call, fds[0], m->offset, m->bytes, &map, &area);
	if (r)
		return r;
	r = agent_start(ctx, map, area, fds[1]);
	if (r) {
		ring_map_put(&ctx->maps, map);
		return reason_errno(r, call, "a thread to copy the memory");
	}
	return 0;
}

static int open_agent(struct ddp_ctx *ctx, const char *call)
{
	struct msg_hdr req = {.op = MSG_OPEN_AGENT};
	struct msg_agent reply;
	int fds[2];
	int r = context_call(ctx, &(struct call){
					  .name = call,
					  .rec = &req,
					  .len = sizeof(req),
					  .reply = &reply.hdr,
					  .reply_len = sizeof(reply),
					  .ret_fds = fds,
					  .nfds = 2,
				  });

	if (r)
		return r;
	r = start(ctx, call, &reply, fds);
	close(fds[0]);
	if (r)
		close(fds[1]);
	return r;
}

int agent_open(struct ddp_ctx *ctx, const char *call)
{
	int r;

	pthread_mutex_lock(&ctx->agent_lock);
	r = ctx->agent ? 0 : open_agent(ctx, call);
	pthread_mutex_unlock(&ctx->agent_lock);
	return r;
}
