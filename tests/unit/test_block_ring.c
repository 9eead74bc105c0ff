/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring keeps its elements, and holds blocks for these alone. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ddp/block_ring.h"
#include "tests/lib/test_blocks.h"

enum { TABLE = 64 };

static struct test_blocks *memory;
static struct blocks *pool;
static uint8_t *table[TABLE];
static struct block_ring ring;

static void setup(void)
{
	memory = test_blocks_new(TABLE);
	pool = &memory->blocks;
	memset(table, 0, sizeof(table));
}

static void teardown(void)
{
	test_blocks_free(memory);
}

TestSuite(block_ring, .init = setup, .fini = teardown);

static void make(uint32_t depth, uint32_t size)
{
	cr_assert(blocks_reserve(pool, block_ring_blocks(depth, size)));
	block_ring_init(&ring, table, depth, size);
}

static void push(void)
{
	uint32_t pos = ring.tail;
	uint8_t *e = block_ring_push(&ring, pool);

	memset(e, (int)pos, ring.size);
}

static void expect_all(void)
{
	for (uint32_t pos = ring.head; pos != ring.tail; pos++) {
		const uint8_t *e = block_ring_at(&ring, pos);

		for (unsigned k = 0; k < ring.size; k++)
			cr_assert_eq(e[k], (uint8_t)pos);
	}
}

Test(block_ring, an_empty_ring_holds_nothing)
{
	make(128, 100);
	for (unsigned i = 0; i < 1000; i++) {
		push();
		cr_assert_eq(pool->used, 1);
		block_ring_pop(&ring, pool);
		cr_assert_eq(pool->used, 0);
	}
}

Test(block_ring, a_full_ring_holds_what_was_reserved)
{
	static const uint32_t depth[] = {1, 2, 8, 64, 256}, size[] = {4, 40, 104, 296, 600, 1024};

	for (unsigned d = 0; d < 5; d++) {
		for (unsigned s = 0; s < 6; s++) {
			if (block_ring_blocks(depth[d], size[s]) > TABLE)
				continue;
			make(depth[d], size[s]);
			while (!block_ring_full(&ring))
				push();
			cr_expect_eq(block_ring_len(&ring), depth[d]);
			cr_expect_eq(pool->used, block_ring_blocks(depth[d], size[s]));
			expect_all();
			block_ring_clear(&ring, pool);
			cr_expect_eq(pool->used, 0);
			blocks_unreserve(pool, block_ring_blocks(depth[d], size[s]));
		}
	}
}

/* The ring may end in the block that it begins in: that block serves both ends. */
Test(block_ring, a_ring_that_wraps_keeps_the_block_of_both_ends)
{
	make(16, 128);
	for (unsigned i = 0; i < 16; i++)
		push();
	for (unsigned i = 0; i < 3; i++)
		block_ring_pop(&ring, pool);
	push();
	push();
	for (unsigned i = 0; i < 5; i++)
		block_ring_pop(&ring, pool);
	cr_expect_eq(pool->used, 2);
	expect_all();
	for (unsigned i = 0; i < 8; i++)
		block_ring_pop(&ring, pool);
	cr_expect_eq(pool->used, 1);
	expect_all();
}

Test(block_ring, random_use_keeps_every_element)
{
	make(64, 200);
	ring.head = ring.tail = UINT32_MAX - 100; /* positions wrap */
	srand(3);
	for (unsigned step = 0; step < 100000; step++) {
		bool grow = (unsigned)rand() % 1000 < (step / 500 % 2 ? 700U : 300U);

		if (grow && !block_ring_full(&ring))
			push();
		else if (!grow && block_ring_len(&ring) > 0)
			block_ring_pop(&ring, pool);
		if (step % 16 == 0)
			expect_all();
	}
	block_ring_clear(&ring, pool);
	cr_expect_eq(pool->used, 0);
}
