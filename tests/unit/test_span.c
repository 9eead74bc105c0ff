/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "util/span.h"

#include "util/minmax.h"

enum { LEN = 16 };

static uint8_t from[LEN], to[LEN];

static void setup(void)
{
	for (unsigned i = 0; i < LEN; i++)
		from[i] = (uint8_t)(i + 1);
	memset(to, 0, LEN);
}

TestSuite(span, .init = setup);

Test(span, total_is_the_sum_of_the_lengths)
{
	const struct span s[] = {{from, 3}, {NULL, 0}, {from, 5}};

	cr_expect_eq(span_total(NULL, 0), 0);
	cr_expect_eq(span_total(s, 3), 8);
}

static size_t left(size_t total, size_t skip)
{
	return skip < total ? total - skip : 0;
}

/* The two sides are cut at different places, with empty spans before, between and after. */
Test(span, every_range_is_copied_byte_for_byte_and_nothing_beside_it)
{
	const struct span src[] = {{NULL, 0}, {from, 3}, {from + 3, 1}, {NULL, 0}, {from + 4, 8}};
	const struct span dst[] = {{to, 2}, {NULL, 0}, {to + 2, 7}, {to + 9, 1}, {NULL, 0}};
	const size_t nsrc = 12, ndst = 10;

	for (size_t skip = 0; skip <= nsrc + 2; skip++) {
		for (size_t len = 0; len <= nsrc + 2; len++) {
			size_t want = min_size(len, min_size(ndst, left(nsrc, skip)));

			memset(to, 0, LEN);
			cr_assert_eq(span_copy(dst, 5, src, 5, skip, len), want,
				     "skip %zu length %zu", skip, len);
			for (size_t i = 0; i < LEN; i++)
				cr_assert_eq(to[i], i < want ? from[skip + i] : 0);
		}
	}
}

Test(span, no_spans_on_either_side_copy_nothing)
{
	const struct span s = {from, 4}, d = {to, 4};

	cr_expect_eq(span_copy(NULL, 0, &s, 1, 0, 4), 0);
	cr_expect_eq(span_copy(&d, 1, NULL, 0, 0, 4), 0);
	cr_expect_eq(span_copy(NULL, 0, NULL, 0, 0, 0), 0);
}

Test(span, skip_far_past_the_end_copies_nothing)
{
	const struct span s = {from, 4}, d = {to, 4};

	cr_expect_eq(span_copy(&d, 1, &s, 1, SIZE_MAX, SIZE_MAX), 0);
	cr_expect_eq(to[0], 0);
}

/* Regions may be registered twice, so a client can make both sides the same memory. */
Test(span, overlapping_sides_are_no_undefined_behavior)
{
	const struct span s = {from, LEN - 4}, up = {from + 4, LEN - 4}, down = {from, LEN - 4};

	cr_expect_eq(span_copy(&up, 1, &s, 1, 0, LEN - 4), LEN - 4);
	cr_expect_eq(from[4], 1);
	cr_expect_eq(from[LEN - 1], LEN - 4);
	cr_expect_eq(span_copy(&down, 1, &up, 1, 0, LEN - 4), LEN - 4);
	cr_expect_eq(from[0], 1);
}
