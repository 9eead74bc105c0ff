/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rdmap/sgl.h"

/* Two regions of one domain; the second may not be written. */
enum { A = 0xaaaa0001, B = 0xbbbb0002, UNKNOWN = 0xcccc0003, PD = 7, SIZE = 256 };

#define TO_A UINT64_C(0x1000)
#define TO_B UINT64_C(0xffff000000000000)

static uint8_t mem_a[SIZE], mem_b[SIZE];
static struct stag_table *table;
static const struct stag_accessor accessor = {.pd = PD, .scope = 1};

static void add(uint32_t stag, uint32_t rights, uint64_t to, uint8_t *base)
{
	struct stag_region r = {
		.stag = stag, .rights = rights, .pd = PD, .to = to, .len = SIZE, .base = base};

	cr_assert_eq(stag_add(table, &r), STAG_ADD_OK);
}

static void setup(void)
{
	table = stag_table_init(calloc(1, stag_table_size(4)), 4);
	add(A, STAG_LOCAL_WRITE, TO_A, mem_a);
	add(B, 0, TO_B, mem_b);
	for (unsigned i = 0; i < SIZE; i++) {
		mem_a[i] = (uint8_t)i;
		mem_b[i] = (uint8_t)~i;
	}
}

static void teardown(void)
{
	free(table);
}

TestSuite(sgl, .init = setup, .fini = teardown);

static const struct sgl_elem *bad;
static struct sgl_fault fault;
static struct span out[SGL_MAX];

static struct sgl_access access_with(uint32_t rights)
{
	return (struct sgl_access){table, &accessor, rights};
}

static int resolve(const struct sgl_elem *e, unsigned n, uint64_t off, uint32_t len)
{
	struct sgl_access a = access_with(0);

	fault = (struct sgl_fault){NULL, -1};
	return sgl_resolve((struct sgl){e, n}, off, len, &a, out, &fault);
}

static int check(const struct sgl_elem *e, unsigned n, uint32_t rights)
{
	struct sgl_access a = access_with(rights);

	bad = NULL;
	return sgl_check((struct sgl){e, n}, &a, &bad);
}

/* ---- totals ---- */

Test(sgl, total_of_no_elements_is_0)
{
	cr_expect_eq(sgl_total(NULL, 0), 0);
}

Test(sgl, total_passes_4_gib_without_wrapping)
{
	struct sgl_elem e[SGL_MAX];

	for (unsigned i = 0; i < SGL_MAX; i++)
		e[i] = (struct sgl_elem){.len = UINT32_MAX, .stag = A};
	cr_expect_eq(sgl_total(e, SGL_MAX), SGL_MAX * (uint64_t)UINT32_MAX);
}

/* ---- resolving ---- */

static const struct sgl_elem mixed[] = {
	{TO_A + 9, 0, A}, {TO_A + 10, 5, A}, {0, 0, UNKNOWN},    {TO_B + 20, 7, B},
	{TO_B, 1, B},     {0, 0, 0},         {TO_A + 200, 9, A}, {TO_A, 0, A},
};

enum { MIXED = sizeof(mixed) / sizeof(mixed[0]), MIXED_LEN = 5 + 7 + 1 + 9 };

static void flatten(uint8_t all[MIXED_LEN])
{
	memcpy(all, mem_a + 10, 5);
	memcpy(all + 5, mem_b + 20, 7);
	memcpy(all + 12, mem_b, 1);
	memcpy(all + 13, mem_a + 200, 9);
}

Test(sgl, every_range_resolves_to_its_bytes_in_order)
{
	uint8_t all[MIXED_LEN];

	flatten(all);
	cr_assert_eq(sgl_total(mixed, MIXED), MIXED_LEN);
	for (uint32_t off = 0; off <= MIXED_LEN; off++) {
		for (uint32_t len = 0; len <= MIXED_LEN - off; len++) {
			int n = resolve(mixed, MIXED, off, len);
			uint32_t at = off;

			cr_assert_geq(n, 0);
			for (int i = 0; i < n; i++) {
				cr_assert_gt(out[i].len, 0);
				cr_assert_leq(at + out[i].len, off + len);
				cr_assert_arr_eq(out[i].p, all + at, out[i].len);
				at += (uint32_t)out[i].len;
			}
			cr_assert_eq(at, off + len, "offset %u length %u", off, len);
		}
	}
}

Test(sgl, length_0_gives_no_spans)
{
	const struct sgl_elem unknown = {TO_A, 10, UNKNOWN};

	cr_expect_eq(resolve(NULL, 0, 0, 0), 0);
	cr_expect_eq(resolve(mixed, MIXED, 3, 0), 0);
	cr_expect_eq(resolve(mixed, MIXED, MIXED_LEN, 0), 0);
	cr_expect_eq(resolve(&unknown, 1, 0, 0), 0);
}

Test(sgl, longest_list_gives_a_span_per_element)
{
	struct sgl_elem e[SGL_MAX];

	for (unsigned i = 0; i < SGL_MAX; i++)
		e[i] = (struct sgl_elem){TO_A + 2 * i, 1, A};
	cr_expect_eq(resolve(e, SGL_MAX, 0, SGL_MAX), SGL_MAX);
	for (unsigned i = 0; i < SGL_MAX; i++)
		cr_expect_eq(out[i].p, mem_a + 2 * i);
}

Test(sgl, offset_may_lie_beyond_4_gib)
{
	const struct sgl_elem e[] = {
		{0, UINT32_MAX, UNKNOWN}, {0, UINT32_MAX, UNKNOWN}, {TO_A, 10, A}};

	cr_expect_eq(resolve(e, 3, 2 * (uint64_t)UINT32_MAX + 4, 6), 1);
	cr_expect_eq(out[0].p, mem_a + 4);
	cr_expect_eq(out[0].len, 6);
}

