/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows in the STag table. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ddp/stag.h"

enum {
	PD = 7,
	EP = 40, /* endpoints, by their scopes */
	EP2 = 41,
	SIZE = 4096,
	REGION = 0x111100, /* values of the entries in the table of rig() */
	TYPE1 = 0x222200,
	TYPE2 = 0x333300,
	REMOTE = STAG_REMOTE_WRITE | STAG_REMOTE_READ | STAG_REMOTE_ATOMIC,
	ALL = REMOTE | STAG_LOCAL_WRITE | STAG_BIND_WINDOWS,
};

#define BASE_TO UINT64_C(0x4000)

static uint8_t memory[SIZE];

static const struct stag_accessor domain = {.pd = PD, .scope = 0};
static const struct stag_accessor owner = {.pd = PD, .scope = EP};
static const struct stag_accessor other_endpoint = {.pd = PD, .scope = EP2};

static struct stag_table *table;

static void must_add(uint32_t stag, uint8_t kind)
{
	struct stag_region r = {.stag = stag, .pd = PD, .kind = kind};

	if (kind == STAG_REGION) {
		r.rights = ALL;
		r.to = BASE_TO;
		r.len = SIZE;
		r.base = memory;
	}
	cr_assert_eq(stag_add(table, &r), STAG_ADD_OK);
}

/* A region and a window of each type. */
static void rig(void)
{
	void *mem = calloc(1, stag_table_size(8));

	cr_assert_not_null(mem);
	table = stag_table_init(mem, 8);
	must_add(REGION, STAG_REGION);
	must_add(TYPE1, STAG_WINDOW_PD);
	must_add(TYPE2, STAG_WINDOW_STREAM);
}

static void unrig(void)
{
	free(table);
}

TestSuite(stag_mw, .init = rig, .fini = unrig);

static int check_as(const struct stag_accessor *accessor, uint32_t stag, uint64_t to, uint64_t len)
{
	uint8_t *p = NULL;
	int e = stag_check(table, stag, accessor, STAG_REMOTE_READ, to, len, &p);

	cr_expect_eq(p, e ? NULL : memory + (to - BASE_TO), "%#x", stag);
	return e;
}

static int check(uint32_t stag, uint64_t to, uint64_t len)
{
	return check_as(&owner, stag, to, len);
}

static struct stag_bind part(uint32_t window, uint64_t to, uint64_t len)
{
	return (struct stag_bind){.window = window,
				  .region = REGION,
				  .rights = STAG_REMOTE_READ,
				  .to = to,
				  .len = len};
}

/* The accessor that binds windows of this type. */
static const struct stag_accessor *binder(uint32_t window)
{
	return window >> 8 == TYPE1 >> 8 ? &domain : &owner;
}

static int bind(struct stag_bind b)
{
	return stag_bind(table, &b, binder(b.window));
}

static uint32_t windows(void)
{
	return stag_find(table, REGION)->windows;
}

static const uint32_t types[] = {TYPE1, TYPE2};

/* ---- access through a bound window ---- */

Test(stag_mw, window_is_invalid_until_it_is_bound)
{
	for (unsigned i = 0; i < 2; i++) {
		cr_expect_not(stag_find(table, types[i])->valid);
		cr_expect_eq(check(types[i], BASE_TO, 0), STAG_E_INVALID);
		cr_expect_eq(stag_invalidate(table, types[i], &owner), STAG_E_INVALID);
		cr_expect_eq(bind(part(types[i] + 1, BASE_TO, 1)), STAG_BIND_OK);
		cr_expect(stag_find(table, types[i] + 1)->valid);
		cr_expect_eq(check(types[i] + 1, BASE_TO, 1), STAG_E_OK);
	}
}

