/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/block_pool.h"

#include <sys/mman.h>

#define MIB ((size_t)1 << 20)
#define MOST (65536 * MIB) /* of addresses */

enum {
	TRIM_MS = 1000,
	TRIM_CHUNKS = 1024, /* given back at a time */
};

static void *map_blocks(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		return NULL;
	/* A huge page would be 2 MiB for the first block in it. */
	madvise(mem, bytes, MADV_NOHUGEPAGE);
	return mem;
}

static void trim_chunks(struct timer *t)
{
	struct block_pool *p = list_entry(t, struct block_pool, trim);
	void *mem;

	for (unsigned i = 0; i < TRIM_CHUNKS && (mem = blocks_trim(&p->blocks)); i++)
		madvise(mem, BLOCKS_CHUNK, MADV_DONTNEED);
}

static size_t table_bytes(size_t bytes)
{
	return bytes / BLOCKS_CHUNK * sizeof(struct blocks_chunk);
}

void block_pool_open(struct block_pool *p)
{
	size_t bytes = MOST;
	void *mem = NULL, *table = NULL;

	*p = (struct block_pool){0};
	timer_init(&p->trim, trim_chunks);
	while (bytes >= MIB && !(mem = map_blocks(bytes)))
		bytes /= 2;
	if (mem)
		table = map_blocks(table_bytes(bytes));
	if (table) {
		p->bytes = bytes;
		blocks_init(&p->blocks, mem, table, (uint32_t)(bytes / BLOCKS_CHUNK));
		return;
	}
	if (mem)
		munmap(mem, bytes);
	blocks_init(&p->blocks, NULL, NULL, 0);
}

void block_pool_close(struct block_pool *p)
{
	if (p->bytes == 0)
		return;
	munmap(p->blocks.chunk, table_bytes(p->bytes));
	munmap(p->blocks.mem, p->bytes);
	*p = (struct block_pool){0};
}

void block_pool_check(struct block_pool *p, struct timers *timers, uint64_t now_ms)
{
	if (p->trim.at == UINT64_MAX && blocks_may_trim(&p->blocks))
		timer_set(timers, &p->trim, now_ms + TRIM_MS);
}
