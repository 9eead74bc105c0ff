/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the window follows RFC 9260 7.2, with HyStart++ at the end of slow start. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "sctp/path/cc.h"

enum { P = 1460, MS = 1000, BIG = 1 << 30 };

static struct sctp_cc fresh(enum sctp_cc_algo algo, uint32_t pmdcs)
{
	struct sctp_cc c;

	sctp_cc_init(&c, algo, pmdcs, false, BIG);
	return c;
}

/* A window in congestion avoidance. */
static struct sctp_cc avoiding(uint32_t cwnd)
{
	struct sctp_cc c = fresh(SCTP_CC_RFC9260, P);

	c.cwnd = cwnd;
	c.ssthresh = cwnd - 1;
	c.fresh = false;
	return c;
}

static void ack(struct sctp_cc *c, uint32_t bytes, uint32_t flight)
{
	sctp_cc_acked(c, &(struct sctp_cc_ack){.bytes = bytes, .flight = flight, .cum_advanced = 1},
		      0);
}

/* rows: 9260-7.2.1-01 9260-7.2.1-02 9260-7.2.1-05 9260-7.2.2-05 */
Test(sctp_cc, initial_windows)
{
	static const struct {
		uint32_t pmdcs;
		bool v6;
		uint32_t cwnd;
	} row[] = {
		{1460, false, 4404},    {536, false, 2144}, {8960, false, 17920},
		{1440, true, 4344},     {1220, true, 4344}, {8940, true, 17880},
		{65484, false, 130968},
	};

	for (unsigned i = 0; i < 2 * sizeof(row) / sizeof(*row); i++) {
		unsigned k = i / 2;
		struct sctp_cc c;

		sctp_cc_init(&c, i % 2 ? SCTP_CC_CUBIC : SCTP_CC_RFC9260, row[k].pmdcs, row[k].v6,
			     BIG);
		cr_assert_eq(c.cwnd, row[k].cwnd, "row %u: %u", k, c.cwnd);
		cr_assert_eq(c.ssthresh, UINT32_MAX);
		cr_assert_eq(c.partial, 0);
	}
}

/* RFC 6928 */
Test(sctp_cc, bbr_begins_with_ten_packets)
{
	static const uint32_t row[][2] = {
		{536, 5360}, {1188, 11880}, {1460, 14600}, {8960, 17920}, {65484, 130968}};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
		cr_assert_eq(fresh(SCTP_CC_BBR, row[i][0]).cwnd, row[i][1], "row %u", i);
}

Test(sctp_cc, the_path_mtu_changes)
{
	struct sctp_cc c = fresh(SCTP_CC_RFC9260, 1188);

	sctp_cc_set_pmdcs(&c, 65484);
	cr_assert_eq(c.cwnd, 130968, "nothing was sent: the initial window of the new size");
	sctp_cc_set_pmdcs(&c, 1460);
	cr_assert_eq(c.cwnd, 4404);
	ack(&c, 100, 100);
	sctp_cc_set_pmdcs(&c, 65484);
	cr_assert_eq(c.cwnd, 130968, "little was sent: the window was not used");
	sctp_cc_set_pmdcs(&c, 1460);
	ack(&c, 1460, 4404);
	cr_assert_eq(c.cwnd, 5864);
	sctp_cc_set_pmdcs(&c, 8960);
	cr_assert_eq(c.cwnd, 8960, "at least one packet");
	sctp_cc_set_pmdcs(&c, 1188);
	cr_assert_eq(c.cwnd, 8960);
}