Test(stag_mw, an_added_window_is_not_bound)
{
	struct stag_region r = {.stag = 0x444400,
				.pd = PD,
				.kind = STAG_WINDOW_PD,
				.valid = true,
				.parent = REGION,
				.windows = 3,
				.rights = REMOTE,
				.len = 8};

	cr_assert_eq(stag_add(table, &r), STAG_ADD_OK);
	cr_expect_eq(check(0x444400, 0, 1), STAG_E_INVALID);
	cr_expect_eq(stag_find(table, 0x444400)->windows, 0);
	cr_expect(stag_remove(table, 0x444400));
	cr_expect_eq(windows(), 0);
}

/* rows: 5041-8.3.1-03 5041-8.3.1-04 */
Test(stag_mw, window_gives_access_to_its_exact_range)
{
	for (unsigned i = 0; i < 2; i++) {
		uint32_t w = types[i];

		cr_assert_eq(bind(part(w, BASE_TO + 100, 50)), STAG_BIND_OK);
		cr_expect_eq(check(w, BASE_TO + 100, 50), STAG_E_OK);
		cr_expect_eq(check(w, BASE_TO + 149, 1), STAG_E_OK);
		cr_expect_eq(check(w, BASE_TO + 150, 0), STAG_E_OK);
		cr_expect_eq(check(w, BASE_TO + 99, 1), STAG_E_BOUNDS);
		cr_expect_eq(check(w, BASE_TO + 150, 1), STAG_E_BOUNDS);
		cr_expect_eq(check(w, BASE_TO + 100, 51), STAG_E_BOUNDS);
		cr_expect_eq(check(w, 0, 1), STAG_E_BOUNDS);
		cr_expect_eq(check(w, UINT64_MAX, 2), STAG_E_WRAP);
		cr_expect_eq(check(REGION, BASE_TO, SIZE), STAG_E_OK, "the region is unchanged");
	}
}

Test(stag_mw, entry_of_a_bound_window_has_its_range)
{
	struct stag_bind b = part(TYPE2 + 9, BASE_TO + 1, 2);
	const struct stag_region *w;

	b.rights = STAG_REMOTE_ATOMIC;
	cr_assert_eq(bind(b), STAG_BIND_OK);
	w = stag_find(table, TYPE2 + 9);
	cr_assert_not_null(w);
	cr_expect_eq(w->kind, STAG_WINDOW_STREAM);
	cr_expect_eq(w->rights, STAG_REMOTE_ATOMIC);
	cr_expect_eq(w->pd, PD);
	cr_expect_eq(w->scope, EP);
	cr_expect_eq(w->to, BASE_TO + 1);
	cr_expect_eq(w->len, 2);
	cr_expect_eq(w->parent, REGION);
}

/* rows: 5041-8.3.1-05 */
Test(stag_mw, window_gives_its_own_rights_and_no_others)
{
	for (uint32_t has = 0; has <= REMOTE; has += 2) {
		struct stag_bind b = part(TYPE1, BASE_TO, 8);

		b.rights = has;
		cr_assert_eq(bind(b), STAG_BIND_OK);
		for (uint32_t want = 0; want <= ALL; want++) {
			uint8_t *p;

			cr_expect_eq(stag_check(table, TYPE1, &owner, want, BASE_TO, 8, &p),
				     want & ~has ? STAG_E_RIGHTS : STAG_E_OK);
		}
	}
}

Test(stag_mw, bind_gives_the_window_any_key_and_voids_the_old_value)
{
	uint32_t old = TYPE1;

	for (uint32_t key = 0; key <= STAG_KEY; key++) {
		cr_assert_eq(bind(part(TYPE1 | key, BASE_TO, 8)), STAG_BIND_OK);
		cr_expect_eq(check(TYPE1 | key, BASE_TO, 8), STAG_E_OK);
		if (key > 0)
			cr_expect_eq(check(old, BASE_TO, 8), STAG_E_INVALID);
		cr_expect_eq(stag_find_any_key(table, TYPE1), stag_find(table, TYPE1 | key));
		old = TYPE1 | key;
	}
}

