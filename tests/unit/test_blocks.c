/* SPDX-License-Identifier: BSD-2-Clause */
/* What is reserved can always be taken, no two blocks overlap, and memory goes back after its use.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "util/blocks.h"

enum { CHUNKS = 4, ALL = CHUNKS * BLOCKS_OF_CHUNK };

static struct blocks pool;
static void *memory;
static struct blocks_chunk chunk[CHUNKS];

static void setup(void)
{
	memory = aligned_alloc(BLOCKS_SIZE, (size_t)CHUNKS * BLOCKS_CHUNK);
	cr_assert(memory);
	memset(chunk, 0, sizeof(chunk));
	blocks_init(&pool, memory, chunk, CHUNKS);
}

static void teardown(void)
{
	free(memory);
}

TestSuite(blocks, .init = setup, .fini = teardown);

/* Takes n blocks and marks all of their bytes. */
static void take(uint8_t **ret, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		ret[i] = blocks_get(&pool);
		cr_assert_eq((size_t)(ret[i] - (uint8_t *)memory) % BLOCKS_SIZE, 0);
		memset(ret[i], (int)i, BLOCKS_SIZE);
	}
}

static void expect_marks(uint8_t *const *block, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < BLOCKS_SIZE; k++)
			cr_assert_eq(block[i][k], (uint8_t)i);
}

static unsigned trimmed(void)
{
	unsigned n = 0;

	while (blocks_trim(&pool))
		n++;
	return n;
}

Test(blocks, no_more_is_reserved_than_there_is)
{
	cr_assert(blocks_reserve(&pool, ALL - 1));
	cr_assert_not(blocks_reserve(&pool, 2));
	cr_assert(blocks_reserve(&pool, 1));
	cr_assert_not(blocks_reserve(&pool, 1));
	cr_assert_not(blocks_reserve(&pool, UINT64_MAX));
	blocks_unreserve(&pool, 10);
	cr_assert(blocks_reserve(&pool, 10));
}

Test(blocks, without_memory_nothing_is_reserved)
{
	blocks_init(&pool, NULL, NULL, 0);
	cr_expect_not(blocks_reserve(&pool, 1));
	cr_expect_not(blocks_may_trim(&pool));
}

Test(blocks, all_that_is_reserved_can_be_taken)
{
	uint8_t *block[ALL];

	cr_assert(blocks_reserve(&pool, ALL));
	for (unsigned round = 0; round < 3; round++) {
		take(block, ALL);
		expect_marks(block, ALL);
		for (unsigned i = 0; i < ALL; i++) /* in another order each time */
			blocks_put(&pool, block[i * (2 * round + 1) % ALL]);
	}
	cr_expect_eq(pool.used, 0);
}

Test(blocks, the_block_that_was_used_last_is_used_next)
{
	uint8_t *block[3];

	cr_assert(blocks_reserve(&pool, 3));
	take(block, 3);
	blocks_put(&pool, block[0]);
	blocks_put(&pool, block[1]);
	cr_expect_eq((uint8_t *)blocks_get(&pool), block[1]);
	cr_expect_eq((uint8_t *)blocks_get(&pool), block[0]);
}

Test(blocks, memory_is_trimmed_when_it_was_idle_for_a_round)
{
	uint8_t *block[ALL];

	cr_expect_not(blocks_may_trim(&pool));
	cr_assert(blocks_reserve(&pool, ALL));
	take(block, ALL);
	cr_expect_not(blocks_may_trim(&pool));
	cr_expect_eq(trimmed() + trimmed(), 0);
	for (unsigned i = 0; i < ALL; i++)
		blocks_put(&pool, block[i]);
	cr_expect(blocks_may_trim(&pool));
	cr_expect_eq(trimmed(), 0, "used since the last round");
	cr_expect_eq(trimmed(), CHUNKS);
	cr_expect_not(blocks_may_trim(&pool));
	take(block, ALL);
	expect_marks(block, ALL);
}

Test(blocks, memory_in_use_is_not_trimmed)
{
	uint8_t *block[ALL];

	cr_assert(blocks_reserve(&pool, ALL));
	take(block, ALL);
	for (unsigned i = 0; i < ALL; i++)
		if (i % BLOCKS_OF_CHUNK != 5 || i / BLOCKS_OF_CHUNK == 2)
			blocks_put(&pool, block[i]);
	trimmed();
	cr_expect_eq(trimmed(), 1, "one chunk has no block in use");
	for (unsigned i = 5; i < ALL; i += BLOCKS_OF_CHUNK)
		if (i / BLOCKS_OF_CHUNK != 2)
			for (unsigned k = 0; k < BLOCKS_SIZE; k++)
				cr_assert_eq(block[i][k], (uint8_t)i);
}

/* A few blocks in flight all the time do not spread over the memory of a burst. */
Test(blocks, steady_use_leaves_the_memory_of_a_burst)
{
	uint8_t *block[ALL], *one[2];
	unsigned n = 0;

	cr_assert(blocks_reserve(&pool, ALL));
	take(block, ALL);
	for (unsigned i = 0; i < ALL; i++)
		blocks_put(&pool, block[i]);
	for (unsigned round = 0; round < 4; round++) {
		take(one, 2);
		n += trimmed();
		blocks_put(&pool, one[0]);
		blocks_put(&pool, one[1]);
	}
	cr_expect_eq(n, CHUNKS - 1);
}

/* Random use against a model that knows who has which block. */
Test(blocks, random_use_never_gives_a_block_twice)
{
	uint8_t *block[ALL] = {0};
	unsigned used = 0;

	srand(7);
	cr_assert(blocks_reserve(&pool, ALL));
	for (unsigned step = 0; step < 200000; step++) {
		unsigned i = (unsigned)rand() % ALL;

		if (block[i]) {
			cr_assert_eq(block[i][8], (uint8_t)i);
			cr_assert_eq(block[i][BLOCKS_SIZE - 1], (uint8_t)i);
			blocks_put(&pool, block[i]);
			block[i] = NULL;
			used--;
		} else {
			block[i] = blocks_get(&pool);
			memset(block[i], (int)i, BLOCKS_SIZE);
			used++;
		}
		cr_assert_eq(pool.used, used);
		if (step % 1000 == 0)
			trimmed();
	}
}
