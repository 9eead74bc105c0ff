/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ddp/stag.h"

enum {
	STAG = 0x12345678,
	PD = 7,
	EP = 40,             /* an endpoint's scope */
	NEXT = STAG_KEY + 1, /* from one index to the next */
	SIZE = 4096,
};

#define BASE_TO UINT64_C(0x4000)

static uint8_t memory[SIZE];

static const struct stag_accessor owner = {.pd = PD, .scope = EP};

static struct stag_table *table_for(uint32_t max)
{
	void *mem = calloc(1, stag_table_size(max));

	cr_assert_not_null(mem);
	return stag_table_init(mem, max);
}

static struct stag_region region(uint32_t stag)
{
	return (struct stag_region){
		.stag = stag,
		.rights = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ,
		.pd = PD,
		.to = BASE_TO,
		.len = SIZE,
		.base = memory,
	};
}

/* A table with one region. */
static struct stag_table *table_of(struct stag_region r)
{
	struct stag_table *t = table_for(4);

	cr_assert_eq(stag_add(t, &r), STAG_ADD_OK);
	return t;
}

static int check(const struct stag_table *t, uint64_t to, uint64_t len)
{
	uint8_t *p = NULL;
	int r = stag_check(t, STAG, &owner, STAG_REMOTE_WRITE, to, len, &p);

	cr_expect_eq(p != NULL, r == STAG_E_OK, "the pointer is set on success only");
	return r;
}

/* ---- the table ---- */

Test(stag, empty_table_knows_no_stag)
{
	struct stag_table *t = table_for(8);

	cr_expect_null(stag_find(t, STAG));
	cr_expect_null(stag_find(t, 0));
	cr_expect_not(stag_remove(t, STAG));
	cr_expect_not(stag_remove(t, 0));
	cr_expect_eq(check(t, BASE_TO, 1), STAG_E_INVALID);
	cr_expect_eq(stag_invalidate(t, STAG, &owner), STAG_E_INVALID);
	free(t);
}

Test(stag, added_region_is_a_valid_copy)
{
	struct stag_region r = region(STAG);
	struct stag_table *t = table_of(r);
	const struct stag_region *got = stag_find(t, STAG);

	r.pd = 0;
	cr_assert_not_null(got);
	cr_expect_eq(got->stag, STAG);
	cr_expect_eq(got->pd, PD);
	cr_expect_eq(got->to, BASE_TO);
	cr_expect_eq(got->len, SIZE);
	cr_expect_eq(got->base, memory);
	cr_expect(got->valid);
	free(t);
}

Test(stag, value_in_use_cannot_be_added_again)
{
	struct stag_region r = region(STAG);
	struct stag_table *t = table_of(r);

	r.pd = PD + 1;
	cr_expect_eq(stag_add(t, &r), STAG_ADD_E_TAKEN);
	cr_expect_eq(stag_find(t, STAG)->pd, PD);
	free(t);
}

Test(stag, index_in_use_cannot_be_added_under_another_key)
{
	struct stag_table *t = table_of(region(STAG));

	for (uint32_t key = 0; key <= STAG_KEY; key++) {
		struct stag_region r = region((STAG & ~(uint32_t)STAG_KEY) | key);

		cr_expect_eq(stag_add(t, &r), STAG_ADD_E_TAKEN, "key %#x", key);
	}
	free(t);
}

Test(stag, whole_value_must_match)
{
	struct stag_region r = region(STAG);
	struct stag_table *t;
	uint8_t *p;

	r.scope = EP;
	t = table_of(r);
	for (unsigned bit = 0; bit < 32; bit++) {
		uint32_t other = STAG ^ UINT32_C(1) << bit;

		cr_expect_null(stag_find(t, other), "bit %u", bit);
		cr_expect_eq(stag_check(t, other, &owner, 0, BASE_TO, 1, &p), STAG_E_INVALID);
		cr_expect_eq(stag_invalidate(t, other, &owner), STAG_E_INVALID);
		cr_expect_not(stag_remove(t, other));
	}
	cr_expect_eq(stag_check(t, STAG, &owner, 0, BASE_TO, 1, &p), STAG_E_OK);
	free(t);
}

Test(stag, entry_can_be_found_by_its_index_alone)
{
	struct stag_table *t = table_of(region(STAG));

	for (uint32_t key = 0; key <= STAG_KEY; key++)
		cr_expect_eq(stag_find_any_key(t, (STAG & ~(uint32_t)STAG_KEY) | key),
			     stag_find(t, STAG));
	cr_expect_null(stag_find_any_key(t, STAG + NEXT));
	cr_expect_null(stag_find_any_key(t, 0));
	free(t);
}