/* rows: 9260-7.2.1-08 9260-7.2.1-09 9260-7.2.1-10 9260-7.2.1-11 9260-7.2-04 */
Test(sctp_cc, slow_start)
{
	static const struct {
		const char *what;
		struct sctp_cc_ack a;
		uint32_t grows;
	} row[] = {
		{"one packet", {.bytes = 1460, .flight = 14600, .cum_advanced = 1}, 1460},
		{"two packets add one", {.bytes = 3000, .flight = 14600, .cum_advanced = 1}, 1460},
		{"ten packets add one", {.bytes = 14600, .flight = 14600, .cum_advanced = 1}, 1460},
		{"a part of a packet", {.bytes = 20, .flight = 14600, .cum_advanced = 1}, 20},
		{"window not in full use", {.bytes = 1460, .flight = 14599, .cum_advanced = 1}, 0},
		{"data waited",
		 {.bytes = 1460, .flight = 9, .cum_advanced = 1, .limited = 1},
		 1460},
		{"fast recovery",
		 {.bytes = 1460, .flight = 14600, .cum_advanced = 1, .recovery = 1},
		 0},
		{"only gap blocks", {.bytes = 1460, .flight = 14600}, 0},
		{"nothing new", {.flight = 14600, .cum_advanced = 1}, 0},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_cc c = fresh(SCTP_CC_RFC9260, P);

		c.cwnd = c.ssthresh = 14600;
		sctp_cc_acked(&c, &row[i].a, 0);
		cr_assert_eq(c.cwnd, 14600 + row[i].grows, "%s: %u", row[i].what, c.cwnd);
	}
}

/* rows: 9260-7.2.1-10 */
Test(sctp_cc, splitting_acknowledgements_gains_nothing)
{
	struct sctp_cc c = fresh(SCTP_CC_RFC9260, P);
	uint32_t before = c.cwnd;

	for (int i = 0; i < 73; i++)
		ack(&c, 20, 10 * P);
	cr_assert_eq(c.cwnd, before + 1460);
}

/* rows: 9260-7.2-01 9260-7.2.1-08 */
Test(sctp_cc, a_bulk_flow_doubles_per_round_trip)
{
	struct sctp_cc c = fresh(SCTP_CC_RFC9260, P);

	c.cwnd = 10 * P;
	for (int round = 0; round < 5; round++) {
		uint32_t packets = c.cwnd / P;

		for (uint32_t i = 0; i < packets; i++)
			ack(&c, P, c.cwnd);
		cr_assert_eq(c.cwnd, 2 * packets * P);
	}
}

/* rows: 9260-7.2.2-01 9260-7.2.2-03 9260-7.2.2-06 9260-7.2.2-07 9260-7.2.2-08 9260-7.2.2-10 */
Test(sctp_cc, congestion_avoidance)
{
	static const struct {
		const char *what;
		uint32_t partial, bytes, flight;
		bool all;
		uint32_t cwnd, after;
	} row[] = {
		{"counts", 0, 2920, 29200, false, 29200, 2920},
		{"counts without full use", 0, 2920, 1460, false, 29200, 2920},
		{"a window's worth: one packet", 27740, 1460, 29200, false, 30660, 0},
		{"subtracts the old window", 27740, 2920, 29200, false, 30660, 1460},
		{"without full use the count is capped", 29000, 2920, 29199, false, 29200, 29200},
		{"and used later", 29200, 1460, 29200, false, 30660, 1460},
		{"overshoot is full use", 29000, 200, 30000, false, 30660, 0},
		{"everything acknowledged", 10000, 2920, 29200, true, 29200, 0},
		{"hostile", UINT32_MAX, UINT32_MAX, 29200, false, 30660, 30660},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_cc c = avoiding(29200);

		c.partial = row[i].partial;
		sctp_cc_acked(&c,
			      &(struct sctp_cc_ack){.bytes = row[i].bytes,
						    .flight = row[i].flight,
						    .all_acked = row[i].all},
			      0);
		cr_assert_eq(c.cwnd, row[i].cwnd, "%s: %u", row[i].what, c.cwnd);
		cr_assert_eq(c.partial, row[i].after, "%s: partial %u", row[i].what, c.partial);
	}
}

/* rows: 9260-7.2.2-02 9260-7.2.2-04 9260-7.2-02 */
Test(sctp_cc, no_round_trip_adds_more_than_a_packet)
{
	srand(7);
	for (int seed = 0; seed < 200; seed++) {
		struct sctp_cc c = avoiding((uint32_t)(6 * P + rand() % 500000));

		for (int round = 0; round < 20; round++) {
			uint32_t before = c.cwnd, left = c.cwnd;

			while (left) {
				uint32_t n = 1 + (uint32_t)rand() % (4 * P);

				n = n < left ? n : left;
				ack(&c, n, before);
				left -= n;
			}
			cr_assert_leq(c.cwnd, before + P);
		}
	}
}

