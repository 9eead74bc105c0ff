/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/association_memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "daemon/base/state.h"
#include "daemon/net/association_network.h"

static struct assoc_cfg ddp_cfg(struct association *assoc, const struct llp_info *info)
{
	const struct config_session *s = &assoc->worker->daemon->cfg.session;

	return (struct assoc_cfg){
		.streams = info->streams,
		.even = info->even,
		.pending_max = (uint16_t)s->pending_max,
		.records_max = s->records,
		.early_max = (uint32_t)s->early_bytes,
		.early_memory = association_network_early(assoc),
		.answer_ms = s->answer_ms,
		.close_ms = s->close_ms,
		.acks = info->acks,
		.plain_only = s->enhanced != CONFIG_ON,
		.pool = &assoc->worker->pool.blocks,
		.others = &assoc->worker->others,
		.user = assoc,
	};
}

bool association_memory_reserve(struct association *assoc)
{
	uint32_t blocks = assoc_blocks();

	if (assoc->blocks)
		return true;
	if (!blocks_reserve(&assoc->worker->pool.blocks, blocks))
		return false;
	assoc->blocks = blocks;
	return true;
}

/* Most of it is never written to. It is mapped, so that it goes back to the system with the
 * association. */
static int make_ddp(struct association *assoc, const struct assoc_cfg *cfg)
{
	size_t bytes = assoc_size(cfg);
	void *mem;

	if (!association_memory_reserve(assoc))
		return -ENOMEM;
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	if (mem == MAP_FAILED)
		return -ENOMEM;
	madvise(mem, bytes, MADV_NOHUGEPAGE);
	assoc->ddp = assoc_init(mem, cfg);
	assoc->ddp_bytes = bytes;
	return 0;
}

int association_memory_make(struct association *assoc, const struct llp_info *info)
{
	const struct assoc_cfg cfg = ddp_cfg(assoc, info);

	return make_ddp(assoc, &cfg);
}

void association_memory_free(struct association *assoc)
{
	assoc_clear(assoc->ddp);
	if (assoc->ddp)
		munmap(assoc->ddp, assoc->ddp_bytes);
	blocks_unreserve(&assoc->worker->pool.blocks, assoc->blocks);
}