Test(stag, index_0_is_like_any_other_but_value_0_is_none)
{
	struct stag_region r = region(0x45);
	struct stag_table *t = table_of(r);
	uint8_t *p;

	cr_expect_not_null(stag_find(t, 0x45));
	cr_expect_null(stag_find(t, 0));
	cr_expect_eq(stag_check(t, 0, &owner, 0, BASE_TO, 1, &p), STAG_E_INVALID);
	cr_expect_eq(stag_check(t, 0x45, &owner, 0, BASE_TO, 1, &p), STAG_E_OK);
	cr_expect_not(stag_remove(t, 0));
	r.stag = 0x46;
	cr_expect_eq(stag_add(t, &r), STAG_ADD_E_TAKEN);
	cr_expect(stag_remove(t, 0x45));
	cr_expect_eq(stag_add(t, &r), STAG_ADD_OK);
	free(t);
}

Test(stag, value_0_cannot_be_added)
{
	struct stag_table *t = table_for(4);
	struct stag_region r = region(0);

	cr_expect_eq(stag_add(t, &r), STAG_ADD_E_TAKEN);
	cr_expect_null(stag_find(t, 0));
	free(t);
}

Test(stag, table_takes_max_regions_and_not_one_more)
{
	for (uint32_t max = 0; max <= 33; max++) {
		struct stag_table *t = table_for(max);
		struct stag_region r = region(NEXT);

		for (; r.stag <= max * NEXT; r.stag += NEXT)
			cr_expect_eq(stag_add(t, &r), STAG_ADD_OK);
		cr_expect_eq(stag_add(t, &r), STAG_ADD_E_FULL);
		for (uint32_t stag = NEXT; stag <= max * NEXT; stag += NEXT)
			cr_expect(stag_remove(t, stag));
		cr_expect_eq(stag_add(t, &r), max ? STAG_ADD_OK : STAG_ADD_E_FULL);
		free(t);
	}
}

Test(stag, table_works_at_any_address_that_malloc_may_return)
{
	for (size_t off = 0; off < 64; off += 16) {
		char *mem = calloc(1, stag_table_size(16) + off);
		struct stag_table *t = stag_table_init(mem + off, 16);
		struct stag_region r = region(NEXT);

		for (; r.stag <= 16 * NEXT; r.stag += NEXT)
			cr_expect_eq(stag_add(t, &r), STAG_ADD_OK);
		free(mem);
	}
}

static uint64_t seed = 20071;

static uint32_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 13);
}

enum { VALUES = 24, MODEL_MAX = 16 };

static void expect_model(const struct stag_table *t, const uint32_t *value, const bool *in)
{
	for (unsigned i = 0; i < VALUES; i++) {
		const struct stag_region *r = stag_find(t, value[i]);

		cr_assert_eq(r != NULL, in[i], "value %#x", value[i]);
		if (r)
			cr_assert_eq(r->pd, i, "value %#x finds the wrong region", value[i]);
	}
}

/* In a table this small nearly every step collides, and runs pass the table's end. */
Test(stag, any_order_of_adding_and_removing_loses_no_region_and_keeps_no_removed_one)
{
	for (unsigned round = 0; round < 200; round++) {
		struct stag_table *t = table_for(MODEL_MAX);
		uint32_t value[VALUES], used = 0;
		bool in[VALUES] = {false};

		for (unsigned i = 0; i < VALUES; i++)
			value[i] = (draw() << 13) | i * NEXT | 1; /* no two indices are alike */
		for (unsigned step = 0; step < 200; step++) {
			unsigned i = draw() % VALUES;
			struct stag_region r = region(value[i]);

			r.pd = i;
			if (in[i]) {
				cr_assert(stag_remove(t, value[i]));
				used--;
			} else if (stag_add(t, &r) == STAG_ADD_OK) {
				used++;
			} else {
				cr_assert_eq(used, MODEL_MAX);
				continue;
			}
			in[i] = !in[i];
			expect_model(t, value, in);
		}
		free(t);
	}
}

enum { CROWD = 600, CROWD_MAX = 1024, CROWD_STEPS = 6000 };

static struct stag_table *crowded;
static uint32_t crowd[CROWD], crowd_used;
static bool crowd_in[CROWD];

static void add_or_remove_one(unsigned i)
{
	struct stag_region r = region(crowd[i]);
	int e;

	r.pd = i;
	if (crowd_in[i]) {
		cr_assert(stag_remove(crowded, crowd[i]));
		crowd_used--;
		crowd_in[i] = false;
		return;
	}
	e = stag_add(crowded, &r);
	if (e == STAG_ADD_E_FULL)
		return;
	cr_assert_eq(e, STAG_ADD_OK);
	cr_assert_neq(stag_add(crowded, &r), STAG_ADD_OK, "%#x is there already", crowd[i]);
	crowd_used++;
	crowd_in[i] = true;
}

