/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/test_blocks.h"

#include <stdlib.h>

struct test_blocks *test_blocks_new(uint32_t n)
{
	uint32_t chunks = (n + BLOCKS_OF_CHUNK - 1) / BLOCKS_OF_CHUNK;
	struct test_blocks *p = malloc(sizeof(*p));
	void *mem = aligned_alloc(BLOCKS_SIZE, (size_t)chunks * BLOCKS_CHUNK);
	struct blocks_chunk *chunk = calloc(chunks, sizeof(*chunk));

	if (!p || !mem || !chunk)
		abort();
	blocks_init(&p->blocks, mem, chunk, chunks);
	return p;
}

void test_blocks_free(struct test_blocks *p)
{
	free(p->blocks.chunk);
	free(p->blocks.mem);
	free(p);
}
