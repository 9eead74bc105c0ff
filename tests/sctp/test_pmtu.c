/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the search finds what a path takes, within 16 bytes and a bounded number of probes, and
 * survives black holes. */
#include <criterion/criterion.h>
#include <string.h>

#include "sctp/path/pmtu.h"
#include "sctp/sctp.h"

enum { RTO = 1000000 };

static struct sctp_pmtu fresh(uint32_t max)
{
	struct sctp_pmtu m;

	sctp_pmtu_init(&m, max, 0);
	return m;
}

/* Sends what is due. Returns the number of probes, and whether the path, which takes packets of
 * `takes` bytes, passes any of them. */
static unsigned send_try(struct sctp_pmtu *m, uint32_t takes, uint64_t now, uint32_t ret_passed[4])
{
	uint32_t size;
	unsigned n = 0;

	memset(ret_passed, 0, 4 * sizeof(*ret_passed));
	while ((size = sctp_pmtu_due(m, now))) {
		cr_assert_leq(size, m->max);
		cr_assert_eq(size % 4, 0);
		cr_assert_lt(n, SCTP_PMTU_LADDER);
		sctp_pmtu_sent(m, RTO, now);
		ret_passed[n++] = size <= takes ? size : 0;
	}
	return n;
}

/* One try, and its answers; or the time until it is over. */
static unsigned try(struct sctp_pmtu *m, uint32_t takes, uint64_t *now)
{
	uint32_t passed[4];
	unsigned n = send_try(m, takes, *now, passed);
	bool first = passed[0] != 0;

	for (unsigned i = 0; i < n; i++)
		if (passed[i])
			(void)sctp_pmtu_answered(m, passed[i], *now + 1000);
	if (first)
		*now += 1000;
	else
		*now = sctp_pmtu_expiry(m);
	(void)sctp_pmtu_run(m, *now);
	return n;
}

/* Runs the search against a path that takes packets of `takes` bytes. Returns the number of probes.
 */
static unsigned run_search(struct sctp_pmtu *m, uint32_t takes, uint64_t *now)
{
	unsigned n = 0;

	while (m->probe) {
		n += try(m, takes, now);
		cr_assert_lt(n, 200);
	}
	return n;
}

/* rows: 9260-7.3-01 */
Test(sctp_pmtu, the_route_s_size_is_reached_in_one_round_trip)
{
	struct sctp_pmtu m = fresh(65507);
	uint64_t now = 0;

	cr_assert_eq(m.size, SCTP_MIN_PACKET);
	cr_assert_eq(sctp_pmtu_due(&m, 0), 65504);
	cr_assert_eq(run_search(&m, 65507, &now), 2);
	cr_assert_eq(now, 1000);
	cr_assert_eq(m.size, 65504);
	cr_assert_eq(m.state, SCTP_PMTU_DONE);
	cr_assert_eq(sctp_pmtu_expiry(&m), UINT64_MAX);
}

/* A path may be narrower than its route: no size is used before it was seen to pass. */
Test(sctp_pmtu, each_size_is_confirmed_before_it_is_used)
{
	static const struct {
		uint32_t max, probe;
	} row[] = {{1472, 1472}, {1200, 1200}, {1000, 1000}, {999, 996}, {552, 552}};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_pmtu m = fresh(row[i].max);

		cr_assert_eq(m.size, SCTP_MIN_PACKET, "row %u", i);
		cr_assert_eq(m.state, SCTP_PMTU_ERROR, "row %u", i);
		cr_assert_eq(sctp_pmtu_due(&m, 0), row[i].probe, "row %u", i);
		sctp_pmtu_sent(&m, RTO, 0);
		cr_assert(sctp_pmtu_answered(&m, row[i].probe, 1), "row %u", i);
		cr_assert_eq(m.size, row[i].probe, "row %u", i);
		cr_assert_eq(m.state, SCTP_PMTU_DONE, "row %u", i);
		cr_assert_eq(sctp_pmtu_expiry(&m), UINT64_MAX, "row %u", i);
	}
}

Test(sctp_pmtu, a_route_of_the_least_packet_needs_no_probe)
{
	static const uint32_t max[] = {SCTP_MIN_PACKET, 100, 0};

	for (unsigned i = 0; i < 3; i++) {
		struct sctp_pmtu m = fresh(max[i]);

		cr_assert_eq(m.size, SCTP_MIN_PACKET);
		cr_assert_eq(m.state, SCTP_PMTU_DONE);
		cr_assert_eq(sctp_pmtu_due(&m, 0), 0);
		cr_assert_eq(sctp_pmtu_expiry(&m), UINT64_MAX);
	}
}