static void expect_crowd(void)
{
	cr_assert_eq(stag_table_used(crowded), crowd_used);
	for (unsigned i = 0; i < CROWD; i++) {
		const struct stag_region *r = stag_find(crowded, crowd[i]);

		cr_assert_eq(r != NULL, crowd_in[i], "value %#x", crowd[i]);
		if (r)
			cr_assert_eq(r->pd, i, "value %#x leads to another's region", crowd[i]);
	}
}

/* Grows and shrinks the table at random while regions are added and removed. */
Test(stag, no_region_is_lost_while_the_entries_move_to_other_memory)
{
	void *now = NULL, *old = NULL;
	unsigned moved = 0;

	crowded = table_for(CROWD_MAX);
	for (unsigned i = 0; i < CROWD; i++)
		crowd[i] = (draw() << 20) | i * NEXT | 1;
	for (unsigned step = 0; step < CROWD_STEPS; step++) {
		uint32_t max = crowd_used + draw() % (CROWD_MAX - crowd_used);

		if (!stag_table_moving(crowded) && draw() % 8 == 0) {
			free(old); /* no one reads there any more */
			old = now;
			now = calloc(1, stag_slots_size(max));
			stag_table_resize(crowded, now, max);
			moved++;
		}
		add_or_remove_one(draw() % CROWD);
		expect_crowd();
	}
	cr_expect_gt(moved, 100);
	free(now);
	free(old);
	free(crowded);
}

Test(stag, entries_have_moved_after_few_changes)
{
	struct stag_table *t = table_for(1024);
	void *mem = calloc(1, stag_slots_size(2048));
	struct stag_region r;

	stag_table_resize(t, mem, 2048);
	for (uint32_t i = 1; i <= 1024 / 8 + 1; i++) {
		r = region(i * NEXT);
		cr_assert_eq(stag_add(t, &r), STAG_ADD_OK);
	}
	cr_expect_not(stag_table_moving(t));
	free(mem);
	free(t);
}

/* ---- the check ---- */

Test(stag, access_returns_the_address_of_its_first_byte)
{
	struct stag_table *t = table_of(region(STAG));
	uint8_t *p = NULL;

	cr_expect_eq(stag_check(t, STAG, &owner, 0, BASE_TO, SIZE, &p), STAG_E_OK);
	cr_expect_eq(p, memory);
	cr_expect_eq(stag_check(t, STAG, &owner, 0, BASE_TO + 100, 1, &p), STAG_E_OK);
	cr_expect_eq(p, memory + 100);
	free(t);
}

/* rows: 5041-7.1-12 5041-7.1-13 */
Test(stag, bounds_are_exact_to_the_byte)
{
	struct stag_table *t = table_of(region(STAG));

	cr_expect_eq(check(t, BASE_TO, SIZE), STAG_E_OK);
	cr_expect_eq(check(t, BASE_TO + SIZE - 1, 1), STAG_E_OK);
	cr_expect_eq(check(t, BASE_TO, SIZE + 1), STAG_E_BOUNDS);
	cr_expect_eq(check(t, BASE_TO + 1, SIZE), STAG_E_BOUNDS);
	cr_expect_eq(check(t, BASE_TO + SIZE - 1, 2), STAG_E_BOUNDS);
	cr_expect_eq(check(t, BASE_TO + SIZE, 1), STAG_E_BOUNDS);
	cr_expect_eq(check(t, BASE_TO - 1, 1), STAG_E_BOUNDS);
	cr_expect_eq(check(t, BASE_TO - 1, SIZE), STAG_E_BOUNDS);
	cr_expect_eq(check(t, 0, 1), STAG_E_BOUNDS);
	cr_expect_eq(check(t, 0, UINT64_MAX), STAG_E_BOUNDS);
	free(t);
}

Test(stag, length_0_is_checked_like_any_other)
{
	struct stag_table *t = table_of(region(STAG));

	cr_expect_eq(check(t, BASE_TO, 0), STAG_E_OK);
	cr_expect_eq(check(t, BASE_TO + SIZE, 0), STAG_E_OK);
	cr_expect_eq(check(t, BASE_TO + SIZE + 1, 0), STAG_E_BOUNDS);
	cr_expect_eq(check(t, BASE_TO - 1, 0), STAG_E_BOUNDS);
	cr_expect_eq(check(t, UINT64_MAX, 0), STAG_E_BOUNDS);
	free(t);
}

