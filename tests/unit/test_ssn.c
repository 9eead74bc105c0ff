/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ddp/ssn.h"
#include "tests/lib/test_blocks.h"

static struct test_blocks *pool;

static struct ssn_store *store_for(uint32_t max)
{
	struct ssn_store *s = malloc(sizeof(*s));
	void *mem = calloc(1, ssn_store_size(max));

	cr_assert(s && mem);
	pool = test_blocks_new(ssn_store_blocks(max));
	ssn_store_init(s, &pool->blocks, mem, max);
	return s;
}

static void free_store(struct ssn_store *s)
{
	free(s->bucket);
	free(s);
	test_blocks_free(pool);
}

static struct ssn_rec *add(struct ssn_store *s, uint16_t sid, unsigned ssn)
{
	struct ssn_rec *r = ssn_store_add(s, sid, (uint16_t)ssn);

	cr_assert_not_null(r);
	cr_assert_eq(r->sid, sid);
	cr_assert_eq(r->ssn, (uint16_t)ssn);
	return r;
}

/* The room left in the store, in records. Streams from 0xff00 on are used to count it. */
static uint32_t room(struct ssn_store *s)
{
	uint32_t n = 0;

	while (ssn_store_add(s, (uint16_t)(0xff00 + n / SSN_WINDOW), n % SSN_WINDOW))
		n++;
	for (uint32_t i = 0; i <= n / SSN_WINDOW; i++)
		ssn_store_drop(s, (uint16_t)(0xff00 + i), 0);
	return n;
}

/* ---- serial numbers ---- */

Test(ssn, zero_follows_65535)
{
	cr_expect_eq(ssn_diff(0, 65535), 1);
	cr_expect_eq(ssn_diff(65535, 0), -1);
	cr_expect_eq(ssn_diff(10, 65530), 16);
	cr_expect_eq(ssn_diff(7, 7), 0);
}

Test(ssn, window_is_the_half_of_the_numbers_that_is_ahead)
{
	for (unsigned at = 0; at <= UINT16_MAX; at++) {
		cr_assert_eq(ssn_diff((uint16_t)(at + SSN_WINDOW - 1), (uint16_t)at),
			     SSN_WINDOW - 1);
		cr_assert_lt(ssn_diff((uint16_t)(at + SSN_WINDOW), (uint16_t)at), 0);
	}
}

/* ---- the store ---- */

Test(ssn, record_is_found_by_stream_and_number)
{
	struct ssn_store *s = store_for(8);
	struct ssn_rec *a = add(s, 3, 10), *b = add(s, 4, 10), *c = add(s, 3, 11);

	cr_expect_eq(ssn_store_find(s, 3, 10), a);
	cr_expect_eq(ssn_store_find(s, 4, 10), b);
	cr_expect_eq(ssn_store_find(s, 3, 11), c);
	cr_expect_null(ssn_store_find(s, 4, 11));
	cr_expect_null(ssn_store_find(s, 10, 3));
	cr_expect_eq(room(s), 5);
	free_store(s);
}

Test(ssn, deleted_record_is_found_no_more)
{
	struct ssn_store *s = store_for(8);
	struct ssn_rec *a = add(s, 3, 10);

	add(s, 3, 11);
	ssn_store_del(s, a);
	cr_expect_null(ssn_store_find(s, 3, 10));
	cr_expect_not_null(ssn_store_find(s, 3, 11));
	cr_expect_eq(room(s), 7);
	free_store(s);
}

/* rows: 5043-10-06 */
Test(ssn, store_takes_max_records_and_not_one_more)
{
	static const uint32_t sizes[] = {0, 1, 2, 100, 32768, 32769, 65535};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct ssn_store *s = store_for(sizes[i]);

		for (uint32_t n = 0; n < sizes[i]; n++)
			add(s, (uint16_t)(n >> 14), n & 0x3fff);
		cr_expect_null(ssn_store_add(s, 9, 0));
		for (uint32_t n = 0; n < sizes[i]; n++)
			cr_assert_not_null(
				ssn_store_find(s, (uint16_t)(n >> 14), (uint16_t)(n & 0x3fff)));
		free_store(s);
	}
}