/* ---- faults ---- */

static void expect_fault(const struct sgl_elem *e, unsigned n, uint64_t off, uint32_t len,
			 unsigned at, int outcome)
{
	cr_expect_eq(resolve(e, n, off, len), -1);
	cr_expect_eq(fault.elem, &e[at]);
	cr_expect_eq(fault.reason, outcome);
}

Test(sgl, fault_names_the_element_and_the_outcome)
{
	const struct sgl_elem unknown[] = {{TO_A, 4, A}, {TO_A, 4, UNKNOWN}};
	const struct sgl_elem outside[] = {{TO_A, 4, A}, {0, 0, 0}, {TO_A + SIZE - 3, 4, A}};
	const struct sgl_elem below[] = {{TO_A - 1, 4, A}};

	expect_fault(unknown, 2, 0, 8, 1, STAG_E_INVALID);
	expect_fault(outside, 3, 0, 8, 2, STAG_E_BOUNDS);
	expect_fault(below, 1, 0, 4, 0, STAG_E_BOUNDS);
}

/* The spans before it may be written. */
Test(sgl, fault_of_a_later_element_is_the_result)
{
	const struct sgl_elem e[] = {{TO_A, 4, A}, {TO_A, 4, UNKNOWN}};

	expect_fault(e, 2, 0, 8, 1, STAG_E_INVALID);
}

Test(sgl, only_the_bytes_asked_for_are_checked)
{
	const struct sgl_elem e[] = {{TO_A, 4, A}, {TO_A, 4, UNKNOWN}, {TO_A + SIZE - 4, 8, A}};

	cr_expect_eq(resolve(e, 3, 0, 4), 1);
	cr_expect_eq(resolve(e, 3, 8, 4), 1);
	expect_fault(e, 3, 8, 5, 2, STAG_E_BOUNDS);
	expect_fault(e, 3, 12, 1, 2, STAG_E_BOUNDS);
}

Test(sgl, filling_needs_the_right_and_reading_does_not)
{
	const struct sgl_elem e[] = {{TO_A, 4, A}, {TO_B, 4, B}};
	struct sgl_access write = access_with(STAG_LOCAL_WRITE);

	cr_expect_eq(resolve(e, 2, 0, 8), 2);
	cr_expect_eq(sgl_resolve((struct sgl){e, 2}, 0, 8, &write, out, &fault), -1);
	cr_expect_eq(fault.elem, &e[1]);
	cr_expect_eq(fault.reason, STAG_E_RIGHTS);
}

Test(sgl, other_domains_elements_are_out_of_reach)
{
	const struct sgl_elem e = {TO_A, 4, A};
	const struct stag_accessor other_domain = {.pd = PD + 1, .scope = 1};
	const struct sgl_access access = {table, &other_domain, 0};

	cr_expect_eq(sgl_resolve((struct sgl){&e, 1}, 0, 4, &access, out, &fault), -1);
	cr_expect_eq(fault.reason, STAG_E_SCOPE);
	cr_expect_eq(sgl_check((struct sgl){&e, 1}, &access, &bad), STAG_E_SCOPE);
}

/* TO plus offset is a valid address if the carry is lost. */
Test(sgl, offset_that_wraps_inside_an_element_is_a_wrap)
{
	const struct sgl_elem e = {UINT64_MAX - 0x0fff, 0x3000, A};
	const struct sgl_elem unknown = {UINT64_MAX - 0x0fff, 0x3000, UNKNOWN};

	expect_fault(&e, 1, 0x2000, 4, 0, STAG_E_WRAP);
	expect_fault(&e, 1, 0x1000, 4, 0, STAG_E_WRAP);
	expect_fault(&unknown, 1, 0x2000, 4, 0, STAG_E_INVALID);
}

Test(sgl, region_removed_between_two_segments_is_missed_by_the_second)
{
	const struct sgl_elem e = {TO_A, 8, A};

	cr_expect_eq(resolve(&e, 1, 0, 4), 1);
	stag_remove(table, A);
	expect_fault(&e, 1, 4, 4, 0, STAG_E_INVALID);
}

/* ---- checking as a whole ---- */

Test(sgl, check_covers_the_whole_length_of_every_element)
{
	const struct sgl_elem good[] = {{TO_A, SIZE, A}, {TO_B, SIZE, B}};
	const struct sgl_elem late[] = {{TO_A, SIZE, A}, {TO_B + 1, SIZE, B}};
	const struct sgl_elem wraps[] = {{UINT64_MAX, 2, A}};

	cr_expect_eq(check(NULL, 0, 0), STAG_E_OK);
	cr_expect_eq(check(good, 2, 0), STAG_E_OK);
	cr_expect_null(bad);
	cr_expect_eq(check(late, 2, 0), STAG_E_BOUNDS);
	cr_expect_eq(bad, &late[1]);
	cr_expect_eq(check(wraps, 1, 0), STAG_E_WRAP);
	cr_expect_eq(check(good, 2, STAG_LOCAL_WRITE), STAG_E_RIGHTS);
	cr_expect_eq(bad, &good[1]);
}

Test(sgl, check_ignores_elements_of_length_0)
{
	const struct sgl_elem e[] = {{0, 0, UNKNOWN}, {TO_A, 4, A}, {UINT64_MAX, 0, 0}};

	cr_expect_eq(check(e, 3, STAG_LOCAL_WRITE), STAG_E_OK);
}