/* rows: 5041-7.1-14 */
Test(stag, sum_past_2_64_is_a_wrap_not_a_bounds_error)
{
	struct stag_table *t = table_of(region(STAG));

	cr_expect_eq(check(t, UINT64_MAX - 3, 8), STAG_E_WRAP);
	cr_expect_eq(check(t, UINT64_MAX, UINT64_MAX), STAG_E_WRAP);
	cr_expect_eq(check(t, BASE_TO, UINT64_MAX), STAG_E_WRAP);
	cr_expect_eq(check(t, UINT64_MAX - 3, BASE_TO + 8), STAG_E_WRAP);
	free(t);
}

Test(stag, sum_of_exactly_2_64_is_a_wrap)
{
	struct stag_table *t = table_of(region(STAG));

	cr_expect_eq(check(t, UINT64_MAX - 7, 8), STAG_E_WRAP);
	cr_expect_eq(check(t, UINT64_MAX - 8, 8), STAG_E_BOUNDS);
	free(t);
}

Test(stag, region_may_lie_at_the_upper_end_of_the_offsets)
{
	struct stag_region r = region(STAG);
	struct stag_table *t;

	r.to = UINT64_MAX - SIZE;
	t = table_of(r);
	cr_expect_eq(check(t, r.to, SIZE), STAG_E_OK);
	cr_expect_eq(check(t, UINT64_MAX - 1, 1), STAG_E_OK);
	cr_expect_eq(check(t, UINT64_MAX, 1), STAG_E_WRAP);
	cr_expect_eq(check(t, r.to - 1, 1), STAG_E_BOUNDS);
	cr_expect_eq(check(t, 0, 1), STAG_E_BOUNDS);
	free(t);
}

Test(stag, empty_region_has_no_bytes)
{
	struct stag_region r = region(STAG);
	struct stag_table *t;

	r.len = 0;
	t = table_of(r);
	cr_expect_eq(check(t, BASE_TO, 0), STAG_E_OK);
	cr_expect_eq(check(t, BASE_TO, 1), STAG_E_BOUNDS);
	free(t);
}

Test(stag, all_rights_that_are_asked_for_are_needed)
{
	for (uint32_t has = 0; has < 32; has++) {
		struct stag_region r = region(STAG);
		struct stag_table *t;

		r.rights = has;
		t = table_of(r);
		for (uint32_t want = 0; want < 32; want++) {
			uint8_t *p;
			int e = stag_check(t, STAG, &owner, want, BASE_TO, 1, &p);

			cr_expect_eq(e, want & ~has ? STAG_E_RIGHTS : STAG_E_OK);
		}
		free(t);
	}
}

static int check_as(struct stag_region r, uint64_t pd, uint64_t scope)
{
	struct stag_table *t = table_of(r);
	struct stag_accessor accessor = {.pd = pd, .scope = scope};
	uint8_t *p;
	int e = stag_check(t, STAG, &accessor, 0, BASE_TO, 1, &p);

	free(t);
	return e;
}

/* rows: 5041-8.3.1-01 */
Test(stag, region_of_a_domain_serves_all_its_endpoints_and_no_other_domain)
{
	cr_expect_eq(check_as(region(STAG), PD, EP), STAG_E_OK);
	cr_expect_eq(check_as(region(STAG), PD, EP + 1), STAG_E_OK);
	cr_expect_eq(check_as(region(STAG), PD + 1, EP), STAG_E_SCOPE);
	cr_expect_eq(check_as(region(STAG), PD + (UINT64_C(1) << 32), EP), STAG_E_SCOPE);
}

/* rows: 5041-8.3.1-02 */
Test(stag, region_of_an_endpoint_serves_that_endpoint_alone)
{
	struct stag_region r = region(STAG);

	r.scope = EP;
	cr_expect_eq(check_as(r, PD, EP), STAG_E_OK);
	cr_expect_eq(check_as(r, PD, EP + 1), STAG_E_SCOPE);
	cr_expect_eq(check_as(r, PD, 0), STAG_E_SCOPE);
	cr_expect_eq(check_as(r, PD + 1, EP), STAG_E_SCOPE);
	cr_expect_eq(check_as(r, PD, EP + (UINT64_C(1) << 32)), STAG_E_SCOPE);
}

