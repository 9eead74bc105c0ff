/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/block_pool.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "util/minmax.h"
#include "util/undumped.h"

#define MIB ((size_t)1 << 20)
#define MOST (65536 * MIB) /* of addresses */

enum {
	TRIM_MS = 1000,
	TRIM_CHUNKS = 1024, /* given back at a time */
};

static void *map_blocks(size_t bytes)
{
	void *mem = undumped_map(bytes, MAP_NORESERVE);

	if (!mem)
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

/* Bytes that the kernel still promises to all processes, if it promises no more than it has. */
static uint64_t commit_left(void)
{
	unsigned long long limit = 0, used = 0;
	char line[128], mode = '0';
	FILE *f = fopen("/proc/sys/vm/overcommit_memory", "re");

	if (f) {
		mode = (char)fgetc(f);
		fclose(f);
	}
	f = mode == '2' ? fopen("/proc/meminfo", "re") : NULL;
	if (!f)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "CommitLimit: %llu", &limit) != 1)
			sscanf(line, "Committed_AS: %llu", &used);
	fclose(f);
	return limit > used ? (limit - used) * 1024 : 0;
}

/* At most a quarter of the addresses that there are: programs' memory needs some, too. */
static size_t most_bytes(void)
{
	struct rlimit l;
	uint64_t most = commit_left();

	if (getrlimit(RLIMIT_AS, &l) == 0 && l.rlim_cur != RLIM_INFINITY)
		most = min_u64(most, l.rlim_cur);
	return (size_t)min_u64(most / 4, MOST);
}

static size_t table_bytes(size_t bytes)
{
	return bytes / BLOCKS_CHUNK * sizeof(struct blocks_chunk);
}

void block_pool_open(struct block_pool *p)
{
	size_t bytes = MOST, most = most_bytes();
	void *mem = NULL, *table = NULL;

	*p = (struct block_pool){0};
	timer_init(&p->trim, trim_chunks);
	while (bytes >= MIB && (bytes > most || !(mem = map_blocks(bytes))))
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