/* BASE is probed together with the largest size, so data waits for no timeout. */
Test(sctp_pmtu, base_is_known_after_one_round_trip_as_well)
{
	struct sctp_pmtu m = fresh(9000);
	uint32_t passed[4];

	cr_assert_eq(send_try(&m, 1472, 0, passed), 2);
	cr_assert_eq(passed[1], SCTP_PMTU_BASE);
	cr_assert(sctp_pmtu_answered(&m, SCTP_PMTU_BASE, 1000));
	cr_assert_eq(m.size, SCTP_PMTU_BASE);
	cr_assert_eq(m.probe, 9000, "it may still be answered");
	cr_assert_eq(sctp_pmtu_due(&m, 1000), 0);
	sctp_pmtu_run(&m, RTO);
	cr_assert_eq(send_try(&m, 1472, RTO, passed), 1, "BASE is known now");
}

/* rows: 9260-7.3-01 */
Test(sctp_pmtu, the_search_ends_within_16_bytes)
{
	static const uint32_t takes[] = {548,  572,  600,   672,   900,  1196, 1200,
					 1201, 1232, 1372,  1452,  1472, 4000, 8952,
					 8972, 9000, 32768, 65000, 65500};

	for (unsigned i = 0; i < sizeof(takes) / sizeof(*takes); i++) {
		struct sctp_pmtu m = fresh(65507);
		uint64_t now = 0;
		unsigned probes = run_search(&m, takes[i], &now);

		cr_assert_leq(m.size, takes[i]);
		cr_assert_leq(takes[i] - m.size, SCTP_PMTU_NEAR, "%u: %u", takes[i], m.size);
		cr_assert_leq(probes, 45, "%u: %u probes", takes[i], probes);
		cr_assert_eq(sctp_pmtu_expiry(&m), now + SCTP_PMTU_RAISE_US);
		cr_assert_eq(m.state, m.size < SCTP_PMTU_BASE ? SCTP_PMTU_ERROR : SCTP_PMTU_DONE);
	}
}

Test(sctp_pmtu, a_lost_probe_is_repeated)
{
	struct sctp_pmtu m = fresh(1472);
	uint32_t passed[4];

	for (unsigned i = 0; i < 2; i++) {
		uint64_t now = i * RTO;

		cr_assert_eq(sctp_pmtu_due(&m, now), 1472);
		send_try(&m, 0, now, passed);
		cr_assert_eq(sctp_pmtu_due(&m, now + RTO - 1), 0);
		sctp_pmtu_run(&m, now + RTO - 1);
		cr_assert(m.sent);
		sctp_pmtu_run(&m, now + RTO);
	}
	sctp_pmtu_sent(&m, RTO, 2 * RTO);
	cr_assert(sctp_pmtu_answered(&m, 1472, 2 * RTO + 10));
	cr_assert_eq(m.size, 1472);
}

Test(sctp_pmtu, a_late_answer_is_good)
{
	struct sctp_pmtu m = fresh(4096);
	uint64_t now = 0;

	for (unsigned i = 0; i < SCTP_PMTU_PROBES; i++)
		try(&m, 1200, &now);
	cr_assert_eq(m.high, 4096);
	cr_assert_eq(m.size, 1200);
	cr_assert(sctp_pmtu_answered(&m, 4096, now));
	cr_assert_eq(m.size, 4096);
	cr_assert_eq(m.state, SCTP_PMTU_DONE);
}

Test(sctp_pmtu, forged_sizes_do_not_raise_the_path_beyond_its_route)
{
	struct sctp_pmtu m = fresh(1472);

	cr_assert_not(sctp_pmtu_answered(&m, 1476, 1));
	cr_assert_not(sctp_pmtu_answered(&m, UINT32_MAX, 1));
	cr_assert_not(sctp_pmtu_answered(&m, 548, 1));
	cr_assert_not(sctp_pmtu_answered(&m, 0, 1));
	cr_assert_eq(m.size, SCTP_MIN_PACKET);
	cr_assert_eq(m.probe, 1472);
}

Test(sctp_pmtu, a_smaller_path_is_searched_again_after_the_raise_time)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	run_search(&m, 1472, &now);
	cr_assert_lt(m.size, 1473);
	now += SCTP_PMTU_RAISE_US - 1;
	sctp_pmtu_run(&m, now);
	cr_assert_eq(sctp_pmtu_due(&m, now), 0);
	now = sctp_pmtu_expiry(&m);
	sctp_pmtu_run(&m, now);
	cr_assert_eq(sctp_pmtu_due(&m, now), 9000);
	run_search(&m, 9000, &now);
	cr_assert_eq(m.size, 9000);
}