/* rows: 5041-8.3.1-01 5041-8.3.1-02 */
Test(stag_mw, type_1_serves_the_domain_and_type_2_the_endpoint_that_bound_it)
{
	static const struct stag_accessor other_domain = {.pd = PD + 1, .scope = EP};

	bind(part(TYPE1, BASE_TO, 8));
	bind(part(TYPE2, BASE_TO, 8));
	cr_expect_eq(check_as(&owner, TYPE1, BASE_TO, 8), STAG_E_OK);
	cr_expect_eq(check_as(&other_endpoint, TYPE1, BASE_TO, 8), STAG_E_OK);
	cr_expect_eq(check_as(&other_domain, TYPE1, BASE_TO, 8), STAG_E_SCOPE);
	cr_expect_eq(check_as(&owner, TYPE2, BASE_TO, 8), STAG_E_OK);
	cr_expect_eq(check_as(&other_endpoint, TYPE2, BASE_TO, 8), STAG_E_SCOPE);
	cr_expect_eq(check_as(&domain, TYPE2, BASE_TO, 8), STAG_E_SCOPE);
	cr_expect_eq(check_as(&other_domain, TYPE2, BASE_TO, 8), STAG_E_SCOPE);
}

/* ---- invalid binds ---- */

/* Binds, and checks that a failure has no effect. */
static int try(struct stag_bind b, const struct stag_accessor *accessor)
{
	static const uint32_t all[] = {REGION, TYPE1, TYPE2};
	struct stag_region before[3];
	int e;

	for (unsigned i = 0; i < 3; i++)
		before[i] = *stag_find_any_key(table, all[i]);
	e = stag_bind(table, &b, accessor);
	for (unsigned i = 0; e && i < 3; i++)
		cr_expect_arr_eq((const char *)stag_find_any_key(table, all[i]),
				 (const char *)&before[i], sizeof(before[i]));
	return e;
}

Test(stag_mw, only_a_window_of_the_domain_can_be_bound)
{
	static const struct stag_accessor other_domain = {.pd = PD + 1, .scope = EP};
	static const struct stag_accessor other_whole_domain = {.pd = PD + 1};

	cr_expect_eq(try(part(0x555500, BASE_TO, 8), &owner), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(REGION, BASE_TO, 8), &owner), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(REGION, BASE_TO, 8), &domain), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(TYPE1, BASE_TO, 8), &other_whole_domain), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(TYPE1, BASE_TO, 0), &other_whole_domain), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(TYPE2, BASE_TO, 8), &other_domain), STAG_BIND_E_WINDOW);
}

Test(stag_mw, type_1_is_bound_for_the_domain_alone_and_type_2_by_an_endpoint_alone)
{
	cr_expect_eq(try(part(TYPE1, BASE_TO, 8), &owner), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(TYPE1, BASE_TO, 0), &owner), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(TYPE2, BASE_TO, 8), &domain), STAG_BIND_E_WINDOW);
}

Test(stag_mw, window_never_gets_the_value_0)
{
	must_add(0x01, STAG_WINDOW_PD); /* index 0 */
	cr_expect_eq(try(part(0, BASE_TO, 8), &domain), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(0, BASE_TO, 0), &domain), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(0xff, BASE_TO, 8), &domain), STAG_BIND_OK);
	cr_expect_null(stag_find(table, 0));
	cr_expect_null(stag_find(table, 1));
	cr_expect_eq(check(0xff, BASE_TO, 8), STAG_E_OK);
}

static int try_region(struct stag_region r)
{
	struct stag_bind b = part(TYPE2, BASE_TO, 8);

	r.stag = 0x666600;
	b.region = r.stag;
	cr_assert_eq(stag_add(table, &r), STAG_ADD_OK);
	return try(b, &owner);
}

static const struct stag_region good = {
	.rights = ALL, .pd = PD, .to = BASE_TO, .len = SIZE, .base = memory};

Test(stag_mw, windows_can_be_bound_to_a_good_region)
{
	cr_expect_eq(try_region(good), STAG_BIND_OK);
}

