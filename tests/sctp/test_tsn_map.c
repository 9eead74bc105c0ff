/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the map knows exactly the TSNs that were added, and a SACK says exactly that. */
#include <criterion/criterion.h>
#include <string.h>

#include "sctp/wire/tsn.h"
#include "sctp/receive/tsn_map.h"
#include "tests/sctp/memory.h"

static struct memory memory;
static struct sctp_pool pool;
static const struct sctp_account account = {&pool, NULL};
static struct sctp_tsn_map map;
static uint8_t sack[65536];
static uint32_t sack_len;

static void start(uint32_t initial_tsn)
{
	struct sctp_mem mem = memory_of(&memory);

	sctp_pool_init(&pool, &mem, UINT64_MAX);
	sctp_tsn_map_init(&map, &account, initial_tsn);
}

static void finish(void)
{
	sctp_tsn_map_deinit(&map);
	cr_assert_eq(pool.used, 0);
	sctp_pool_deinit(&pool);
	cr_assert_eq(memory.bytes, 0);
}

static enum sctp_tsn_class arrive(uint32_t tsn)
{
	enum sctp_tsn_class c = sctp_tsn_map_check(&map, tsn);

	if (c == SCTP_TSN_NEW)
		sctp_tsn_map_add(&map, tsn);
	return c;
}

static uint32_t get16(unsigned off)
{
	return (uint32_t)sack[off] << 8 | sack[off + 1];
}

static uint32_t get32(unsigned off)
{
	return get16(off) << 16 | get16(off + 2);
}

static void write_sack(uint32_t space)
{
	struct sctp_writer w = {.p = sack, .size = sizeof(sack)};

	memset(sack, 0xee, sizeof(sack));
	sctp_tsn_map_sack(&map, 4660, &w, space);
	sack_len = w.len;
	cr_assert_leq(sack_len, space);
	for (uint32_t i = sack_len; i < sizeof(sack); i++)
		cr_assert_eq(sack[i], 0xee, "nothing is written after the chunk");
}

static unsigned gaps(void)
{
	return get16(12);
}

static unsigned dups(void)
{
	return get16(14);
}

/* rows: 9260-3.3.4-01 9260-3.3.4-02 9260-3.3.4-03 9260-3.3.4-07 9260-3.3.4-08 9260-3.3.4-14
 * 9260-6.2-21 */
Test(sctp_tsn_map, the_worked_example_of_the_specification)
{
	static const uint8_t want[] = {3, 0, 0, 24, 0, 0, 0, 12, 0, 0, 0x12, 0x34,
				       0, 2, 0, 0,  0, 2, 0, 3,  0, 5, 0,    5};
	static const uint32_t tsn[] = {10, 11, 12, 14, 15, 17};

	start(10);
	for (unsigned i = 0; i < 6; i++)
		cr_assert_eq(arrive(tsn[i]), SCTP_TSN_NEW);
	write_sack(1000);
	cr_assert_eq(sack_len, sizeof(want));
	cr_assert_arr_eq(sack, want, sizeof(want));
	finish();
}

/* rows: 9260-3.3.4-04 9260-1.6-02 */
Test(sctp_tsn_map, before_any_data_the_point_is_the_initial_tsn_less_one)
{
	start(0);
	write_sack(16);
	cr_assert_eq(sack_len, 16);
	cr_assert_eq(get32(4), UINT32_MAX);
	cr_assert_eq(arrive(1), SCTP_TSN_NEW);
	write_sack(20);
	cr_assert_eq(get32(4), UINT32_MAX);
	cr_assert_eq(gaps(), 1);
	cr_assert_eq(get16(16), 2);
	cr_assert_eq(get16(18), 2);
	cr_assert_eq(arrive(0), SCTP_TSN_NEW);
	write_sack(20);
	cr_assert_eq(get32(4), 1);
	cr_assert_eq(gaps(), 0);
	finish();
}