Test(ssn, room_of_a_deleted_record_is_used_again_and_comes_back_clean)
{
	struct ssn_store *s = store_for(2);
	struct ssn_rec *a = add(s, 1, 1), *b;

	add(s, 1, 2);
	memset(&a->ddp, 0xff, sizeof(a->ddp));
	a->len = 99;
	a->func = 4;
	a->hlen = 18;
	a->perr = PERR_MO;
	ssn_store_del(s, a);
	b = add(s, 1, 3);
	cr_expect_eq(b->len, 0);
	cr_expect_eq(b->func, 0);
	cr_expect_eq(b->hlen, 0);
	cr_expect_eq(b->perr, PERR_NONE);
	cr_expect_eq(b->ddp.msn, 0);
	cr_expect_not(b->ddp.tagged);
	cr_expect_null(ssn_store_add(s, 1, 4));
	free_store(s);
}

/* The last two share all buckets with the first two in a store of up to 32768 records. */
static const uint16_t streams[] = {0, 1, 77, 32768, 32769};

enum { STREAMS = sizeof(streams) / sizeof(streams[0]) };

enum { NUMBERS = 1024, STEPS = 40000, MODEL_MAX = 600 };

static uint64_t seed = 5043;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 13) % below;
}

/* Numbers 256 apart, so that they collide in small tables. */
static uint16_t spread(unsigned n)
{
	return (uint16_t)(n * 256 + n / 256);
}

Test(ssn, any_order_of_adding_and_deleting_keeps_each_record_apart)
{
	static struct ssn_rec *model[STREAMS][NUMBERS];
	struct ssn_store *s = store_for(MODEL_MAX);
	uint32_t used = 0;

	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = draw(STREAMS), n = draw(NUMBERS);
		uint16_t sid = streams[i];
		struct ssn_rec **r = &model[i][n];

		cr_assert_eq(ssn_store_find(s, sid, spread(n)), *r);
		if (*r) {
			ssn_store_del(s, *r);
			*r = NULL;
			used--;
		} else if (used < MODEL_MAX) {
			*r = add(s, sid, spread(n));
			(*r)->len = (uint16_t)n;
			used++;
		} else {
			cr_assert_null(ssn_store_add(s, sid, spread(n)));
		}
		if (*r)
			cr_assert_eq((*r)->len, n);
	}
	free_store(s);
}

Test(ssn, store_that_ran_empty_has_its_full_capacity)
{
	struct ssn_store *s = store_for(100);

	for (unsigned round = 0; round < 50; round++) {
		for (unsigned i = 0; i < 100; i++)
			add(s, 2, round * 1000 + i);
		cr_assert_null(ssn_store_add(s, 2, 60000));
		for (unsigned i = 100; i-- > 0;)
			ssn_store_del(s, ssn_store_find(s, 2, (uint16_t)(round * 1000 + i)));
		cr_assert_eq(room(s), 100);
	}
	free_store(s);
}

/* A drop visits all records below the highest one used, so a past burst must not raise that index.
 */
Test(ssn, store_that_ran_empty_uses_its_first_record_again)
{
	struct ssn_store *s = store_for(8);
	struct ssn_rec *a = add(s, 1, 1), *b = add(s, 1, 2);

	ssn_store_del(s, a);
	ssn_store_del(s, b);
	cr_expect_eq(add(s, 1, 3), a);
	cr_expect_eq(add(s, 1, 4), b);
	free_store(s);
}

/*
 * The upper bound of every search: the number of streams. For any numbers in the window and any
 * size of the store, no record of a stream is chained to another of the same stream. The chain is
 * internal; the test reads it because otherwise only the run time would show it.
 */
Test(ssn, numbers_picked_by_a_peer_never_collide_within_their_stream)
{
	static const uint32_t sizes[] = {16, 1000, 32768, 65535};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t step = sizes[i] < SSN_WINDOW ? SSN_WINDOW / sizes[i] : 1;
		struct ssn_store *s = store_for(sizes[i]);
		unsigned n = sizes[i] < SSN_WINDOW ? sizes[i] : SSN_WINDOW;

		for (unsigned k = 0; k < n; k++) {
			struct ssn_rec *r = add(s, 77, 50000 + k * step);

			cr_assert_eq(r->next & UINT16_MAX, 0, "record %u is chained", k);
		}
		free_store(s);
	}
}

/* ---- dropping a stream ---- */