Test(stag_mw, region_of_another_domain_is_refused)
{
	struct stag_region r = good;

	r.pd = PD + 1;
	cr_expect_eq(try_region(r), STAG_BIND_E_REGION);
}

Test(stag_mw, region_of_an_endpoint_is_refused_valid_or_not)
{
	struct stag_bind b = part(TYPE2, BASE_TO, 8);
	struct stag_region r = good;

	r.scope = EP;
	cr_expect_eq(try_region(r), STAG_BIND_E_REGION);
	b.region = 0x666600;
	cr_assert_eq(stag_invalidate(table, b.region, &owner), STAG_E_OK);
	cr_expect_eq(try(b, &owner), STAG_BIND_E_REGION);
}

Test(stag_mw, window_of_a_window_is_refused)
{
	struct stag_bind b = part(TYPE2, BASE_TO, 8);

	b.region = TYPE1;
	cr_expect_eq(try(b, &owner), STAG_BIND_E_REGION);
	bind(part(TYPE1, BASE_TO, SIZE));
	cr_expect_eq(try(b, &owner), STAG_BIND_E_REGION);
	b.region = TYPE2; /* itself */
	cr_expect_eq(try(b, &owner), STAG_BIND_E_REGION);
}

Test(stag_mw, region_is_named_by_its_whole_value)
{
	struct stag_bind b = part(TYPE2, BASE_TO, 8);

	b.region = REGION + 1;
	cr_expect_eq(try(b, &owner), STAG_BIND_E_REGION);
	b.region = 0;
	cr_expect_eq(try(b, &owner), STAG_BIND_E_REGION);
}

/* Every set of rights of a region with every set for a window. */
Test(stag_mw, rights_of_a_window_are_remote_ones_that_the_region_can_lend)
{
	for (uint32_t has = 0; has <= ALL; has++) {
		struct stag_region r = good;
		struct stag_bind b = part(TYPE1, BASE_TO, 8);

		r.stag = b.region = 0x666600;
		r.rights = has;
		cr_assert_eq(stag_add(table, &r), STAG_ADD_OK);
		for (b.rights = 0; b.rights <= 2 * ALL + 1; b.rights++) {
			bool writes = b.rights & (STAG_REMOTE_WRITE | STAG_REMOTE_ATOMIC);
			bool ok = !(b.rights & ~(uint32_t)REMOTE) && has & STAG_BIND_WINDOWS &&
				  (has & STAG_LOCAL_WRITE || !writes);

			cr_expect_eq(try(b, &domain), ok ? STAG_BIND_OK : STAG_BIND_E_RIGHTS,
				     "region %#x, window %#x", has, b.rights);
		}
		b.len = 0;
		cr_assert_eq(stag_bind(table, &b, &domain), STAG_BIND_OK);
		cr_assert(stag_remove(table, b.region));
	}
}

static const struct {
	uint64_t to, len;
	int e;
} bounds[] = {
	{BASE_TO, SIZE, STAG_BIND_OK},           {BASE_TO + SIZE - 1, 1, STAG_BIND_OK},
	{BASE_TO, SIZE + 1, STAG_BIND_E_BOUNDS}, {BASE_TO + 1, SIZE, STAG_BIND_E_BOUNDS},
	{BASE_TO + SIZE, 1, STAG_BIND_E_BOUNDS}, {BASE_TO - 1, 1, STAG_BIND_E_BOUNDS},
	{BASE_TO - 1, SIZE, STAG_BIND_E_BOUNDS}, {0, 1, STAG_BIND_E_BOUNDS},
	{0, UINT64_MAX, STAG_BIND_E_BOUNDS},     {BASE_TO, UINT64_MAX, STAG_BIND_E_BOUNDS},
	{UINT64_MAX, 2, STAG_BIND_E_BOUNDS},     {UINT64_MAX - 3, BASE_TO + 8, STAG_BIND_E_BOUNDS},
};

