/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: on a paced path CUBIC judges the use of its window by round trips and validates it (RFC
 * 7661), comes down gradually in fast recovery (RFC 9937), and RFC 9260's table does none of it. */
#include <criterion/criterion.h>

#include "sctp/path/cc.h"

enum { P = 1460, MS = 1000, BIG = 1 << 30 };

static struct sctp_cc fresh(enum sctp_cc_algo algo, uint32_t pmdcs)
{
	struct sctp_cc c;

	sctp_cc_init(&c, algo, pmdcs, false, BIG);
	return c;
}

Test(sctp_cc_paced, pacing_rate)
{
	static const struct {
		uint32_t cwnd, ssthresh, srtt_us;
		uint64_t rate;
	} row[] = {
		{100000, UINT32_MAX, 10000, 20000000}, /* slow start: twice the window */
		{100000, 200001, 10000, 12500000},     /* half-way to ssthresh */
		{100000, 200003, 10000, 20000000},
		{100000, 50000, 10000, 12500000},
		{100000, UINT32_MAX, 0, 0},
		{UINT32_C(1) << 31, 1, 1, UINT64_C(2684354560000000)},
		{P, 4 * P, 1000000, 20 * P}, /* ten packets are no burst */
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
		for (int algo = SCTP_CC_RFC9260; algo <= SCTP_CC_CUBIC; algo++) {
			struct sctp_cc c = fresh(algo, P);

			c.cwnd = row[i].cwnd;
			c.ssthresh = row[i].ssthresh;
			cr_assert_eq(sctp_cc_pacing_rate(&c, row[i].srtt_us), row[i].rate, "row %u",
				     i);
		}
}

/* rows: 9260-7.2.1-12 */
Test(sctp_cc_paced, only_cubic_counts_all_packets_of_a_sack_on_a_paced_path)
{
	const struct sctp_cc_ack a = {
		.bytes = 64 * P, .flight = 100 * P, .cum_advanced = true, .paced = true};

	for (int algo = SCTP_CC_RFC9260; algo <= SCTP_CC_CUBIC; algo++) {
		struct sctp_cc c = fresh(algo, P);

		c.cwnd = 100 * P;
		sctp_cc_acked(&c, &a, 0);
		cr_assert_eq(c.cwnd, algo == SCTP_CC_CUBIC ? 164u * P : 101u * P);
	}
}

/* A SACK on a paced path whose round trip ends with it. */
static void paced_ack(struct sctp_cc *c, struct sctp_cc_ack a, uint64_t now)
{
	a.cum_advanced = true;
	a.paced = true;
	a.srtt_us = 10 * MS;
	sctp_cc_acked(c, &a, now);
}

/* The pacer lets the flight reach the window for a moment of a round trip only. */
Test(sctp_cc_paced, the_window_is_in_use_if_a_round_trip_reached_it)
{
	struct sctp_cc c = fresh(SCTP_CC_CUBIC, P);

	c.cwnd = 100 * P;
	paced_ack(&c, (struct sctp_cc_ack){.bytes = P, .flight = 100 * P, .next_tsn = 101}, 1);
	cr_assert_eq(c.cwnd, 101 * P);
	paced_ack(&c,
		  (struct sctp_cc_ack){.bytes = P, .flight = 20 * P, .cum = 100, .next_tsn = 150},
		  1);
	cr_assert_eq(c.cwnd, 102 * P, "the round trip goes on");
	paced_ack(&c,
		  (struct sctp_cc_ack){.bytes = P, .flight = 20 * P, .cum = 101, .next_tsn = 180},
		  1);
	cr_assert_eq(c.cwnd, 102 * P, "it is over");
	paced_ack(&c,
		  (struct sctp_cc_ack){.bytes = P, .flight = 51 * P, .cum = 102, .next_tsn = 180},
		  1);
	cr_assert_eq(c.cwnd, 102 * P, "half of it is not enough");
	paced_ack(&c,
		  (struct sctp_cc_ack){.bytes = P, .flight = 52 * P, .cum = 103, .next_tsn = 180},
		  1);
	cr_assert_eq(c.cwnd, 103 * P, "more than half of it is, in slow start");
	c.ssthresh = 102 * P;
	paced_ack(&c,
		  (struct sctp_cc_ack){.bytes = P, .flight = 102 * P, .cum = 104, .next_tsn = 180},
		  1);
	cr_assert_eq(c.cwnd, 103 * P, "not in congestion avoidance");
}

Test(sctp_cc_paced, gap_blocks_count_when_the_cumulative_tsn_advances)
{
	struct sctp_cc c = fresh(SCTP_CC_CUBIC, P);
	struct sctp_cc_ack a = {.bytes = 30 * P, .flight = 100 * P, .paced = true};

	c.cwnd = 100 * P;
	sctp_cc_acked(&c, &a, 1);
	sctp_cc_acked(&c, &a, 1);
	cr_assert_eq(c.cwnd, 100 * P);
	paced_ack(&c, (struct sctp_cc_ack){.bytes = P, .flight = 100 * P}, 1);
	cr_assert_eq(c.cwnd, 161 * P);
	paced_ack(&c, (struct sctp_cc_ack){.bytes = P, .flight = 161 * P}, 1);
	cr_assert_eq(c.cwnd, 162 * P, "once");
}

/* 20 packets of a window of 100 are in flight each round trip. */
static struct sctp_cc little_used(uint64_t *now)
{
	struct sctp_cc c = fresh(SCTP_CC_CUBIC, P);

	c.cwnd = 100 * P;
	c.ssthresh = 90 * P;
	for (uint32_t i = 0; i < 1000; i++) {
		*now += 500;
		paced_ack(&c,
			  (struct sctp_cc_ack){
				  .bytes = P, .flight = 20 * P, .cum = i, .next_tsn = i + 20},
			  *now);
	}
	return c;
}

Test(sctp_cc_paced, a_loss_leaves_a_part_of_what_was_in_use)
{
	uint64_t now = 1;
	struct sctp_cc c = little_used(&now), early = c;

	cr_assert_eq(c.cwnd, 100 * P);
	cr_assert_float_eq((double)sctp_pipe_ack_bytes(&c.pipe_ack), 20 * P, 2 * P, "%u",
			   sctp_pipe_ack_bytes(&c.pipe_ack));
	sctp_cc_lost(&c, 20 * P);
	cr_assert_float_eq((double)c.cwnd, 14 * P, 2 * P, "%u packets", c.cwnd / P);
	sctp_cc_undo(&c);
	cr_assert_eq(c.cwnd, 100 * P);
	sctp_cc_lost(&early, 60 * P);
	cr_assert_eq(early.cwnd, 70 * P, "it was in use");
}

/* rows: 9260-7.2.1-14 */
Test(sctp_cc_paced, a_window_is_kept_for_five_minutes_and_then_halved)
{
	uint64_t now = 1, minute = 60 * UINT64_C(1000000);
	struct sctp_cc c = little_used(&now);

	sctp_cc_idle(&c, 4 * minute, 1000000, now + 4 * minute);
	cr_assert_eq(c.cwnd, 100 * P);
	sctp_cc_idle(&c, 6 * minute, 1000000, now + 6 * minute);
	cr_assert_eq(c.cwnd, 50 * P);
	cr_assert_eq(c.ssthresh, 90 * P, "slow start leads back");
	sctp_cc_idle(&c, 11 * minute, 1000000, now + 11 * minute);
	cr_assert_eq(c.cwnd, 25 * P);
	sctp_cc_idle(&c, 300 * minute, 1000000, now + 300 * minute);
	cr_assert_eq(c.cwnd, 4 * P);
}

/* rows: 9260-7.2.1-14 9260-7.2.1-08 */
Test(sctp_cc_paced, rfc9260_keeps_its_rules)
{
	struct sctp_cc c = fresh(SCTP_CC_RFC9260, P);

	c.cwnd = 100 * P;
	paced_ack(&c, (struct sctp_cc_ack){.bytes = 8 * P, .flight = 100 * P, .next_tsn = 200}, 1);
	cr_assert_eq(c.cwnd, 101 * P);
	paced_ack(&c, (struct sctp_cc_ack){.bytes = P, .flight = 90 * P, .next_tsn = 200}, 1);
	cr_assert_eq(c.cwnd, 101 * P);
	sctp_cc_idle(&c, 1000, 1000, 1000);
	cr_assert_eq(c.cwnd, 101 * P / 2);
	sctp_cc_lost(&c, 20 * P);
	cr_assert_not(c.prr.runs);
	cr_assert_eq(sctp_cc_room(&c, 20 * P), c.cwnd - 20 * P);
}

/* ---- fast recovery ---- */

Test(sctp_cc_paced, cubic_comes_down_to_ssthresh_in_a_round_trip)
{
	struct sctp_cc c = fresh(SCTP_CC_CUBIC, P);
	uint32_t flight = 99 * P;

	c.cwnd = 100 * P;
	sctp_cc_lost(&c, flight);
	flight -= P;
	sctp_cc_recover(&c, &(struct sctp_prr_ack){.delivered = P, .flight = flight});
	cr_assert_eq(c.cwnd, 70 * P);
	cr_assert_eq(c.ssthresh, 70 * P);
	for (int i = 0; i < 98; i++) {
		while (sctp_cc_room(&c, flight)) {
			sctp_cc_sent(&c, P);
			flight += P;
		}
		flight -= P;
		sctp_cc_recover(&c, &(struct sctp_prr_ack){.delivered = P, .flight = flight});
		cr_assert_lt(sctp_cc_room(&c, flight), 2 * P, "no burst");
	}
	cr_assert_float_eq((double)flight, 70 * P, 2 * P, "%u packets", flight / P);
	cr_assert_eq(c.cwnd, 70 * P);
	sctp_cc_recovered(&c);
	cr_assert_eq(sctp_cc_room(&c, 50 * P), 20 * P);
}