/* What the last association found out saves this one the search, until the raise timer. */
Test(sctp_pmtu, a_hint_is_probed_first)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	sctp_pmtu_hint(&m, 1274, 0);
	cr_assert_not(sctp_pmtu_set_max(&m, 9000, 0));
	cr_assert_eq(m.size, SCTP_MIN_PACKET, "it has to pass first");
	cr_assert_eq(sctp_pmtu_due(&m, 0), 1272);
	cr_assert_eq(run_search(&m, 1272, &now), 2);
	cr_assert_eq(m.size, 1272);
	cr_assert_eq(sctp_pmtu_expiry(&m), now + SCTP_PMTU_RAISE_US);
	now = sctp_pmtu_expiry(&m);
	sctp_pmtu_run(&m, now);
	cr_assert_eq(sctp_pmtu_due(&m, now), 9000);
}

Test(sctp_pmtu, a_hint_that_is_wrong_costs_a_search)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	sctp_pmtu_hint(&m, 4000, 0);
	sctp_pmtu_set_max(&m, 1472, 0);
	cr_assert_eq(sctp_pmtu_due(&m, 0), 1472, "beyond the route");
	m = fresh(9000);
	sctp_pmtu_hint(&m, 4000, 0);
	run_search(&m, 1372, &now);
	cr_assert_leq(1372 - m.size, SCTP_PMTU_NEAR);
}

Test(sctp_pmtu, a_refused_probe_fails_at_once)
{
	struct sctp_pmtu m = fresh(65507);

	cr_assert_not(sctp_pmtu_refused(&m, 65504, 5));
	cr_assert_eq(m.high, 65504);
	cr_assert_eq(sctp_pmtu_due(&m, 5), SCTP_PMTU_BASE);
}

Test(sctp_pmtu, refused_data_lowers_the_size_at_once)
{
	struct sctp_pmtu m = fresh(1472);

	sctp_pmtu_sent(&m, RTO, 0);
	sctp_pmtu_answered(&m, 1472, 9);
	cr_assert(sctp_pmtu_refused(&m, 1400, 10));
	cr_assert_eq(m.size, SCTP_PMTU_BASE);
	cr_assert_lt(sctp_pmtu_due(&m, 10), 1400);
	cr_assert(sctp_pmtu_refused(&m, 1100, 11));
	cr_assert_eq(m.size, SCTP_MIN_PACKET);
	cr_assert_eq(m.state, SCTP_PMTU_ERROR);
	cr_assert_not(sctp_pmtu_refused(&m, 500, 11));
}

Test(sctp_pmtu, a_new_route)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	run_search(&m, 9000, &now);
	cr_assert_not(sctp_pmtu_set_max(&m, 9002, now), "the same after rounding");
	cr_assert(sctp_pmtu_set_max(&m, 1472, now));
	cr_assert_eq(m.size, 1472);
	cr_assert_eq(sctp_pmtu_expiry(&m), UINT64_MAX);
	cr_assert_not(sctp_pmtu_set_max(&m, 9000, now));
	cr_assert_eq(m.size, 1472);
	cr_assert_eq(sctp_pmtu_due(&m, now), 9000);
}

Test(sctp_pmtu, a_route_that_is_narrow_for_a_while)
{
	struct sctp_pmtu m = fresh(1472);
	uint64_t now = 0;

	run_search(&m, 1472, &now);
	cr_assert_not(sctp_pmtu_limit(&m, 1472, now));
	cr_assert(sctp_pmtu_limit(&m, 774, now));
	cr_assert_eq(m.size, 772);
	cr_assert_eq(sctp_pmtu_due(&m, now), 0);
	cr_assert_not(sctp_pmtu_limit(&m, 774, now), "again");
	now = sctp_pmtu_expiry(&m);
	cr_assert_eq(now, 1000 + SCTP_PMTU_RAISE_US);
	sctp_pmtu_run(&m, now);
	cr_assert_eq(sctp_pmtu_due(&m, now), 1472);
	sctp_pmtu_sent(&m, RTO, now);
	cr_assert_not(sctp_pmtu_limit(&m, 774, now), "still narrow");
	cr_assert_eq(m.size, 772);
	now = sctp_pmtu_expiry(&m);
	sctp_pmtu_run(&m, now);
	cr_assert_eq(run_search(&m, 1472, &now), 2);
	cr_assert_eq(m.size, 1472);
}

