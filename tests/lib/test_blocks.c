/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/test_blocks.h"

#include <stdlib.h>
#include <sys/mman.h>

struct test_blocks *test_blocks_new(uint32_t n)
{
	uint32_t chunks = (n + BLOCKS_OF_CHUNK - 1) / BLOCKS_OF_CHUNK;
	struct test_blocks *p = malloc(sizeof(*p));
	void *mem = mmap(NULL, (size_t)chunks * BLOCKS_CHUNK, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct blocks_chunk *chunk = calloc(chunks, sizeof(*chunk));

	if (!p || mem == MAP_FAILED || !chunk)
		abort();
	blocks_init(&p->blocks, mem, chunk, chunks);
	return p;
}

void test_blocks_free(struct test_blocks *p)
{
	munmap(p->blocks.mem, (size_t)p->blocks.chunks * BLOCKS_CHUNK);
	free(p->blocks.chunk);
	free(p);
}
