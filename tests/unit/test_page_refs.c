/* SPDX-License-Identifier: BSD-2-Clause */
/* Counted intervals are what a count for each unit would be. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "client-lib/own_memory/page_refs.h"

enum { UNITS = 200, LIVE = 40, STEPS = 20000 };

static struct page_refs refs;
static unsigned model[UNITS];

static void stop(void)
{
	page_refs_deinit(&refs);
}

TestSuite(page_refs, .fini = stop, .timeout = 60);

static void put(unsigned start, unsigned end, int by)
{
	for (unsigned i = start; i < end; i++)
		model[i] += (unsigned)by;
	if (by < 0)
		page_refs_drop(&refs, start, end);
	else
		cr_assert_eq(page_refs_add(&refs, start, end), 0);
}

/* All intervals that are not used, as the model has them. */
static void compare(void)
{
	uint64_t start, end, from = 0;
	unsigned at = 0;

	while (page_refs_unused(&refs, from, UNITS, &start, &end)) {
		for (; at < start; at++)
			cr_assert_neq(model[at], 0, "unit %u", at);
		for (; at < end; at++)
			cr_assert_eq(model[at], 0, "unit %u", at);
		from = end;
	}
	for (; at < UNITS; at++)
		cr_assert_neq(model[at], 0, "unit %u", at);
}

Test(page_refs, are_as_a_count_for_each_unit)
{
	struct {
		unsigned start, end;
	} live[LIVE] = {{0}};
	unsigned seed = 1;

	for (unsigned i = 0; i < STEPS; i++) {
		unsigned k = (unsigned)rand_r(&seed) % LIVE;

		if (live[k].end) {
			put(live[k].start, live[k].end, -1);
			live[k].end = 0;
		} else {
			live[k].start = (unsigned)rand_r(&seed) % (UNITS - 1);
			live[k].end = live[k].start + 1 +
				      (unsigned)rand_r(&seed) % (UNITS - live[k].start - 1);
			put(live[k].start, live[k].end, 1);
		}
		compare();
	}
}

Test(page_refs, say_whether_a_range_is_used)
{
	cr_assert_not(page_refs_any(&refs, 0, UINT64_MAX));
	put(10, 20, 1);
	cr_assert(page_refs_any(&refs, 0, 11));
	cr_assert(page_refs_any(&refs, 12, 13));
	cr_assert(page_refs_any(&refs, 19, 30));
	cr_assert_not(page_refs_any(&refs, 0, 10));
	cr_assert_not(page_refs_any(&refs, 20, 30));
	put(10, 20, -1);
	cr_assert_not(page_refs_any(&refs, 0, UINT64_MAX));
}

Test(page_refs, find_what_ends_before)
{
	cr_assert_eq(page_refs_before(&refs, 100), 0);
	put(10, 20, 1);
	put(15, 30, 1);
	put(40, 50, 1);
	cr_assert_eq(page_refs_before(&refs, 0), 0);
	cr_assert_eq(page_refs_before(&refs, 10), 0);
	cr_assert_eq(page_refs_before(&refs, 11), 11);
	cr_assert_eq(page_refs_before(&refs, 30), 30);
	cr_assert_eq(page_refs_before(&refs, 40), 30);
	cr_assert_eq(page_refs_before(&refs, 45), 45);
	cr_assert_eq(page_refs_before(&refs, 90), 50);
}

/* Each interval has its steps, and a drop splits where an add has joined. */
Test(page_refs, need_no_memory_to_drop)
{
	for (unsigned i = 0; i + 1 < UNITS; i++)
		put(i, i + 1, 1);
	cr_assert_eq(refs.count, 2, "neighbors are joined");
	for (unsigned i = 0; i + 1 < UNITS; i += 2)
		put(i, i + 1, -1);
	compare();
	cr_assert_leq(refs.count, refs.room);
}