Test(sctp_pmtu, the_limit_of_our_interface_is_probed_next)
{
	struct sctp_pmtu m = fresh(9000);

	sctp_pmtu_sent(&m, RTO, 0);
	cr_assert_not(sctp_pmtu_limit(&m, 1472, 5));
	cr_assert_eq(m.size, SCTP_MIN_PACKET);
	cr_assert_eq(sctp_pmtu_due(&m, 5), 1472);
	sctp_pmtu_sent(&m, RTO, 5);
	cr_assert(sctp_pmtu_answered(&m, 1472, 9));
	cr_assert_eq(m.size, 1472);
	cr_assert_eq(m.state, SCTP_PMTU_DONE);
	cr_assert_eq(sctp_pmtu_expiry(&m), 9 + SCTP_PMTU_RAISE_US);
	cr_assert(sctp_pmtu_limit(&m, 100, 10));
	cr_assert_eq(m.size, SCTP_MIN_PACKET);
}

Test(sctp_pmtu, too_big_messages)
{
	static const struct {
		uint32_t icmp;
		bool probing, changes;
		uint32_t size, due;
	} row[] = {
		/* size 4000 of at most 9000; below BASE it is a doubt, no more */
		{1199, false, false, 4000, 4000}, {0, false, false, 4000, 0},
		{4000, false, false, 4000, 0},    {UINT32_MAX, false, false, 4000, 0},
		{1472, false, true, 1200, 1472},  {1474, false, true, 1200, 1472},
		{1200, false, true, 1200, 0},     {6000, true, false, 4000, 6000},
		{9000, true, false, 4000, 0},     {4000, true, false, 4000, 0},
		{1199, true, false, 4000, 4000},  {547, false, false, 4000, 0},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_pmtu m = fresh(9000);

		sctp_pmtu_sent(&m, RTO, 0);
		sctp_pmtu_answered(&m, 4000, 1);
		m.probe = row[i].probing ? 9000 : 0;
		m.tries = 0;
		m.sent = row[i].probing;
		cr_assert_eq(sctp_pmtu_icmp(&m, row[i].icmp, 5), row[i].changes, "row %u", i);
		cr_assert_eq(m.size, row[i].size, "row %u", i);
		cr_assert_eq(sctp_pmtu_due(&m, 5), row[i].due, "row %u", i);
	}
}

Test(sctp_pmtu, the_size_of_a_too_big_message_ends_the_search)
{
	struct sctp_pmtu m = fresh(9000);

	sctp_pmtu_sent(&m, RTO, 0);
	sctp_pmtu_icmp(&m, 1472, 10);
	cr_assert_eq(sctp_pmtu_due(&m, 10), 1472);
	sctp_pmtu_sent(&m, RTO, 10);
	cr_assert(sctp_pmtu_answered(&m, 1472, 20));
	cr_assert_eq(m.state, SCTP_PMTU_DONE);
	cr_assert_eq(m.size, 1472);
}

/* ---- doubt ---- */

/* Packets of the size in use are lost in two round trips in a row, smaller ones arrive. */
static void lose(struct sctp_pmtu *m, uint32_t size, uint64_t *now)
{
	for (unsigned i = 0; i < 2; i++, *now += 100) {
		cr_assert_not(m->doubt);
		sctp_pmtu_lost(m, size, false, *now, *now + 100);
		sctp_pmtu_arrived(m, 200, *now + 100);
	}
}

static void expect_doubt(struct sctp_pmtu *m, uint64_t now)
{
	uint32_t size = m->size;

	cr_assert(m->doubt);
	cr_assert_eq(sctp_pmtu_due(m, now), size);
}

/* rows: 9260-7.3-01 */
Test(sctp_pmtu, a_black_hole_without_icmp_is_survived)
{
	static const uint32_t takes[] = {548, 600, 1199, 1200, 1472, 4000, 8900};

	for (unsigned i = 0; i < sizeof(takes) / sizeof(*takes); i++) {
		struct sctp_pmtu m = fresh(9000);
		uint64_t now = 0, began;

		run_search(&m, 9000, &now);
		lose(&m, 8900, &now);
		expect_doubt(&m, now);
		began = now;
		for (unsigned k = 0; k < SCTP_PMTU_DOUBTS; k++) {
			cr_assert_eq(m.size, 9000, "%u", takes[i]);
			try(&m, takes[i], &now);
		}
		cr_assert_eq(m.size, takes[i] < SCTP_PMTU_BASE ? SCTP_MIN_PACKET : SCTP_PMTU_BASE);
		cr_assert_eq(now - began, SCTP_PMTU_DOUBTS * RTO);
		run_search(&m, takes[i], &now);
		cr_assert_leq(m.size, takes[i]);
		cr_assert_leq(takes[i] - m.size, SCTP_PMTU_NEAR);
	}
}

