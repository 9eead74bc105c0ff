/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the retransmission timeout follows RFC 9260 6.3.1; the least round trip is that of the
 * last 10 to 20 seconds. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "sctp/path/rto.h"

enum { S = 1000000 };

static struct sctp_rto fresh(uint32_t initial, uint32_t min, uint32_t max)
{
	struct sctp_config cfg = {.rto_initial_us = initial, .rto_min_us = min, .rto_max_us = max};
	struct sctp_rto r;

	sctp_rto_init(&r, &cfg);
	return r;
}

/* rows: 9260-6.3.1-01 */
Test(sctp_rto, an_unmeasured_path_has_the_initial_timeout)
{
	struct sctp_rto r = fresh(S, S, 60 * S);

	cr_assert_eq(r.rto_us, S);
	cr_assert_eq(r.srtt_us, 0);
	cr_assert_eq(r.min_rtt_us, UINT32_MAX);
}

/* rows: 9260-6.3.1-02 9260-6.3.1-03 9260-6.3.1-04 */
Test(sctp_rto, the_examples_of_the_first_and_second_measurement)
{
	struct sctp_rto r = fresh(S, S, 60 * S);

	sctp_rto_sample(&r, 1200000, 0);
	cr_assert_eq(r.srtt_us, 1200000);
	cr_assert_eq(r.rttvar_us, 600000);
	cr_assert_eq(r.rto_us, 3600000);
	sctp_rto_sample(&r, 2000000, 2000000);
	cr_assert_eq(r.rttvar_us, 650000);
	cr_assert_eq(r.srtt_us, 1300000);
	cr_assert_eq(r.rto_us, 3900000);
}

/* rows: 9260-6.3.1-04 */
Test(sctp_rto, random_samples_follow_the_formula)
{
	struct sctp_rto r = fresh(S, 1, 60 * S);
	double srtt = 0, var = 0;

	srand(1);
	for (int i = 0; i < 1000; i++) {
		double rtt = 1000 + rand() % 300000;

		if (i) {
			var = var * 3 / 4 + fabs(srtt - rtt) / 4;
			srtt = srtt * 7 / 8 + rtt / 8;
		} else {
			srtt = rtt;
			var = rtt / 2;
		}
		sctp_rto_sample(&r, (uint32_t)rtt, (uint64_t)i * S);
		cr_assert_float_eq(r.rto_us, srtt + 4 * var, 40, "sample %d: %u, model %f", i,
				   r.rto_us, srtt + 4 * var);
	}
}

/* rows: 9260-6.3.1-10 */
Test(sctp_rto, a_short_timeout_is_rounded_up)
{
	struct sctp_rto r = fresh(S, S, 60 * S);

	sctp_rto_sample(&r, 1000, 0);
	cr_assert_eq(r.rto_us, S);
	r = fresh(S, 200000, 60 * S);
	sctp_rto_sample(&r, 1000, 0);
	cr_assert_eq(r.rto_us, 200000);
}

/* rows: 9260-6.3.1-11 9260-6.3.3-02 9260-6.3.3-03 9260-6.3.2-02 */
Test(sctp_rto, expiries_double_the_timeout_up_to_its_maximum)
{
	static const unsigned series[] = {1, 2, 4, 8, 16, 32, 60, 60};
	struct sctp_rto r = fresh(S, S, 60 * S);

	for (unsigned i = 0; i < sizeof(series) / sizeof(*series); i++) {
		cr_assert_eq(r.rto_us, series[i] * S);
		sctp_rto_back_off(&r);
	}
}

Test(sctp_rto, doubling_cannot_overflow)
{
	struct sctp_rto r = fresh(UINT32_MAX - 5, 1, UINT32_MAX);

	sctp_rto_back_off(&r);
	cr_assert_eq(r.rto_us, UINT32_MAX);
	sctp_rto_sample(&r, UINT32_MAX, 0);
	sctp_rto_sample(&r, UINT32_MAX, UINT64_MAX);
	cr_assert_eq(r.rto_us, UINT32_MAX);
	cr_assert_eq(r.srtt_us, UINT32_MAX);
}

/* rows: 9260-6.3.3-08 */
Test(sctp_rto, a_measurement_ends_the_back_off)
{
	struct sctp_rto r = fresh(S, S, 60 * S);

	sctp_rto_sample(&r, 300000, 0);
	sctp_rto_back_off(&r);
	sctp_rto_back_off(&r);
	sctp_rto_back_off(&r);
	cr_assert_eq(r.rto_us, 8 * S);
	sctp_rto_sample(&r, 300000, 1);
	cr_assert_eq(r.rto_us, S);
}

/* rows: 9260-6.3.1-12 */
Test(sctp_rto, a_constant_round_trip_leaves_a_variation)
{
	struct sctp_rto r = fresh(S, 1, 60 * S);

	for (int i = 0; i < 10000; i++) {
		sctp_rto_sample(&r, 50000, (uint64_t)i * 50000);
		cr_assert_gt(r.rttvar_us, 0);
		cr_assert_gt(r.rto_us, r.srtt_us);
	}
	cr_assert_eq(r.srtt_us, 50000);
}

Test(sctp_rto, a_measurement_of_nothing_is_a_microsecond)
{
	struct sctp_rto r = fresh(S, 1, 60 * S);

	sctp_rto_sample(&r, 0, 0);
	cr_assert_eq(r.srtt_us, 1);
	cr_assert_eq(r.min_rtt_us, 1);
}

/* rows: 9260-6.3-01 9260-6.3-02 */
Test(sctp_rto, paths_are_measured_apart)
{
	struct sctp_rto fast = fresh(S, 1, 60 * S), slow = fresh(S, 1, 60 * S);

	sctp_rto_sample(&fast, 10000, 0);
	sctp_rto_sample(&slow, 300000, 0);
	cr_assert_eq(fast.rto_us, 30000);
	cr_assert_eq(slow.rto_us, 900000);
}

Test(sctp_rto, the_least_round_trip_is_forgotten_after_two_periods)
{
	static const struct {
		uint64_t at_s;
		uint32_t rtt, min;
	} row[] = {
		{100, 500, 500},   {101, 900, 500},  {109, 800, 500}, {110, 700, 500},
		{119, 950, 500},   {120, 1000, 700}, {130, 990, 990}, {131, 990, 990},
		{160, 2000, 2000}, {90, 3000, 2000},
	};
	struct sctp_rto r = fresh(S, 1, 60 * S);

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		sctp_rto_sample(&r, row[i].rtt, row[i].at_s * S);
		cr_assert_eq(r.min_rtt_us, row[i].min, "row %u: %u", i, r.min_rtt_us);
	}
}