Test(ssn, drop_takes_the_whole_window_of_one_stream_and_nothing_else)
{
	struct ssn_store *s = store_for(64);

	for (unsigned i = 0; i < 10; i++) {
		add(s, 1, 65530 + i);
		add(s, 2, 65530 + i);
	}
	add(s, 1, 65530 + SSN_WINDOW - 1);
	ssn_store_drop(s, 1, 65530);
	cr_expect_eq(room(s), 64 - 10);
	for (unsigned i = 0; i < 10; i++) {
		cr_expect_null(ssn_store_find(s, 1, (uint16_t)(65530 + i)));
		cr_expect_not_null(ssn_store_find(s, 2, (uint16_t)(65530 + i)));
	}
	cr_expect_null(ssn_store_find(s, 1, (uint16_t)(65530 + SSN_WINDOW - 1)));
	free_store(s);
}

Test(ssn, drop_on_an_empty_store_or_of_an_unknown_stream_does_nothing)
{
	struct ssn_store *s = store_for(4);

	ssn_store_drop(s, 1, 0);
	cr_expect_eq(room(s), 4);
	add(s, 2, 5);
	ssn_store_drop(s, 1, 0);
	cr_expect_eq(room(s), 3);
	cr_expect_not_null(ssn_store_find(s, 2, 5));
	free_store(s);
}

Test(ssn, dropped_room_is_used_again)
{
	struct ssn_store *s = store_for(100);

	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 100; i++)
			add(s, (uint16_t)(i & 1), round * 100 + i);
		ssn_store_drop(s, (uint16_t)(round & 1), (uint16_t)(round * 100));
		cr_assert_gt(room(s), 0);
		ssn_store_drop(s, 0, 0);
		ssn_store_drop(s, 1, 0);
		cr_assert_eq(room(s), 100);
	}
	free_store(s);
}

/* ---- memory ---- */

/* rows: 5043-10-06 */
Test(ssn, memory_that_no_record_needs_is_never_touched)
{
	struct ssn_store *s = store_for(65535);

	/* 60000 messages, two of them ahead at any time: blocks of buckets, one of records. */
	for (unsigned i = 0; i < 60000; i++) {
		struct ssn_rec *r = ssn_store_find(s, 1, (uint16_t)(i - 2));

		add(s, 1, i);
		if (r)
			ssn_store_del(s, r);
	}
	cr_expect_leq(pool->blocks.used, 65536 * sizeof(uint16_t) / BLOCKS_SIZE + 1);
	free_store(s);
}

Test(ssn, an_empty_store_holds_no_blocks)
{
	struct ssn_store *s = store_for(200);

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 200; i++)
			add(s, (uint16_t)(i % 3), i * 300);
		cr_expect_gt(pool->blocks.used, 200 / 16);
		cr_expect_leq(pool->blocks.used, ssn_store_blocks(200));
		for (unsigned i = 0; i < 200; i++)
			ssn_store_del(s, ssn_store_find(s, (uint16_t)(i % 3), (uint16_t)(i * 300)));
		cr_expect_eq(pool->blocks.used, 0);
	}
	free_store(s);
}

/* The pool has one block for buckets and one for records. */
Test(ssn, a_store_that_gets_no_block_is_full_and_goes_on)
{
	struct ssn_store *s = store_for(200);
	uint64_t others = pool->blocks.chunks * BLOCKS_OF_CHUNK - 2;
	uint32_t n = 0;

	cr_assert(blocks_reserve(&pool->blocks, others));
	for (unsigned round = 0; round < 2; round++) {
		for (n = 0; ssn_store_add(s, 1, (uint16_t)n); n++)
			;
		cr_expect_gt(n, 0);
		cr_expect_lt(n, 200);
		cr_expect_null(ssn_store_add(s, 1, 30000), "nor a block of other buckets");
		cr_expect_eq(pool->blocks.used, 2);
		ssn_store_drop(s, 1, 0);
		cr_expect_eq(pool->blocks.used, 0);
	}
	cr_assert(blocks_reserve(&pool->blocks, 1));
	cr_expect_null(ssn_store_add(s, 1, 0), "a block for the record alone is not enough");
	cr_expect_eq(pool->blocks.used, 0, "and is given back");
	cr_expect_eq(pool->blocks.reserved, others + 1);
	free_store(s);
}
