/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "util/histogram.h"

Test(histogram, each_value_is_in_the_first_bucket_that_reaches_it)
{
	for (unsigned i = 0; i < HISTOGRAM_LAST; i++) {
		cr_expect_eq(histogram_bound(i), UINT64_C(1) << i);
		cr_expect_eq(histogram_bucket_of(histogram_bound(i)), i);
		cr_expect_eq(histogram_bucket_of(histogram_bound(i) + 1), i + 1);
	}
	cr_expect_eq(histogram_bucket_of(0), 0);
	cr_expect_eq(histogram_bucket_of(UINT64_MAX), HISTOGRAM_LAST);
	cr_expect_eq(histogram_bound(HISTOGRAM_LAST), 0);
}

Test(histogram, a_bucket_counts_and_adds_up)
{
	struct histogram h = {0};

	histogram_add(&h, 5);
	histogram_add(&h, 8);
	histogram_add(&h, 9);
	cr_expect_eq(h.bucket[3].n, 2);
	cr_expect_eq(h.bucket[3].sum, 13);
	cr_expect_eq(h.bucket[4].n, 1);
}
