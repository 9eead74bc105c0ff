/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "util/be.h"
#include "util/checked.h"

Test(checked, range_ends_with_the_last_byte)
{
	cr_expect(checked_range(0, 0, 0));
	cr_expect(checked_range(0, 100, 100));
	cr_expect(checked_range(99, 1, 100));
	cr_expect(checked_range(100, 0, 100));
	cr_expect_not(checked_range(0, 101, 100));
	cr_expect_not(checked_range(1, 100, 100));
	cr_expect_not(checked_range(100, 1, 100));
	cr_expect_not(checked_range(101, 0, 100));
	cr_expect_not(checked_range(0, 1, 0));
}

Test(checked, range_that_wraps_is_outside)
{
	cr_expect_not(checked_range(UINT64_MAX, 1, 100));
	cr_expect_not(checked_range(1, UINT64_MAX, 100));
	cr_expect_not(checked_range(UINT64_MAX, UINT64_MAX, UINT64_MAX));
	cr_expect_not(checked_range(UINT64_MAX - 10, 20, 100));
	cr_expect(checked_range(0, UINT64_MAX, UINT64_MAX));
	cr_expect(checked_range(UINT64_MAX, 0, UINT64_MAX));
}

Test(checked, sum_of_exactly_2_64_passes_it)
{
	cr_expect_not(checked_add_wraps(0, 0));
	cr_expect_not(checked_add_wraps(UINT64_MAX, 0));
	cr_expect_not(checked_add_wraps(0, UINT64_MAX));
	cr_expect_not(checked_add_wraps(UINT64_MAX - 8, 8));
	cr_expect(checked_add_wraps(UINT64_MAX - 7, 8));
	cr_expect(checked_add_wraps(1, UINT64_MAX));
	cr_expect(checked_add_wraps(UINT64_MAX, UINT64_MAX));
}

Test(checked, powers_of_two_have_one_bit)
{
	cr_expect_not(checked_pow2(0));
	for (unsigned i = 0; i < 64; i++) {
		uint64_t n = UINT64_C(1) << i;

		cr_expect(checked_pow2(n));
		if (n > 2) {
			cr_expect_not(checked_pow2(n - 1));
			cr_expect_not(checked_pow2(n + 1));
		}
	}
	cr_expect_not(checked_pow2(UINT64_MAX));
}

Test(checked, rounding_up_keeps_multiples)
{
	cr_expect_eq(checked_round_up(0, 64), 0);
	cr_expect_eq(checked_round_up(1, 64), 64);
	cr_expect_eq(checked_round_up(63, 64), 64);
	cr_expect_eq(checked_round_up(64, 64), 64);
	cr_expect_eq(checked_round_up(65, 64), 128);
	cr_expect_eq(checked_round_up(77, 1), 77);
	cr_expect_eq(checked_round_up((UINT64_C(1) << 40) + 1, 4096), (UINT64_C(1) << 40) + 4096);
}

Test(checked, big_endian_fields_are_read_and_written_at_odd_addresses)
{
	uint8_t b[9] = {0};

	be_put64(b + 1, UINT64_C(0x8182838485868788));
	for (unsigned i = 0; i < 8; i++)
		cr_expect_eq(b[1 + i], 0x81 + i);
	cr_expect_eq(be_get64(b + 1), UINT64_C(0x8182838485868788));
	cr_expect_eq(be_get32(b + 1), 0x81828384);
	cr_expect_eq(be_get32(b + 5), 0x85868788);
	cr_expect_eq(be_get16(b + 1), 0x8182);
	be_put32(b + 1, 0xfffefdfc);
	be_put16(b + 5, 0xfbfa);
	cr_expect_eq(be_get64(b + 1), UINT64_C(0xfffefdfcfbfa8788));
}