/* rows: 9260-6.2-20 9260-1.6-01 9260-1.6-04 */
Test(sctp_tsn_map, the_point_advances_over_the_wrap)
{
	start(0xfffffffe);
	arrive(0xfffffffe);
	cr_assert_eq(map.cum, 0xfffffffe);
	arrive(1);
	arrive(0);
	cr_assert_eq(map.cum, 0xfffffffe);
	arrive(0xffffffff);
	cr_assert_eq(map.cum, 1);
	cr_assert_not(sctp_tsn_map_gap(&map));
	cr_assert_null(map.bits);
	finish();
}

/* rows: 9260-3.3.4-12 9260-3.3.4-13 9260-6.2-27 */
Test(sctp_tsn_map, duplicates_are_reported_once_per_arrival_in_one_sack)
{
	start(19);
	arrive(19);
	cr_assert_eq(arrive(19), SCTP_TSN_DUP);
	cr_assert_eq(arrive(19), SCTP_TSN_DUP);
	write_sack(100);
	cr_assert_eq(dups(), 2);
	cr_assert_eq(get32(16), 19);
	cr_assert_eq(get32(20), 19);
	write_sack(100);
	cr_assert_eq(dups(), 0);
	cr_assert_eq(arrive(19), SCTP_TSN_DUP);
	write_sack(100);
	cr_assert_eq(dups(), 1);
	finish();
}

Test(sctp_tsn_map, duplicates_above_a_gap_and_more_than_are_kept)
{
	start(1);
	arrive(5);
	for (unsigned i = 0; i < 40; i++)
		cr_assert_eq(arrive(5), SCTP_TSN_DUP);
	write_sack(65535);
	cr_assert_eq(gaps(), 1);
	cr_assert_eq(dups(), SCTP_MAP_DUPS);
	finish();
}

Test(sctp_tsn_map, duplicates_without_space_wait_for_the_next_sack)
{
	start(1);
	arrive(1);
	arrive(3);
	for (uint32_t i = 0; i < 3; i++)
		arrive(1);
	arrive(3);
	write_sack(16 + 4 + 4 + 3);
	cr_assert_eq(sack_len, 24);
	cr_assert_eq(gaps(), 1);
	cr_assert_eq(dups(), 1);
	write_sack(100);
	cr_assert_eq(dups(), 3);
	cr_assert_eq(get32(20), 1);
	cr_assert_eq(get32(24), 1);
	cr_assert_eq(get32(28), 3);
	finish();
}

/* rows: 9260-3.3.4-10 */
Test(sctp_tsn_map, a_tsn_that_16_bits_cannot_express_is_beyond)
{
	start(0xffffff00);
	cr_assert_eq(arrive(map.cum + 65536), SCTP_TSN_BEYOND);
	cr_assert_eq(arrive(map.cum + 0x7fffffff), SCTP_TSN_BEYOND);
	cr_assert_eq(memory.calls, 0, "such a TSN costs no memory");
	cr_assert_eq(arrive(map.cum + 65535), SCTP_TSN_NEW);
	write_sack(1000);
	cr_assert_eq(gaps(), 1);
	cr_assert_eq(get16(16), 65535);
	cr_assert_eq(get16(18), 65535);
	finish();
}

/* rows: 9260-6.2-22 9260-3.3.4-05 9260-3.3.4-06 */
Test(sctp_tsn_map, as_many_blocks_as_fit_and_the_lowest_first)
{
	start(1);
	for (uint32_t i = 2; i < 2000; i += 2)
		arrive(i);
	write_sack(1252);
	cr_assert_eq(sack_len, 1252);
	cr_assert_eq(gaps(), (1252 - 16) / 4);
	for (unsigned i = 0; i < gaps(); i++) {
		cr_assert_eq(get16(16 + 4 * i), 2 + 2 * i);
		cr_assert_eq(get16(18 + 4 * i), 2 + 2 * i);
	}
	finish();
}

