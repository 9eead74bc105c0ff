/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the search finds what a path takes, within 16 bytes and a bounded number of probes, and
 * survives black holes. */
#include <criterion/criterion.h>

#include "sctp/pmtu.h"
#include "sctp/sctp.h"

enum { RTO = 1000000 };

static struct sctp_pmtu fresh(uint32_t max)
{
	struct sctp_pmtu m;

	sctp_pmtu_init(&m, max, 0);
	return m;
}

/* Runs the search against a path that takes packets of `takes` bytes. Returns the number of probes.
 */
static unsigned run_search(struct sctp_pmtu *m, uint32_t takes, uint64_t *now)
{
	unsigned n = 0;

	while (m->probe) {
		uint32_t size = sctp_pmtu_due(m, *now);

		if (size) {
			cr_assert_leq(size, m->max);
			cr_assert_eq(size % 4, 0);
			cr_assert_lt(n++, 200);
			sctp_pmtu_sent(m, RTO, *now);
		}
		if (size && size <= takes) {
			*now += 1000;
			cr_assert(sctp_pmtu_answered(m, size, *now));
		} else {
			*now = sctp_pmtu_expiry(m);
			sctp_pmtu_run(m, *now);
		}
	}
	return n;
}

/* rows: 9260-7.3-01 */
Test(sctp_pmtu, the_route_s_size_is_reached_in_one_round_trip)
{
	struct sctp_pmtu m = fresh(65507);
	uint64_t now = 0;

	cr_assert_eq(m.size, SCTP_PMTU_BASE);
	cr_assert_eq(sctp_pmtu_due(&m, 0), 65504);
	cr_assert_eq(run_search(&m, 65507, &now), 1);
	cr_assert_eq(m.size, 65504);
	cr_assert_eq(m.state, SCTP_PMTU_DONE);
	cr_assert_eq(sctp_pmtu_expiry(&m), UINT64_MAX);
}

Test(sctp_pmtu, a_route_below_base_needs_no_probe)
{
	static const struct {
		uint32_t max, size;
	} row[] = {{1200, 1200}, {1000, 1000}, {999, 996}, {100, 548}, {0, 548}};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_pmtu m = fresh(row[i].max);

		cr_assert_eq(m.size, row[i].size, "row %u", i);
		cr_assert_eq(m.state, SCTP_PMTU_DONE);
		cr_assert_eq(sctp_pmtu_due(&m, 0), 0);
		cr_assert_eq(sctp_pmtu_expiry(&m), UINT64_MAX);
	}
}

/* rows: 9260-7.3-01 */
Test(sctp_pmtu, the_search_ends_within_16_bytes)
{
	static const uint32_t takes[] = {1200, 1201, 1232, 1372,  1452,  1472, 4000,
					 8952, 8972, 9000, 32768, 65000, 65500};

	for (unsigned i = 0; i < sizeof(takes) / sizeof(*takes); i++) {
		struct sctp_pmtu m = fresh(65507);
		uint64_t now = 0;
		unsigned probes = run_search(&m, takes[i], &now);

		cr_assert_leq(m.size, takes[i]);
		cr_assert_leq(takes[i] - m.size, SCTP_PMTU_NEAR, "%u: %u", takes[i], m.size);
		cr_assert_leq(probes, 45, "%u: %u probes", takes[i], probes);
		cr_assert_eq(sctp_pmtu_expiry(&m), now + SCTP_PMTU_RAISE_US);
	}
}