Test(sctp_pmtu, one_timeout_is_enough_for_doubt)
{
	struct sctp_pmtu m = fresh(1472);
	uint64_t now = 0;

	run_search(&m, 1472, &now);
	sctp_pmtu_lost(&m, 1472, true, now, now);
	expect_doubt(&m, now);
}

/* They have their TSN and were never made smaller; and small ones pass everywhere. */
Test(sctp_pmtu, losses_of_packets_that_are_larger_than_the_size_in_use_say_nothing)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	run_search(&m, 1472, &now);
	for (unsigned i = 0; i < 50; i++, now += 1000) {
		sctp_pmtu_lost(&m, 9000, i % 2, now, now + 100);
		sctp_pmtu_lost(&m, m.size + 4, i % 2, now, now + 100);
		sctp_pmtu_lost(&m, SCTP_MIN_PACKET, i % 2, now, now + 100);
		cr_assert_not(m.doubt);
		cr_assert_eq(sctp_pmtu_due(&m, now), 0);
	}
}

Test(sctp_pmtu, what_seemed_a_black_hole_is_undone_by_one_answer)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	run_search(&m, 9000, &now);
	lose(&m, 8900, &now);
	cr_assert_eq(run_search(&m, 9000, &now), 3);
	cr_assert_eq(m.size, 9000);
	cr_assert_eq(sctp_pmtu_expiry(&m), UINT64_MAX);
	lose(&m, 8900, &now);
	sctp_pmtu_arrived(&m, 9000, now);
	cr_assert_not(m.doubt, "data of that size is as good");
}

/* The search that was interrupted goes on. */
Test(sctp_pmtu, doubt_during_the_search)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	for (unsigned i = 0; i < 4; i++)
		try(&m, 4000, &now);
	cr_assert_eq(m.size, 2400);
	sctp_pmtu_lost(&m, 2400, true, now, now);
	expect_doubt(&m, now);
	run_search(&m, 4000, &now);
	cr_assert_leq(4000 - m.size, SCTP_PMTU_NEAR);
}

Test(sctp_pmtu, a_black_hole_for_base_leads_to_the_least_packet)
{
	struct sctp_pmtu m = fresh(1200);
	uint64_t now = 0;

	run_search(&m, 1200, &now);
	lose(&m, 1200, &now);
	for (unsigned i = 0; i < SCTP_PMTU_DOUBTS; i++)
		try(&m, 600, &now);
	cr_assert_eq(m.size, SCTP_MIN_PACKET);
	cr_assert_eq(m.state, SCTP_PMTU_ERROR);
	cr_assert(sctp_pmtu_answered(&m, 1200, now + 30), "a late answer");
	cr_assert_eq(m.size, 1200);
	cr_assert_eq(m.state, SCTP_PMTU_DONE);
}

Test(sctp_pmtu, congestion_is_no_black_hole)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	run_search(&m, 9000, &now);
	for (unsigned i = 0; i < 50; i++) {
		/* One burst: all were sent before the first loss was seen. */
		sctp_pmtu_lost(&m, 9000, false, now, now + 100 + i);
		sctp_pmtu_arrived(&m, 100, now + 100 + i);
		cr_assert_not(m.doubt);
	}
	for (unsigned i = 0; i < 50; i++) {
		now += 1000;
		sctp_pmtu_arrived(&m, 9000, now);
		sctp_pmtu_lost(&m, 9000, false, now, now + 100);
		cr_assert_not(m.doubt);
	}
	cr_assert_eq(m.size, 9000);
}

Test(sctp_pmtu, an_outage_is_no_black_hole)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	run_search(&m, 9000, &now);
	for (unsigned i = 0; i < 50; i++, now += RTO) {
		sctp_pmtu_lost(&m, 9000, true, now, now + RTO);
		cr_assert_leq(run_search(&m, 0, &now), 3 * SCTP_PMTU_PROBES);
	}
	cr_assert_eq(m.size, 9000);
	cr_assert_eq(m.state, SCTP_PMTU_DONE);
}

/* rows: 9260-7.3-02 9260-7.3-03 */
Test(sctp_pmtu, paths_are_searched_apart)
{
	struct sctp_pmtu a = fresh(1472), b = fresh(1232);
	uint64_t now = 0;

	run_search(&a, 1472, &now);
	run_search(&b, 1232, &now);
	cr_assert_eq(a.size, 1472);
	cr_assert_eq(b.size, 1232);
	sctp_pmtu_set_max(&a, 1000, now);
	cr_assert_eq(b.size, 1232);
}