/* rows: 9260-7.2.3-01 */
Test(sctp_cc, loss_halves_the_window)
{
	static const struct {
		uint32_t before, ssthresh, cwnd;
	} row[] = {
		{29200, 14600, 14600},
		{8000, 5840, 5840},
		{5840, 5840, 5840},
		{1460, 5840, 1460}, /* the literal formula would quadruple the window */
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_cc c = avoiding(row[i].before);

		c.partial = 1000;
		sctp_cc_lost(&c, c.cwnd);
		cr_assert_eq(c.ssthresh, row[i].ssthresh, "row %u", i);
		cr_assert_eq(c.cwnd, row[i].cwnd, "row %u", i);
		cr_assert_eq(c.partial, 0);
	}
}

/* rows: 9260-6.3.3-01 9260-7.2.3-02 9260-7.2.3-03 9260-7.2.1-03 9260-7.2.1-04 */
Test(sctp_cc, an_expiry_leaves_one_packet)
{
	struct sctp_cc c = avoiding(29200);

	c.partial = 1000;
	sctp_cc_timed_out(&c, c.cwnd);
	cr_assert_eq(c.ssthresh, 14600);
	cr_assert_eq(c.cwnd, P);
	cr_assert_eq(c.partial, 0);
	cr_assert_eq(sctp_cc_room(&c, 0), P);
	cr_assert_eq(sctp_cc_room(&c, 20), 0, "a short packet permits no second one");
	ack(&c, 20, 20);
	cr_assert_eq(sctp_cc_room(&c, 20), P - 20);
}

Test(sctp_cc, repeated_expiries)
{
	struct sctp_cc c = avoiding(29200);

	for (int i = 0; i < 3; i++)
		sctp_cc_timed_out(&c, c.cwnd);
	cr_assert_eq(c.ssthresh, 4 * P);
	sctp_cc_undo(&c);
	cr_assert_eq(c.cwnd, 29200, "they count as one reduction");
	cr_assert_eq(c.ssthresh, 29199);
}

/* rows: 9260-7.2.4-17 */
Test(sctp_cc, growth_comes_before_the_reduction_of_the_same_sack)
{
	struct sctp_cc c = avoiding(29200);

	c.partial = 29200;
	ack(&c, P, 29200);
	sctp_cc_lost(&c, c.cwnd);
	cr_assert_eq(c.cwnd, (29200 + P) / 2);
}

Test(sctp_cc, a_needless_reduction_is_undone_once)
{
	struct sctp_cc c = fresh(SCTP_CC_RFC9260, P);

	sctp_cc_undo(&c);
	cr_assert_eq(c.cwnd, 4404, "nothing to undo");
	c.cwnd = 100 * P;
	sctp_cc_lost(&c, c.cwnd);
	sctp_cc_undo(&c);
	cr_assert_eq(c.cwnd, 100 * P);
	cr_assert_eq(c.ssthresh, UINT32_MAX, "slow start goes on");
	c.cwnd = 50 * P;
	sctp_cc_undo(&c);
	cr_assert_eq(c.cwnd, 50 * P);
}

Test(sctp_cc, undo_does_not_lower_the_window)
{
	struct sctp_cc c = avoiding(20 * P);

	sctp_cc_lost(&c, c.cwnd);
	c.cwnd = 30 * P;
	sctp_cc_undo(&c);
	cr_assert_eq(c.cwnd, 30 * P);
}

/* rows: 9260-7.2.1-14 9260-7.2.1-15 9260-7.2.2-09 9260-7.1-06 */
Test(sctp_cc, idle_time)
{
	static const struct {
		uint32_t cwnd;
		uint64_t rtos;
		uint32_t after, ssthresh;
	} row[] = {
		{46720, 0, 46720, 46719}, {46720, 1, 23360, 46720},
		{46720, 2, 11680, 46720}, {46720, 3, 5840, 46720},
		{46720, 9, 5840, 46720},  {1460, 9, 1460, 1459},
		{5840, 9, 5840, 5839},    {46720, UINT64_MAX / 1000000, 5840, 46720},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_cc c = avoiding(row[i].cwnd);

		sctp_cc_idle(&c, row[i].rtos * 1000000 + 999, 1000000, 0);
		cr_assert_eq(c.cwnd, row[i].after, "row %u: %u", i, c.cwnd);
		cr_assert_eq(c.ssthresh, row[i].ssthresh, "row %u: %u", i, c.ssthresh);
	}
}