Test(sctp_pmtu, a_lost_probe_is_repeated)
{
	struct sctp_pmtu m = fresh(1472);

	for (unsigned i = 0; i < 2; i++) {
		uint64_t now = i * RTO;

		cr_assert_eq(sctp_pmtu_due(&m, now), 1472);
		sctp_pmtu_sent(&m, RTO, now);
		cr_assert_eq(sctp_pmtu_due(&m, now + RTO - 1), 0);
		sctp_pmtu_run(&m, now + RTO - 1);
		cr_assert(m.outstanding);
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

	for (unsigned i = 0; i < SCTP_PMTU_PROBES; i++) {
		sctp_pmtu_sent(&m, RTO, now);
		now += RTO;
		sctp_pmtu_run(&m, now);
	}
	cr_assert_eq(m.high, 4096);
	cr_assert(sctp_pmtu_answered(&m, 4096, now));
	cr_assert_eq(m.size, 4096);
	cr_assert_eq(m.state, SCTP_PMTU_DONE);
}

Test(sctp_pmtu, forged_sizes_do_not_raise_the_path_beyond_its_route)
{
	struct sctp_pmtu m = fresh(1472);

	cr_assert_not(sctp_pmtu_answered(&m, 1476, 1));
	cr_assert_not(sctp_pmtu_answered(&m, UINT32_MAX, 1));
	cr_assert_not(sctp_pmtu_answered(&m, 1200, 1));
	cr_assert_not(sctp_pmtu_answered(&m, 0, 1));
	cr_assert_eq(m.size, 1200);
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

Test(sctp_pmtu, a_refused_probe_fails_at_once)
{
	struct sctp_pmtu m = fresh(65507);

	cr_assert_not(sctp_pmtu_refused(&m, 65504, 5));
	cr_assert_eq(m.high, 65504);
	cr_assert_eq(sctp_pmtu_due(&m, 5), 2400);
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
	cr_assert_eq(run_search(&m, 1472, &now), 1);
	cr_assert_eq(m.size, 1472);
}

Test(sctp_pmtu, the_limit_of_our_interface_is_probed_next)
{
	struct sctp_pmtu m = fresh(9000);

	sctp_pmtu_sent(&m, RTO, 0);
	cr_assert_not(sctp_pmtu_limit(&m, 1472, 5));
	cr_assert_eq(m.size, SCTP_PMTU_BASE);
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
		/* size 4000 of at most 9000 */
		{1199, false, false, 4000, 0},   {0, false, false, 4000, 0},
		{4000, false, false, 4000, 0},   {UINT32_MAX, false, false, 4000, 0},
		{1472, false, true, 1200, 1472}, {1474, false, true, 1200, 1472},
		{1200, false, true, 1200, 0},    {6000, true, false, 4000, 6000},
		{9000, true, false, 4000, 0},    {4000, true, false, 4000, 0},
		{1199, true, false, 4000, 0},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_pmtu m = fresh(9000);

		sctp_pmtu_sent(&m, RTO, 0);
		sctp_pmtu_answered(&m, 4000, 1);
		m.probe = row[i].probing ? 9000 : 0;
		m.outstanding = row[i].probing;
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

/* rows: 9260-7.3-01 */
Test(sctp_pmtu, a_black_hole_without_icmp_is_survived)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	run_search(&m, 9000, &now);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(m.size, 9000);
		cr_assert_eq(sctp_pmtu_lost(&m, 8900, now, now + 100), i == 2);
		sctp_pmtu_arrived(&m, 200);
		now += 100;
	}
	cr_assert_eq(m.size, SCTP_PMTU_BASE);
	cr_assert_eq(sctp_pmtu_due(&m, now), 9000);
	sctp_pmtu_sent(&m, RTO, now);
	now += RTO;
	sctp_pmtu_run(&m, now);
	cr_assert_eq(sctp_pmtu_due(&m, now), 2400, "one probe is enough");
	run_search(&m, 1472, &now);
	cr_assert_geq(m.size, 1472 - SCTP_PMTU_NEAR);
}

Test(sctp_pmtu, what_seemed_a_black_hole_is_undone_by_one_answer)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	run_search(&m, 9000, &now);
	for (unsigned i = 0; i < 3; i++, now += 100) {
		sctp_pmtu_lost(&m, 8900, now, now + 100);
		sctp_pmtu_arrived(&m, 200);
	}
	cr_assert_eq(m.size, SCTP_PMTU_BASE);
	cr_assert_eq(run_search(&m, 9000, &now), 1);
	cr_assert_eq(m.size, 9000);
}

Test(sctp_pmtu, a_black_hole_for_base_leads_to_the_least_packet)
{
	struct sctp_pmtu m = fresh(1200);

	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(sctp_pmtu_lost(&m, 1200, 10 * i, 10 * i + 5), i == 2);
		sctp_pmtu_arrived(&m, 100);
	}
	cr_assert_eq(m.size, SCTP_MIN_PACKET);
	cr_assert_eq(m.state, SCTP_PMTU_ERROR);
	cr_assert_eq(sctp_pmtu_due(&m, 25), 1200);
	cr_assert(sctp_pmtu_answered(&m, 1200, 30));
	cr_assert_eq(m.state, SCTP_PMTU_DONE);
}

Test(sctp_pmtu, congestion_is_no_black_hole)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	run_search(&m, 9000, &now);
	for (unsigned i = 0; i < 50; i++) {
		/* One burst: all were sent before the first loss was seen. */
		cr_assert_not(sctp_pmtu_lost(&m, 9000, now, now + 100 + i));
		sctp_pmtu_arrived(&m, 100);
	}
	for (unsigned i = 0; i < 50; i++) {
		now += 1000;
		cr_assert_not(sctp_pmtu_lost(&m, 9000, now, now + 100));
		sctp_pmtu_arrived(&m, i % 2 ? 100 : 9000);
	}
	cr_assert_eq(m.size, 9000);
}

Test(sctp_pmtu, an_outage_is_no_black_hole)
{
	struct sctp_pmtu m = fresh(9000);
	uint64_t now = 0;

	run_search(&m, 9000, &now);
	for (unsigned i = 0; i < 50; i++, now += RTO)
		cr_assert_not(sctp_pmtu_lost(&m, 9000, now, now + RTO));
	cr_assert_eq(m.size, 9000);
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
