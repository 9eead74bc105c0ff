/* SPDX-License-Identifier: BSD-2-Clause */
/* STag values are hard to predict, spread over all 32 bits, and not given again soon. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "daemon/objects/memory/stags.h"
#include "proto/ddp/stag.h"

enum { DRAWS = 10000, BITS = 32, NIBBLES = 16 };

static struct stags *stags;
static uint32_t drawn[DRAWS];

/* Registers and deregisters, so that a freed value could be given again at once. */
static void setup(void)
{
	cr_assert_eq(stags_new(64, getrandom, &stags), 0);
	for (unsigned i = 0; i < DRAWS; i++) {
		struct stag_region r = {.len = 1};

		cr_assert_eq(stags_add(stags, &r), 0);
		drawn[i] = r.stag;
		cr_assert(stag_remove(stags_table(stags), r.stag));
	}
}

static void teardown(void)
{
	stags_free(stags);
}

TestSuite(stag_draw, .init = setup, .fini = teardown);

/* rows: 5040-8.1.1-02 5040-8.1.1-03 */
Test(stag_draw, every_bit_is_as_often_set_as_not)
{
	for (unsigned b = 0; b < BITS; b++) {
		unsigned set = 0, turned = 0;

		for (unsigned i = 0; i < DRAWS; i++) {
			set += drawn[i] >> b & 1;
			turned += i > 0 && ((drawn[i] ^ drawn[i - 1]) >> b & 1);
		}
		/* Ten standard deviations: practically impossible by chance. */
		cr_expect(set > DRAWS / 2 - 500 && set < DRAWS / 2 + 500, "bit %u: %u", b, set);
		cr_expect(turned > DRAWS / 2 - 500 && turned < DRAWS / 2 + 500,
			  "bit %u turns %u times from one value to the next", b, turned);
	}
}

/* rows: 5040-8.1.1-03 */
Test(stag_draw, values_are_spread_over_the_whole_range)
{
	unsigned in[NIBBLES] = {0};

	for (unsigned i = 0; i < DRAWS; i++)
		in[drawn[i] >> 28]++;
	for (unsigned i = 0; i < NIBBLES; i++)
		cr_expect(in[i] > DRAWS / NIBBLES - 250 && in[i] < DRAWS / NIBBLES + 250,
			  "values %xxxxxxxx: %u", i, in[i]);
}

static int compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Values are drawn from the whole range: among so many, one can occur twice, but not three times.
 */
/* rows: 5042-6.1.1-02 */
Test(stag_draw, freed_values_do_not_come_back_soon)
{
	unsigned again = 0;

	qsort(drawn, DRAWS, sizeof(drawn[0]), compare);
	for (unsigned i = 1; i < DRAWS; i++)
		again += drawn[i] == drawn[i - 1];
	cr_expect_lt(again, 3);
}

/* The owner of a value may change its key, which must not make it 0. */
Test(stag_draw, no_value_is_0_with_any_key)
{
	for (unsigned i = 0; i < DRAWS; i++)
		cr_expect_gt(drawn[i], STAG_KEY);
}

/* ---- a system without random numbers ---- */

static ssize_t no_random(void *p, size_t len, unsigned flags)
{
	(void)p;
	(void)len;
	(void)flags;
	errno = ENOSYS;
	return -1;
}

enum { REGIONS = 45000, KIB = 1024 };

/* KiB of address space of this process. Pages that are present would count what others touch. */
static long mapped(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0;

	cr_assert_eq(fscanf(f, "%ld", &pages), 1);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / KIB);
}

Test(stag_memory, is_in_proportion_to_the_regions_and_goes_back_with_them)
{
	static uint32_t stag[REGIONS];
	struct stags *s;
	unsigned done = 0;
	long before, full, rest;

	cr_assert_eq(stags_new(1 << 20, getrandom, &s), 0);
	before = mapped();
	for (unsigned i = 0; i < REGIONS; i++) {
		struct stag_region r = {.len = 1};

		done += stags_add(s, &r) == 0;
		stag[i] = r.stag;
	}
	cr_assert_eq(done, REGIONS);
	full = mapped() - before;
	cr_expect_leq(full, 1L * REGIONS * STAGS_ENTRY_BYTES / KIB, "%ld KiB", full);
	for (unsigned i = 0; i < REGIONS; i++)
		done -= stags_remove(s, stag[i]);
	cr_assert_eq(done, 0);
	rest = mapped() - before;
	cr_expect_leq(rest, full / 4, "%ld of %ld KiB", rest, full);
	stags_free(s);
}

Test(stag_memory, is_enough_for_as_many_as_the_table_may_have)
{
	enum { MOST = 1000 };
	struct stag_region r = {.len = 1};
	struct stags *s;

	cr_assert_eq(stags_new(MOST, getrandom, &s), 0);
	for (unsigned i = 0; i < MOST; i++)
		cr_assert_eq(stags_add(s, &r), 0);
	cr_expect_eq(stags_add(s, &r), -ENOSPC);
	stags_free(s);
}

Test(stag_add, fails_when_the_system_has_no_random_numbers)
{
	struct stag_region r = {.len = 1};
	struct stags *s;

	cr_assert_eq(stags_new(4, no_random, &s), 0);
	cr_assert_eq(stags_add(s, &r), -ENOSYS);
	cr_assert_eq(r.stag, 0);
	stags_free(s);
}
