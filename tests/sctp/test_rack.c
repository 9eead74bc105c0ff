/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a chunk counts as lost by time as RFC 8985 has it, and a path that reorders gets a
 * larger window. */
#include <criterion/criterion.h>

#include "sctp/path/rack.h"

enum { MS = 1000 };

static struct sctp_rack fresh(void)
{
	struct sctp_rack r;

	sctp_rack_init(&r);
	return r;
}

Test(sctp_rack, nothing_is_lost_before_something_arrived)
{
	struct sctp_rack r = fresh();

	cr_assert_not(sctp_rack_before(&r, 0, 1));
}

Test(sctp_rack, chunks_sent_before_the_newest_that_arrived_are_suspects)
{
	struct sctp_rack r = fresh();

	sctp_rack_acked(&r, 10, 5 * MS, false, UINT32_MAX, 25 * MS);
	cr_assert(sctp_rack_before(&r, 4 * MS, 20), "sent earlier, a higher TSN");
	cr_assert(sctp_rack_before(&r, 5 * MS, 9), "same time, a lower TSN");
	cr_assert_not(sctp_rack_before(&r, 5 * MS, 11), "same time, a higher TSN");
	cr_assert_not(sctp_rack_before(&r, 6 * MS, 9), "a retransmission sent later");
	cr_assert_eq(sctp_rack_deadline(&r, 4 * MS, 5 * MS), 29 * MS);
}

Test(sctp_rack, ties_are_broken_across_the_wrap_of_tsns)
{
	struct sctp_rack r = fresh();

	sctp_rack_acked(&r, 2, MS, false, UINT32_MAX, 2 * MS);
	cr_assert(sctp_rack_before(&r, MS, 0xfffffffe));
	cr_assert_not(r.reordering);
	sctp_rack_acked(&r, 0xffffffff, MS, false, UINT32_MAX, 3 * MS);
	cr_assert(r.reordering);
}

Test(sctp_rack, an_older_chunk_does_not_replace_the_newest)
{
	struct sctp_rack r = fresh();

	sctp_rack_acked(&r, 10, 9 * MS, false, UINT32_MAX, 20 * MS);
	sctp_rack_acked(&r, 11, 8 * MS, true, 1, 30 * MS);
	cr_assert_eq(r.sent_us, 9 * MS);
	cr_assert_eq(r.tsn, 10);
	cr_assert_eq(r.rtt_us, 11 * MS);
}

Test(sctp_rack, ambiguous_acknowledgements_say_nothing)
{
	static const struct {
		bool repeated;
		uint32_t min_rtt, rtt;
		bool counts;
	} row[] = {
		{false, UINT32_MAX, 1, true},   {true, UINT32_MAX, 500 * MS, false},
		{true, 10 * MS, 9 * MS, false}, {true, 10 * MS, 10 * MS, true},
		{false, 10 * MS, 9 * MS, true},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_rack r = fresh();

		sctp_rack_acked(&r, 1, MS, row[i].repeated, row[i].min_rtt, MS + row[i].rtt);
		cr_assert_eq(r.any, row[i].counts, "row %u", i);
	}
}

Test(sctp_rack, a_retransmission_is_detected_as_lost_too)
{
	struct sctp_rack r = fresh();

	/* TSN 5 was sent again at 40 ms; TSN 30 of 41 ms arrived 20 ms later. */
	sctp_rack_acked(&r, 30, 41 * MS, false, 20 * MS, 61 * MS);
	cr_assert(sctp_rack_before(&r, 40 * MS, 5));
	cr_assert_eq(sctp_rack_deadline(&r, 40 * MS, 5 * MS), 65 * MS);
}

Test(sctp_rack, only_chunks_sent_once_show_reordering)
{
	struct sctp_rack r = fresh();

	sctp_rack_acked(&r, 7, MS, false, UINT32_MAX, 2 * MS);
	sctp_rack_acked(&r, 5, MS, true, 1, 3 * MS);
	cr_assert_not(r.reordering);
	sctp_rack_acked(&r, 8, MS, false, 1, 3 * MS);
	cr_assert_not(r.reordering);
	sctp_rack_acked(&r, 6, MS, false, 1, 3 * MS);
	cr_assert(r.reordering);
}

Test(sctp_rack, the_window_by_what_is_known)
{
	static const struct {
		bool reordering, misses;
		unsigned mult;
		uint32_t min, srtt, window;
	} row[] = {
		{false, false, 1, 40 * MS, 50 * MS, 10 * MS},
		{false, true, 1, 40 * MS, 50 * MS, 0},
		{true, true, 1, 40 * MS, 50 * MS, 10 * MS},
		{true, false, 3, 40 * MS, 50 * MS, 30 * MS},
		{true, false, 100, 40 * MS, 50 * MS, 50 * MS},
		{false, false, 1, UINT32_MAX, 50 * MS, 50 * MS},
		{false, false, 1, UINT32_MAX, 0, 0},
		{true, false, 256, UINT32_MAX, UINT32_MAX, UINT32_MAX},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_rack r = fresh();

		r.reordering = row[i].reordering;
		r.window_mult = row[i].mult;
		cr_assert_eq(sctp_rack_window(&r, row[i].min, row[i].srtt, row[i].misses),
			     row[i].window, "row %u", i);
	}
}

Test(sctp_rack, a_needless_retransmission_widens_the_window_for_16_recoveries)
{
	struct sctp_rack r = fresh();

	sctp_rack_needless(&r);
	cr_assert_eq(sctp_rack_window(&r, 40 * MS, 100 * MS, true), 20 * MS);
	for (int i = 0; i < 15; i++)
		sctp_rack_recovered(&r);
	cr_assert_eq(sctp_rack_window(&r, 40 * MS, 100 * MS, true), 20 * MS);
	sctp_rack_recovered(&r);
	cr_assert_eq(sctp_rack_window(&r, 40 * MS, 100 * MS, true), 10 * MS);
	sctp_rack_recovered(&r);
	cr_assert_eq(r.window_mult, 1);
}

Test(sctp_rack, any_number_of_needless_retransmissions_is_bounded)
{
	struct sctp_rack r = fresh();

	for (int i = 0; i < 100000; i++)
		sctp_rack_needless(&r);
	cr_assert_eq(sctp_rack_window(&r, UINT32_MAX - 1, 70 * MS, false), 70 * MS);
}

Test(sctp_rack, the_tail_loss_probe)
{
	static const struct {
		uint32_t srtt;
		bool single;
		uint32_t delay, probe;
	} row[] = {
		{0, false, 200 * MS, UINT32_MAX},
		{50 * MS, false, 200 * MS, 100 * MS},
		{50 * MS, true, 200 * MS, 300 * MS},
		{20, false, 0, 5 * MS},
		{UINT32_MAX, true, UINT32_MAX, UINT32_MAX - 1},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
		cr_assert_eq(sctp_rack_probe_us(row[i].srtt, row[i].single, row[i].delay),
			     row[i].probe, "row %u", i);
}

Test(sctp_rack, time_that_goes_back_is_no_round_trip)
{
	struct sctp_rack r = fresh();

	sctp_rack_acked(&r, 1, 10 * MS, false, UINT32_MAX, 5 * MS);
	cr_assert_eq(r.rtt_us, 0);
	sctp_rack_acked(&r, 2, 11 * MS, false, UINT32_MAX, UINT64_MAX);
	cr_assert_eq(r.rtt_us, UINT32_MAX);
}