Test(sctp_tsn_map, the_longest_sack_has_a_length_of_16_bits)
{
	start(1);
	for (uint32_t i = 2; i < 65535; i += 2)
		arrive(i);
	write_sack(sizeof(sack));
	cr_assert_eq(sack_len, 65532);
	cr_assert_eq(get16(2), 65532);
	cr_assert_eq(gaps(), (65532 - 16) / 4);
	finish();
}

Test(sctp_tsn_map, no_space_for_a_sack)
{
	start(1);
	arrive(1);
	arrive(1);
	write_sack(15);
	cr_assert_eq(sack_len, 0);
	write_sack(19);
	cr_assert_eq(sack_len, 16);
	write_sack(20);
	cr_assert_eq(dups(), 1, "the duplicate was not forgotten");
	finish();
}

Test(sctp_tsn_map, without_memory_only_the_next_tsn_is_taken)
{
	start(1);
	memory.fail_at = 1;
	cr_assert_eq(arrive(2), SCTP_TSN_BEYOND);
	cr_assert_eq(arrive(1), SCTP_TSN_NEW);
	memory.fail_at = 0;
	cr_assert_eq(arrive(3), SCTP_TSN_NEW);
	cr_assert_eq(arrive(2), SCTP_TSN_NEW);
	cr_assert_eq(map.cum, 3);
	finish();
}

Test(sctp_tsn_map, a_bitmap_for_a_tsn_that_was_not_added_goes_back)
{
	start(1);
	cr_assert_eq(sctp_tsn_map_check(&map, 9), SCTP_TSN_NEW);
	cr_assert_eq(pool.used, SCTP_BLOCK);
	write_sack(100);
	cr_assert_eq(gaps(), 0);
	cr_assert_eq(pool.used, 0);
	cr_assert_eq(sctp_tsn_map_check(&map, 9), SCTP_TSN_NEW);
	arrive(1);
	cr_assert_eq(map.cum, 1);
	cr_assert_eq(pool.used, 0);
	finish();
}

/* rows: 9260-6.2-05 9260-6.2-37 */
Test(sctp_tsn_map, a_dropped_tsn_is_not_reported_until_it_comes_again)
{
	start(0xfffffff0);
	arrive(0xfffffff2);
	arrive(0x100);
	arrive(0x101);
	sctp_tsn_map_renege(&map, 0x101);
	sctp_tsn_map_renege(&map, 0x101);
	cr_assert_eq(map.highest, 0x100);
	sctp_tsn_map_renege(&map, 0x100);
	cr_assert_eq(map.highest, 0xfffffff2);
	write_sack(100);
	cr_assert_eq(gaps(), 1);
	cr_assert_eq(arrive(0x100), SCTP_TSN_NEW);
	sctp_tsn_map_renege(&map, 0x100);
	sctp_tsn_map_renege(&map, 0xfffffff2);
	cr_assert_not(sctp_tsn_map_gap(&map));
	sctp_tsn_map_renege(&map, 0xffffffef);
	cr_assert_eq(map.cum, 0xffffffef, "what is cumulatively acknowledged stays");
	arrive(0xfffffff1);
	arrive(0xfffffff0);
	cr_assert_eq(map.cum, 0xfffffff1);
	finish();
}

/* ---- random sequences against a naive model ---- */

enum { MODEL = 1 << 18 };

static bool present[MODEL]; /* by TSN % MODEL: cleared half a turn after the point */
static uint32_t model_cum, model_highest;

static void model_clear_ahead(void)
{
	/* The window and more is clear but for what arrived. */
	present[(model_cum + MODEL / 2) % MODEL] = false;
}

static void model_add(uint32_t tsn)
{
	present[tsn % MODEL] = true;
	if (sctp_tsn_before(model_highest, tsn))
		model_highest = tsn;
	while (present[(model_cum + 1) % MODEL]) {
		model_cum++;
		model_clear_ahead();
	}
}

