/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the rate of a path is what was acknowledged lately, and falls when that ends. */
#include <criterion/criterion.h>

#include "sctp/path/ack_rate.h"

enum { MS = 1000, RTT_US = 10 * MS };

static struct sctp_ack_rate r;
static uint64_t now = 77 * UINT64_C(1000000);

/* A SACK each millisecond. */
static void flow(unsigned ms, uint32_t bytes)
{
	while (ms--) {
		now += MS;
		sctp_ack_rate_add(&r, bytes, RTT_US, now);
	}
}

static uint64_t rate(void)
{
	return sctp_ack_rate_now(&r, RTT_US, now);
}

Test(sctp_ack_rate, a_new_path_has_none)
{
	cr_expect_eq(rate(), 0);
	now += 3600 * UINT64_C(1000000);
	cr_expect_eq(rate(), 0);
}

Test(sctp_ack_rate, a_steady_flow_is_measured_after_a_tenth_of_a_second)
{
	flow(101, 12500);
	cr_expect_eq(rate(), 12500000);
	flow(100, 12500);
	cr_expect_eq(rate(), 12500000);
	flow(500, 1250);
	cr_expect_eq(rate(), 1250000);
}

Test(sctp_ack_rate, a_long_round_trip_needs_a_longer_period)
{
	for (unsigned i = 0; i < 8; i++) {
		now += 250 * MS;
		sctp_ack_rate_add(&r, 1000000, 500 * MS, now);
	}
	cr_expect_eq(sctp_ack_rate_now(&r, 500 * MS, now), 4000000);
}

Test(sctp_ack_rate, it_falls_while_nothing_is_acknowledged)
{
	flow(401, 12500);
	now += 199 * MS;
	cr_expect_geq(rate(), 12500000);
	now += 800 * MS;
	cr_expect_leq(rate(), 1250000);
}

Test(sctp_ack_rate, a_rest_is_no_part_of_the_next_period)
{
	flow(401, 12500);
	now += 10 * UINT64_C(1000000);
	flow(201, 12500);
	cr_expect_geq(rate(), 12400000, "%lu", rate());
}