/* rows: 9260-7.2.1-14 9260-7.2.1-15 */
Test(sctp_cc, idle_time_reported_once_per_timeout)
{
	static const uint32_t cwnd[] = {23360, 11680, 5840, 5840};
	struct sctp_cc c = avoiding(46720);

	for (unsigned i = 0; i < 4; i++) {
		sctp_cc_idle(&c, 1000, 1000, 0);
		cr_assert_eq(c.cwnd, cwnd[i]);
		cr_assert_eq(c.ssthresh, 46720);
	}
	ack(&c, P, 5840);
	cr_assert_eq(c.cwnd, 5840 + P, "slow start back");
	sctp_cc_idle(&c, 1000, 0, 0);
	cr_assert_eq(c.cwnd, 5840 + P, "without a timeout nothing happens");
}

Test(sctp_cc, cubic_keeps_an_unknown_ssthresh_over_idle_time)
{
	struct sctp_cc c = fresh(SCTP_CC_CUBIC, P);

	c.cwnd = 46720;
	sctp_cc_idle(&c, 3000, 1000, 0);
	cr_assert_eq(c.cwnd, 5840);
	cr_assert_eq(c.ssthresh, UINT32_MAX);
	c.cwnd = 46720;
	c.ssthresh = 100;
	c.idle = false;
	sctp_cc_idle(&c, 1000, 1000, 0);
	cr_assert_eq(c.ssthresh, 46720);
}

/* rows: 9260-7.2.1-06 9260-7.2.1-07 */
Test(sctp_cc, room)
{
	struct sctp_cc c = fresh(SCTP_CC_RFC9260, P);

	cr_assert_eq(sctp_cc_room(&c, 0), 4404);
	cr_assert_eq(sctp_cc_room(&c, 4403), 1, "the last packet may exceed it");
	cr_assert_eq(sctp_cc_room(&c, 4404), 0);
	cr_assert_eq(sctp_cc_room(&c, UINT32_MAX), 0);
}

Test(sctp_cc, bursts)
{
	struct sctp_cc c = avoiding(1000 * P);

	cr_assert_eq(sctp_cc_room(&c, 10 * P), 990 * P);
	sctp_cc_burst(&c, 10 * P, 40);
	cr_assert_eq(sctp_cc_room(&c, 10 * P), 40 * P);
	cr_assert_eq(sctp_cc_room(&c, 50 * P), 0);
	sctp_cc_burst(&c, 990 * P, 40);
	cr_assert_eq(sctp_cc_room(&c, 990 * P), 10 * P);
	sctp_cc_burst(&c, UINT32_MAX, UINT32_MAX);
	cr_assert_eq(sctp_cc_room(&c, 0), 1000 * P);
}

Test(sctp_cc, no_window_grows_beyond_the_send_buffer)
{
	for (int algo = SCTP_CC_RFC9260; algo <= SCTP_CC_CUBIC; algo++) {
		struct sctp_cc c;

		sctp_cc_init(&c, algo, P, false, 20 * P);
		for (int i = 0; i < 5000; i++)
			sctp_cc_acked(&c,
				      &(struct sctp_cc_ack){.bytes = P,
							    .flight = c.cwnd,
							    .cum_advanced = true,
							    .srtt_us = 1000,
							    .cum = (uint32_t)i,
							    .next_tsn = (uint32_t)i + 20},
				      (uint64_t)i * 1000000);
		cr_assert_eq(c.cwnd, 20 * P);
	}
}

/* ---- HyStart++ ---- */

/* One round of `packets` with this round trip; TSNs wrap on the way. */
static void hystart_round(struct sctp_cc *c, uint32_t *tsn, uint32_t packets, uint32_t rtt_us)
{
	uint32_t next = *tsn + packets;

	for (uint32_t i = 0; i < packets; i++, ++*tsn)
		sctp_cc_acked(c,
			      &(struct sctp_cc_ack){.bytes = P,
						    .flight = c->cwnd,
						    .cum_advanced = true,
						    .rtt_us = rtt_us,
						    .srtt_us = rtt_us,
						    .cum = *tsn,
						    .next_tsn = next + i},
			      0);
}