/* rows: 5041-8.3.1-03 */
Test(stag_mw, window_lies_inside_its_region)
{
	for (unsigned i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		for (unsigned w = 0; w < 2; w++) {
			struct stag_bind b = part(types[w], bounds[i].to, bounds[i].len);

			cr_expect_eq(try(b, binder(b.window)), bounds[i].e, "row %u", i);
			stag_invalidate(table, b.window, &owner);
		}
	}
}

Test(stag_mw, window_may_lie_at_the_upper_end_of_the_offsets)
{
	struct stag_region r = good;
	struct stag_bind b = part(TYPE1, UINT64_MAX - 8, 8);
	uint8_t *p;

	r.stag = b.region = 0x666600;
	r.to = UINT64_MAX - SIZE;
	cr_assert_eq(stag_add(table, &r), STAG_ADD_OK);
	cr_expect_eq(bind(b), STAG_BIND_OK);
	cr_expect_eq(stag_check(table, TYPE1, &owner, 0, UINT64_MAX - 1, 1, &p), STAG_E_OK);
	cr_expect_eq(p, memory + SIZE - 1);
	b.len = 9;
	cr_expect_eq(bind(b), STAG_BIND_E_BOUNDS);
}

/* Everything is wrong at first; each step corrects the error that the result names. */
Test(stag_mw, first_failing_test_in_the_documented_order_is_the_outcome)
{
	struct stag_bind b = {.window = REGION, .region = TYPE1, .rights = STAG_LOCAL_WRITE};

	cr_expect_eq(try(b, &owner), STAG_BIND_E_WINDOW);
	b.window = TYPE2;
	cr_expect_eq(try(b, &owner), STAG_BIND_E_REGION);
	b.region = REGION;
	cr_expect_eq(try(b, &owner), STAG_BIND_E_RIGHTS);
	b.rights = STAG_REMOTE_WRITE;
	cr_expect_eq(try(b, &owner), STAG_BIND_E_BOUNDS);
	b.to = BASE_TO;
	cr_expect_eq(try(b, &owner), STAG_BIND_E_BOUNDS);
	b.len = 1;
	cr_expect_eq(try(b, &owner), STAG_BIND_OK);
}

/* ---- the end of a window ---- */

Test(stag_mw, type_1_may_be_bound_again_and_then_covers_only_the_new_part)
{
	must_add(0x666600, STAG_REGION);
	bind(part(TYPE1, BASE_TO, 8));
	cr_expect_eq(windows(), 1);
	cr_expect_eq(bind(part(TYPE1, BASE_TO + 8, 8)), STAG_BIND_OK);
	cr_expect_eq(windows(), 1);
	cr_expect_eq(check(TYPE1, BASE_TO, 1), STAG_E_BOUNDS);
	cr_expect_eq(check(TYPE1, BASE_TO + 8, 8), STAG_E_OK);
	cr_expect_eq(bind((struct stag_bind){
			     .window = TYPE1, .region = 0x666600, .to = BASE_TO, .len = 8}),
		     STAG_BIND_OK);
	cr_expect_eq(windows(), 0);
	cr_expect_eq(stag_find(table, 0x666600)->windows, 1);
}

/* rows: 5041-8.3.1-04 */
Test(stag_mw, type_1_of_length_0_is_unbound_and_its_old_value_void)
{
	bind(part(TYPE1, BASE_TO, 8));
	cr_expect_eq(bind((struct stag_bind){.window = TYPE1 + 1}), STAG_BIND_OK);
	cr_expect_eq(windows(), 0);
	cr_expect_eq(check(TYPE1, BASE_TO, 8), STAG_E_INVALID);
	cr_expect_eq(check(TYPE1 + 1, BASE_TO, 8), STAG_E_INVALID);
	cr_expect_null(stag_find(table, TYPE1));
	cr_expect_not_null(stag_find(table, TYPE1 + 1));
	cr_expect_eq(bind((struct stag_bind){.window = TYPE1 + 2}), STAG_BIND_OK, "a second time");
	cr_expect_eq(windows(), 0);
	cr_expect_eq(bind(part(TYPE1 + 3, BASE_TO, 8)), STAG_BIND_OK);
	cr_expect_eq(windows(), 1);
}