static void model_renege(uint32_t tsn)
{
	if (sctp_tsn_before(model_cum, tsn))
		present[tsn % MODEL] = false;
	while (model_highest != model_cum && !present[model_highest % MODEL])
		model_highest--;
}

static enum sctp_tsn_class model_check(uint32_t tsn)
{
	uint32_t off = tsn - model_cum;

	if ((int32_t)off <= 0)
		return SCTP_TSN_DUP;
	if (off > SCTP_MAP_WINDOW)
		return SCTP_TSN_BEYOND;
	return present[tsn % MODEL] ? SCTP_TSN_DUP : SCTP_TSN_NEW;
}

/* Every block of the SACK is right, and they are all if they all fit. */
static void compare_sack(uint32_t space)
{
	uint32_t off = 1, end = model_highest - model_cum;

	write_sack(space);
	cr_assert_eq(get32(4), model_cum);
	cr_assert_eq(sack_len, 16 + 4 * (gaps() + dups()));
	for (unsigned i = 0; i < gaps(); i++) {
		for (; off < get16(16 + 4 * i); off++)
			cr_assert_not(present[(model_cum + off) % MODEL]);
		for (; off <= get16(18 + 4 * i); off++)
			cr_assert(present[(model_cum + off) % MODEL]);
		cr_assert_not(off <= end && present[(model_cum + off) % MODEL]);
	}
	if (sack_len + 4 <= space)
		for (; off <= end; off++)
			cr_assert_not(present[(model_cum + off) % MODEL]);
}

/* Mostly near the point, sometimes anywhere in the window or out of it. */
static uint32_t some_tsn(uint64_t *seed)
{
	uint32_t r = next_random(seed), far = next_random(seed);

	switch (r % 16) {
	case 0:
		return model_cum + far % 70000;
	case 1:
		return model_cum - far % 1000;
	case 2:
		return model_highest + 1 + far % 40;
	case 3:
	case 4:
	case 5:
		return model_cum + far % 300;
	default:
		return model_cum + 1;
	}
}

static void random_run(uint32_t initial, uint64_t seed, unsigned steps)
{
	start(initial);
	memset(present, 0, sizeof(present));
	model_cum = model_highest = initial - 1;
	for (unsigned i = 0; i < steps; i++) {
		uint32_t tsn = some_tsn(&seed);
		enum sctp_tsn_class want = model_check(tsn);

		cr_assert_eq(arrive(tsn), want, "step %u", i);
		if (want == SCTP_TSN_NEW)
			model_add(tsn);
		if (next_random(&seed) % 64 == 0) {
			tsn = some_tsn(&seed);
			model_renege(tsn);
			sctp_tsn_map_renege(&map, tsn);
		}
		cr_assert_eq(map.cum, model_cum, "step %u", i);
		cr_assert_eq(map.highest, model_highest, "step %u", i);
		if (next_random(&seed) % 2048 == 0)
			compare_sack(next_random(&seed) % 3000 + 16);
	}
	finish();
}

/* rows: 9260-1.6-01 9260-3.3.4-05 9260-3.3.4-06 9260-6.2-20 9260-6.2-21 9260-6.2-37 */
Test(sctp_tsn_map, random_sequences_over_the_wrap)
{
	random_run(0xffffff00, 1, 600000);
	random_run(0xfffe8000, 2, 400000);
}

Test(sctp_tsn_map, random_sequences_from_many_starts)
{
	for (uint64_t i = 0; i < 100; i++)
		random_run((uint32_t)(i * 0x9e3779b9), i, 2000);
}

/* A window with holes that is filled from the end costs one pass at most. */
Test(sctp_tsn_map, a_full_window_backwards)
{
	start(0xffff8000);
	for (uint32_t off = SCTP_MAP_WINDOW; off > 0; off--)
		cr_assert_eq(arrive(0xffff7fff + off), SCTP_TSN_NEW);
	cr_assert_eq(map.cum, 0xffff7fffU + SCTP_MAP_WINDOW);
	cr_assert_null(map.bits);
	finish();
}