Test(sctp_cc_hystart, a_constant_delay_does_not_end_slow_start)
{
	struct sctp_cc c = fresh(SCTP_CC_CUBIC, P);
	uint32_t tsn = UINT32_MAX - 50;

	for (int i = 0; i < 12; i++)
		hystart_round(&c, &tsn, 16, 50 * MS + (i % 2) * 3 * MS);
	cr_assert_not(c.hystart.in_css);
	cr_assert_eq(c.ssthresh, UINT32_MAX);
	cr_assert_eq(c.cwnd, 4404 + 12 * 16 * P);
}

Test(sctp_cc_hystart, a_growing_delay_ends_slow_start_after_five_slower_rounds)
{
	struct sctp_cc c = fresh(SCTP_CC_CUBIC, P);
	uint32_t tsn = UINT32_MAX - 50, before;

	hystart_round(&c, &tsn, 16, 50 * MS);
	hystart_round(&c, &tsn, 16, 60 * MS);
	hystart_round(&c, &tsn, 16, 60 * MS);
	cr_assert(c.hystart.in_css);
	before = c.cwnd;
	hystart_round(&c, &tsn, 16, 60 * MS);
	cr_assert_eq(c.cwnd, before + 4 * P, "a quarter of the growth");
	for (int i = 0; i < 5; i++)
		hystart_round(&c, &tsn, 16, 61 * MS);
	cr_assert_neq(c.ssthresh, UINT32_MAX);
	cr_assert_not(c.hystart.in_css);
}

Test(sctp_cc_hystart, jitter_resumes_slow_start)
{
	struct sctp_cc c = fresh(SCTP_CC_RFC9260, P);
	uint32_t tsn = 1, before;

	hystart_round(&c, &tsn, 16, 50 * MS);
	hystart_round(&c, &tsn, 16, 60 * MS);
	hystart_round(&c, &tsn, 16, 60 * MS);
	cr_assert(c.hystart.in_css);
	hystart_round(&c, &tsn, 16, 50 * MS);
	cr_assert_not(c.hystart.in_css);
	before = c.cwnd;
	hystart_round(&c, &tsn, 16, 50 * MS);
	cr_assert_eq(c.cwnd, before + 16 * P);
}

Test(sctp_cc_hystart, a_known_ssthresh_decides_alone)
{
	struct sctp_cc c = fresh(SCTP_CC_RFC9260, P);
	uint32_t tsn = 1;

	c.ssthresh = 1000 * P;
	hystart_round(&c, &tsn, 16, 50 * MS);
	hystart_round(&c, &tsn, 16, 90 * MS);
	hystart_round(&c, &tsn, 16, 90 * MS);
	cr_assert_not(c.hystart.in_css);
	cr_assert_eq(c.cwnd, 4404 + 48 * P);
}

Test(sctp_cc_hystart, eight_packets_per_sack_for_cubic_and_no_jump_beyond_ssthresh)
{
	struct sctp_cc c = fresh(SCTP_CC_CUBIC, P);

	c.cwnd = 100 * P;
	c.ssthresh = 110 * P;
	ack(&c, 20 * P, 100 * P);
	cr_assert_eq(c.cwnd, 108 * P);
	ack(&c, 20 * P, 108 * P);
	cr_assert_eq(c.cwnd, 111 * P);
}

/* One SACK for each 32 packets: rounds of 64 packets have two. */
Test(sctp_cc_hystart, few_sacks_are_enough_but_one_is_not)
{
	for (uint32_t n = 32; n <= 64; n += 32) {
		struct sctp_cc c = fresh(SCTP_CC_CUBIC, P);
		uint32_t tsn = 1;

		for (int round = 0; round < 4; round++) {
			uint32_t next = tsn + 64, rtt_us = round ? 60 * MS : 50 * MS;

			for (; tsn != next; tsn += n)
				sctp_cc_acked(&c,
					      &(struct sctp_cc_ack){.bytes = n * P,
								    .flight = c.cwnd,
								    .cum_advanced = true,
								    .rtt_us = rtt_us,
								    .srtt_us = rtt_us,
								    .cum = tsn + n - 1,
								    .next_tsn = tsn + n + 64},
					      0);
		}
		cr_assert_eq(c.hystart.in_css, n == 32, "SACKs of %u packets", n);
	}
}
