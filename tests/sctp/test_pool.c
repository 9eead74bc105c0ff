/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: blocks are distinct, bounded and aligned, and the memory of a burst goes back. */
#include <criterion/criterion.h>
#include <string.h>

#include "sctp/memory/pool.h"
#include "tests/sctp/memory.h"

enum { MANY = 200 };

static struct memory memory;
static struct sctp_pool pool;
static const struct sctp_account account = {&pool, NULL};

static void setup(uint64_t limit)
{
	struct sctp_mem mem = memory_of(&memory);

	sctp_pool_init(&pool, &mem, limit);
}

static void get_all(uint8_t **block, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		block[i] = sctp_pool_get(&account);
		cr_assert_not_null(block[i]);
		memset(block[i], (int)i, SCTP_BLOCK);
	}
}

static void put_all(uint8_t **block, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sctp_pool_put(&account, block[i]);
}

Test(sctp_pool, nothing_is_allocated_before_the_first_block)
{
	setup(UINT64_MAX);
	cr_assert_eq(memory.calls, 0);
	sctp_pool_deinit(&pool);
}

Test(sctp_pool, blocks_do_not_overlap_and_are_aligned)
{
	uint8_t *block[MANY];

	setup(UINT64_MAX);
	get_all(block, MANY);
	for (unsigned i = 0; i < MANY; i++) {
		cr_assert_eq((uintptr_t)block[i] % 64, 0);
		for (unsigned k = 0; k < SCTP_BLOCK; k++)
			cr_assert_eq(block[i][k], (uint8_t)i);
	}
	cr_assert_eq(pool.used, (uint64_t)MANY * SCTP_BLOCK);
	cr_assert_eq(pool.held, memory.bytes);
	put_all(block, MANY);
	sctp_pool_deinit(&pool);
	cr_assert_eq(memory.bytes, 0);
}

Test(sctp_pool, memory_of_a_burst_goes_back_but_for_one_slab)
{
	uint8_t *block[MANY];
	uint64_t one_slab;

	setup(UINT64_MAX);
	get_all(block, 1);
	one_slab = pool.held;
	get_all(block + 1, MANY - 1);
	cr_assert_gt(pool.held, 10 * one_slab);
	put_all(block, MANY);
	cr_assert_eq(pool.used, 0);
	cr_assert_gt(pool.held, 10 * one_slab, "the next burst may come soon");
	cr_assert(sctp_pool_trim(&pool), "nothing was free for a whole period");
	cr_assert_gt(pool.held, 10 * one_slab);
	get_all(block, 2 * SCTP_SLAB_BLOCKS);
	put_all(block, 2 * SCTP_SLAB_BLOCKS);
	cr_assert(sctp_pool_trim(&pool));
	cr_assert_eq(pool.held, 2 * one_slab, "two slabs were used since the last call");
	cr_assert_not(sctp_pool_trim(&pool));
	cr_assert_eq(pool.held, one_slab);
	cr_assert_eq(memory.bytes, one_slab);
	get_all(block, SCTP_SLAB_BLOCKS);
	cr_assert_eq(pool.held, one_slab, "the slab that stayed is used");
	sctp_pool_deinit(&pool);
	cr_assert_eq(memory.bytes, 0, "blocks in use are freed as well");
}

Test(sctp_pool, limit_bounds_blocks_and_tables)
{
	void *a, *b, *table;

	setup(2 * SCTP_BLOCK);
	a = sctp_pool_get(&account);
	b = sctp_pool_get(&account);
	cr_assert_not_null(b);
	cr_assert_null(sctp_pool_get(&account));
	cr_assert_null(sctp_pool_table(&account, 1));
	sctp_pool_put(&account, a);
	table = sctp_pool_table(&account, 1);
	cr_assert_not_null(table);
	cr_assert_null(sctp_pool_get(&account));
	sctp_pool_table_free(&account, table, 1);
	a = sctp_pool_get(&account);
	cr_assert_not_null(a);
	sctp_pool_put(&account, a);
	sctp_pool_put(&account, b);
	sctp_pool_put(&account, NULL);
	sctp_pool_table_free(&account, NULL, 1);
	sctp_pool_deinit(&pool);
	cr_assert_eq(memory.bytes, 0);
}