/* Everything is wrong at first; each step corrects the error that the result names. */
Test(stag, first_failing_test_in_the_documented_order_is_the_outcome)
{
	struct stag_region r = region(STAG);
	struct stag_table *t = table_for(4);
	struct stag_accessor accessor = {.pd = PD + 1, .scope = EP};
	uint32_t rights = STAG_REMOTE_ATOMIC;
	uint64_t to = UINT64_MAX;
	uint8_t *p = NULL;

	cr_expect_eq(stag_check(t, STAG, &accessor, rights, to, 8, &p), STAG_E_INVALID);
	stag_add(t, &r);
	cr_expect_eq(stag_check(t, STAG, &accessor, rights, to, 8, &p), STAG_E_SCOPE);
	accessor.pd = PD;
	cr_expect_eq(stag_check(t, STAG, &accessor, rights, to, 8, &p), STAG_E_RIGHTS);
	rights = STAG_REMOTE_READ;
	cr_expect_eq(stag_check(t, STAG, &accessor, rights, to, 8, &p), STAG_E_WRAP);
	to = BASE_TO + SIZE;
	cr_expect_eq(stag_check(t, STAG, &accessor, rights, to, 8, &p), STAG_E_BOUNDS);
	cr_expect_null(p);
	to = BASE_TO;
	cr_expect_eq(stag_check(t, STAG, &accessor, rights, to, 8, &p), STAG_E_OK);
	cr_expect_eq(p, memory);
	free(t);
}

/* ---- the end of a region ---- */

Test(stag, removed_region_is_out_of_reach_and_its_value_is_free)
{
	struct stag_region r = region(STAG);
	struct stag_table *t = table_of(r);

	cr_expect(stag_remove(t, STAG));
	cr_expect_eq(check(t, BASE_TO, 1), STAG_E_INVALID);
	cr_expect_null(stag_find(t, STAG));
	cr_expect_not(stag_remove(t, STAG));
	cr_expect_eq(stag_add(t, &r), STAG_ADD_OK);
	free(t);
}

static struct stag_table *scoped_table(void)
{
	struct stag_region r = region(STAG);

	r.scope = EP;
	return table_of(r);
}

Test(stag, invalidated_region_is_out_of_reach_but_still_there)
{
	struct stag_table *t = scoped_table();
	struct stag_region again = region(STAG);

	cr_expect_eq(stag_invalidate(t, STAG, &owner), STAG_E_OK);
	cr_expect_eq(check(t, BASE_TO, 1), STAG_E_INVALID);
	cr_assert_not_null(stag_find(t, STAG));
	cr_expect_not(stag_find(t, STAG)->valid);
	cr_expect_eq(stag_add(t, &again), STAG_ADD_E_TAKEN);
	cr_expect_eq(stag_invalidate(t, STAG, &owner), STAG_E_INVALID);
	cr_expect(stag_remove(t, STAG));
	cr_expect_not(stag_remove(t, STAG));
	free(t);
}

Test(stag, invalidation_is_for_the_endpoint_that_the_region_is_scoped_to)
{
	struct stag_table *t = scoped_table();
	struct stag_accessor other_endpoint = {.pd = PD, .scope = EP + 1};
	struct stag_accessor other_domain = {.pd = PD + 1, .scope = EP};

	cr_expect_eq(stag_invalidate(t, STAG, &other_endpoint), STAG_E_SCOPE);
	cr_expect_eq(stag_invalidate(t, STAG, &other_domain), STAG_E_SCOPE);
	cr_expect_eq(stag_invalidate(t, STAG + 1, &owner), STAG_E_INVALID);
	cr_expect_eq(check(t, BASE_TO, 1), STAG_E_OK);
	free(t);
}

/* rows: 5040-8.1.1-01 */
Test(stag, region_of_a_whole_domain_cannot_be_invalidated_remotely)
{
	struct stag_table *t = table_of(region(STAG));
	struct stag_accessor no_endpoint = {.pd = PD, .scope = 0};

	cr_expect_eq(stag_invalidate(t, STAG, &owner), STAG_E_SCOPE);
	cr_expect_eq(stag_invalidate(t, STAG, &no_endpoint), STAG_E_SCOPE);
	cr_expect_eq(check(t, BASE_TO, 1), STAG_E_OK);
	free(t);
}

Test(stag, invalidation_leaves_other_regions_of_the_same_memory_alone)
{
	struct stag_table *t = scoped_table();
	struct stag_region twin = region(STAG + NEXT);
	uint8_t *p;

	cr_assert_eq(stag_add(t, &twin), STAG_ADD_OK);
	cr_expect_eq(stag_invalidate(t, STAG, &owner), STAG_E_OK);
	cr_expect_eq(stag_check(t, STAG + NEXT, &owner, 0, BASE_TO, 1, &p), STAG_E_OK);
	free(t);
}