Test(stag_mw, type_2_is_bound_only_while_it_is_not_and_never_to_nothing)
{
	cr_expect_eq(try(part(TYPE2, BASE_TO, 0), &owner), STAG_BIND_E_BOUNDS);
	bind(part(TYPE2, BASE_TO, 8));
	cr_expect_eq(try(part(TYPE2, BASE_TO, 8), &owner), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(TYPE2 + 1, BASE_TO, 8), &owner), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(TYPE2 + 1, BASE_TO, 0), &owner), STAG_BIND_E_WINDOW);
	cr_expect_eq(try(part(TYPE2 + 1, BASE_TO, 8), &other_endpoint), STAG_BIND_E_WINDOW);
	cr_expect_eq(check(TYPE2, BASE_TO, 8), STAG_E_OK);
}

Test(stag_mw, type_2_is_invalidated_by_its_endpoint_and_then_free_for_another)
{
	bind(part(TYPE2, BASE_TO, 8));
	cr_expect_eq(stag_invalidate(table, TYPE2, &other_endpoint), STAG_E_SCOPE);
	cr_expect_eq(stag_invalidate(table, TYPE2, &domain), STAG_E_SCOPE);
	cr_expect_eq(stag_invalidate(table, TYPE2 + 1, &owner), STAG_E_INVALID);
	cr_expect_eq(windows(), 1);
	cr_expect_eq(stag_invalidate(table, TYPE2, &owner), STAG_E_OK);
	cr_expect_eq(windows(), 0);
	cr_expect_eq(check(TYPE2, BASE_TO, 8), STAG_E_INVALID);
	cr_expect_eq(stag_invalidate(table, TYPE2, &owner), STAG_E_INVALID);
	cr_expect_eq(windows(), 0);
	cr_expect_eq(try(part(TYPE2 + 1, BASE_TO, 8), &other_endpoint), STAG_BIND_OK);
	cr_expect_eq(check_as(&other_endpoint, TYPE2 + 1, BASE_TO, 8), STAG_E_OK);
	cr_expect_eq(check_as(&owner, TYPE2 + 1, BASE_TO, 8), STAG_E_SCOPE);
}

/* rows: 5040-8.1.1-01 */
Test(stag_mw, type_1_cannot_be_invalidated)
{
	bind(part(TYPE1, BASE_TO, 8));
	cr_expect_eq(stag_invalidate(table, TYPE1, &owner), STAG_E_SCOPE);
	cr_expect_eq(stag_invalidate(table, TYPE1, &domain), STAG_E_SCOPE);
	cr_expect_eq(check(TYPE1, BASE_TO, 8), STAG_E_OK);
	cr_expect_eq(windows(), 1);
}

Test(stag_mw, removed_window_is_out_of_reach_and_no_longer_counts)
{
	for (unsigned i = 0; i < 2; i++) {
		bind(part(types[i], BASE_TO, 8));
		cr_expect_eq(windows(), 1);
		cr_expect(stag_remove(table, types[i]));
		cr_expect_eq(windows(), 0);
		cr_expect_eq(check(types[i], BASE_TO, 8), STAG_E_INVALID);
	}
	cr_expect(stag_remove(table, REGION));
}

Test(stag_mw, window_that_is_not_bound_is_removed_without_a_region)
{
	bind(part(TYPE2, BASE_TO, 8));
	stag_invalidate(table, TYPE2, &owner);
	cr_expect(stag_remove(table, REGION));
	cr_expect(stag_remove(table, TYPE1));
	cr_expect(stag_remove(table, TYPE2));
}

Test(stag_mw, region_is_not_removed_before_its_windows, .signal = SIGABRT)
{
	bind(part(TYPE1, BASE_TO, 8));
	stag_remove(table, REGION);
}