Test(sctp_pool, tables_are_zero)
{
	uint8_t *table;

	setup(UINT64_MAX);
	table = sctp_pool_table(&account, 1000);
	for (unsigned i = 0; i < 1000; i++)
		cr_assert_eq(table[i], 0);
	cr_assert_eq(pool.used, 1000);
	sctp_pool_table_free(&account, table, 1000);
	cr_assert_eq(memory.bytes, 0);
}

Test(sctp_pool, scratch_memory_is_one_and_stays)
{
	uint8_t *p;

	setup(UINT64_MAX);
	p = sctp_pool_scratch(&pool);
	memset(p, 1, SCTP_SCRATCH);
	cr_assert_eq(sctp_pool_scratch(&pool), p);
	cr_assert_eq(memory.calls, 1);
	sctp_pool_deinit(&pool);
	cr_assert_eq(memory.bytes, 0);
}

Test(sctp_pool, survives_failures_of_the_allocator)
{
	for (uint64_t n = 1; n <= 6; n++) {
		uint8_t *block[5 * SCTP_SLAB_BLOCKS];
		unsigned failed = 0;

		memory = (struct memory){.fail_at = n, .once = true};
		setup(UINT64_MAX);
		failed += !sctp_pool_scratch(&pool);
		for (unsigned i = 0; i < 5 * SCTP_SLAB_BLOCKS; i++) {
			block[i] = sctp_pool_get(&account);
			failed += !block[i];
		}
		cr_assert_eq(failed, 1, "call %u", (unsigned)n);
		put_all(block, 5 * SCTP_SLAB_BLOCKS);
		sctp_pool_deinit(&pool);
		cr_assert_eq(memory.bytes, 0);
	}
}

Test(sctp_pool, random_order_of_use)
{
	uint8_t *block[MANY] = {0};
	uint64_t seed = 1;

	setup(UINT64_MAX);
	for (unsigned step = 0; step < 100000; step++) {
		unsigned i = next_random(&seed) % MANY;

		if (block[i]) {
			cr_assert_eq(block[i][0], i);
			cr_assert_eq(block[i][SCTP_BLOCK - 1], i);
			sctp_pool_put(&account, block[i]);
			block[i] = NULL;
		} else {
			block[i] = sctp_pool_get(&account);
			block[i][0] = block[i][SCTP_BLOCK - 1] = (uint8_t)i;
		}
	}
	put_all(block, MANY);
	cr_assert_eq(pool.used, 0);
	sctp_pool_deinit(&pool);
	cr_assert_eq(memory.bytes, 0);
}

/* The network of a peer has a share of the pool, and others find the rest. */
Test(sctp_pool, a_network_has_its_share)
{
	const struct network_limits limits = {.most = {[NETWORK_MEMORY] = NETWORK_NO_LIMIT},
					      .all = {[NETWORK_MEMORY] = 16 * SCTP_BLOCK}};
	static const uint8_t ip[2][16] = {{0x20, 1}, {0x20, 2}};
	struct sctp_account greedy = {&pool, NULL}, other = {&pool, NULL};
	struct network_table t;
	void *block[16];
	unsigned n = 0;

	setup(UINT64_MAX);
	network_table_init(&t, 1, &limits);
	greedy.network = network_hold(&t, ip[0]);
	other.network = network_hold(&t, ip[1]);
	while ((block[n] = sctp_pool_get(&greedy)))
		n++;
	cr_assert_eq(n, 12);
	cr_assert_null(sctp_pool_table(&greedy, 1));
	block[12] = sctp_pool_get(&other);
	cr_assert_not_null(block[12]);
	while (n--)
		sctp_pool_put(&greedy, block[n]);
	sctp_pool_put(&other, block[12]);
	cr_assert_eq(t.used[NETWORK_MEMORY], 0);
	network_table_deinit(&t);
	sctp_pool_deinit(&pool);
}
