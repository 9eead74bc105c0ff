/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: what is repeated before T3 expires, and what that does to the window (RFC 9260 6.7,
 * 7.2.4). */
#include "tests/sctp/script.h"

static struct peer p;
static uint32_t base; /* first TSN of the test */

/* The window grows to some 20 packets; a round trip is 20 ms at least. */
static void setup(void)
{
	unsigned n;

	peer_init(&p, 1);
	peer_accept(&p);
	base = p.stack_tsn;
	for (unsigned i = 0; i < 4; i++) {
		script_queue(&p, 20, SCRIPT_FULL);
		while ((n = peer_drain(&p, SCTP_DATA)) != 0) {
			peer_advance(&p, 20000);
			while (n--)
				peer_send_sack(&p, base++);
		}
	}
	cr_assert_eq(peer_info(&p).unacked, 0);
	cr_assert_gt(peer_info(&p).cwnd, 20 * 1188);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(recovery, .init = setup, .fini = teardown);

static void sent(unsigned n)
{
	script_queue(&p, n, SCRIPT_FULL);
	for (unsigned i = 0; i < n; i++)
		script_data(&p, base + i);
	peer_expect_nothing(&p);
	peer_advance(&p, 20000);
}

/* The SACK that says: first is missing, up to last has arrived. */
static void sack_from(uint32_t cum, uint16_t last)
{
	const uint16_t gap[] = {2, last};

	script_gaps(&p, cum, gap, 1);
}

/* rows: 9260-6.7-06 9260-6.7-07 9260-7.2.4-02 9260-7.2.4-06 9260-7.2.4-08 9260-7.2.4-10 */
/* rows: 9260-6.4-08 */
Test(recovery, the_third_report_repeats_a_chunk)
{
	sent(6);
	sack_from(base - 1, 2);
	sack_from(base - 1, 3);
	peer_expect_nothing(&p);
	sack_from(base - 1, 4);
	cr_assert_eq(script_data(&p, base), 1);
	peer_expect_nothing(&p);
	cr_assert_eq(script_stats(&p).fast_retransmits, 1);
	cr_assert_eq(p.pkt->to.peer.ip[15], 2);
}

/* rows: 9260-7.2.4-03 9260-7.2.4-05 */
Test(recovery, a_repeated_report_does_not_count)
{
	sent(6);
	for (unsigned i = 0; i < 10; i++)
		sack_from(base - 1, 2);
	peer_expect_nothing(&p);
	cr_assert_eq(script_stats(&p).fast_retransmits, 0);
}

/* rows: 9260-7.2.4-07 9260-7.2.4-16 9260-7.2.3-01 */
Test(recovery, the_window_is_halved_once)
{
	uint16_t gap[] = {2, 2, 4, 4, 6, 6, 8, 8, 10, 12};
	uint32_t cwnd = peer_info(&p).cwnd;

	sent(12);
	for (unsigned i = 1; i <= 5; i++)
		script_gaps(&p, base - 1, gap, i);
	peer_advance(&p, 1000);
	peer_drain(&p, SCTP_DATA);
	cr_assert_geq(script_stats(&p).fast_retransmits, 4);
	cr_assert_eq(peer_info(&p).cwnd, cwnd / 2);
}

/* rows: 9260-7.2.4-04 */
Test(recovery, a_second_loss_in_the_window_needs_no_timeout)
{
	static const uint16_t two[] = {2, 3, 5, 8}, one[] = {2, 5};

	sent(8);
	sack_from(base - 1, 2);
	script_gaps(&p, base - 1, two, 2);
	sack_from(base - 1, 3);
	script_gaps(&p, base - 1, two, 2);
	peer_advance(&p, 1000);
	peer_drain(&p, SCTP_DATA);
	script_gaps(&p, base + 2, one, 1);
	peer_drain(&p, SCTP_DATA);
	peer_send_sack(&p, base + 7);
	cr_assert_eq(script_stats(&p).timeouts, 0);
	cr_assert_eq(peer_info(&p).unacked, 0);
}

/* rows: 9260-7.2.4-09 9260-7.2.4-13 9260-6.1-14 */
Test(recovery, marked_chunks_leave_before_new_ones)
{
	uint16_t gap[] = {16, 16};
	uint32_t next = base;
	bool fresh = false;

	sent(20);
	script_queue(&p, 5, SCRIPT_FULL);
	peer_drain(&p, SCTP_DATA);
	for (; gap[1] < 20; gap[1]++)
		script_gaps(&p, base - 1, gap, 1);
	for (unsigned i = 0; i < 100; i++) {
		while (peer_next(&p)) {
			const struct sctp_chunk *c = peer_find(&p, SCTP_DATA);
			uint32_t tsn;

			if (!c)
				continue;
			tsn = be_get32(c->p + 4);
			if (tsn == next)
				next++;
			if (next == base + 15)
				next = base + 19;
			fresh |= (int32_t)(tsn - base) >= 25;
			cr_assert(!fresh || next != base, "new data first");
		}
		peer_send_sack(&p, next - 1);
	}
	cr_assert_eq(script_stats(&p).timeouts, 0);
}

/* rows: 9260-7.2.4-14 9260-7.2.4-15 9260-6.2.1-08 */
Test(recovery, a_later_loss_halves_the_window_again)
{
	uint32_t cwnd[3];

	cwnd[0] = peer_info(&p).cwnd;
	for (unsigned round = 0; round < 2; round++) {
		sent(6);
		for (uint16_t i = 2; i <= 5; i++)
			sack_from(base - 1, i);
		script_data(&p, base);
		cwnd[round + 1] = peer_info(&p).cwnd;
		peer_send_sack(&p, base + 5);
		base += 6;
	}
	cr_assert_eq(cwnd[1], cwnd[0] / 2);
	cr_assert_leq(cwnd[2], cwnd[1]);
	cr_assert_lt(cwnd[2], cwnd[0] / 2 + 1);
}

/* A chunk that is lost again is found by time (RFC 8985). */
Test(recovery, a_lost_repetition_is_repeated_without_a_timeout)
{
	unsigned n = 0;

	sent(6);
	peer_advance(&p, 10000);
	for (uint16_t i = 2; i <= 5; i++)
		sack_from(base - 1, i);
	script_data(&p, base);
	script_queue(&p, 6, SCRIPT_FULL);
	peer_drain(&p, SCTP_DATA);
	for (uint16_t i = 6; i <= 12; i++) {
		peer_advance(&p, 20000);
		n += peer_drain(&p, SCTP_DATA);
		sack_from(base - 1, i);
	}
	n += peer_drain(&p, SCTP_DATA);
	cr_assert_geq(n, 1);
	cr_assert_eq(script_stats(&p).timeouts, 0);
}

/* rows: 9260-6.7-05 9260-6.4-10 9260-6.2.1-03 */
Test(recovery, losses_leak_no_window)
{
	unsigned n;

	p.rwnd = 20000;
	peer_send_sack(&p, base - 1);
	for (unsigned round = 0; round < 300; round++) {
		script_queue(&p, 5, 1000);
		n = peer_drain(&p, SCTP_DATA);
		for (uint16_t i = 2; i <= 5; i++)
			sack_from(base - 1, i);
		cr_assert_geq(n + peer_drain(&p, SCTP_DATA), 5, "round %u", round);
		peer_send_sack(&p, base + 4);
		base += 5;
		cr_assert_eq(peer_info(&p).unacked, 0);
	}
	/* The whole window of the peer is usable. */
	script_queue(&p, 30, 1000);
	cr_assert_leq(peer_drain(&p, SCTP_DATA), 20);
	peer_advance(&p, 100 * PEER_SECOND);
	cr_assert_eq(script_stats(&p).timeouts > 0, true);
}

/* rows: 9260-7.1-02 */
Test(recovery, what_arrived_behind_a_hole_leaves_room)
{
	uint16_t gap[] = {2, 20};
	unsigned n;

	sent(20);
	script_queue(&p, 50, SCRIPT_FULL);
	n = peer_drain(&p, SCTP_DATA);
	cr_assert_lt(n, 40);
	gap[1] = (uint16_t)(20 + n);
	script_gaps(&p, base - 1, gap, 1);
	cr_assert_geq(peer_drain(&p, SCTP_DATA), 5);
}

/* rows: 9260-6.2-28 9260-7.2.2-06 */
Test(recovery, reported_duplicates_do_not_open_the_window)
{
	uint32_t cwnd = peer_info(&p).cwnd, at;

	sent(4);
	peer_begin(&p);
	at = sctp_begin_chunk(&p.w, SCTP_SACK, 0);
	sctp_put32(&p.w, base);
	sctp_put32(&p.w, PEER_RWND);
	sctp_put16(&p.w, 0);
	sctp_put16(&p.w, 250);
	for (unsigned i = 0; i < 250; i++)
		sctp_put32(&p.w, base);
	peer_end_chunk(&p, at);
	peer_send(&p);
	cr_assert_leq(peer_info(&p).cwnd, cwnd + 1188);
	peer_drain(&p, SCTP_DATA);
}

/* ---- what was needless ---- */

static void sack_with_duplicates(uint32_t cum, const uint32_t *dup, uint16_t n)
{
	uint32_t at;

	peer_begin(&p);
	at = sctp_begin_chunk(&p.w, SCTP_SACK, 0);
	sctp_put32(&p.w, cum);
	sctp_put32(&p.w, PEER_RWND);
	sctp_put16(&p.w, 0);
	sctp_put16(&p.w, n);
	for (unsigned i = 0; i < n; i++)
		sctp_put32(&p.w, dup[i]);
	peer_end_chunk(&p, at);
	peer_send(&p);
}

/* Two chunks are repeated. */
static void repeat_two(void)
{
	static const uint16_t gap[] = {3, 3, 3, 4, 3, 5};

	sent(6);
	for (unsigned i = 0; i < 3; i++)
		script_gaps(&p, base - 1, gap + 2 * i, 1);
	peer_advance(&p, 1000);
	cr_assert_eq(peer_drain(&p, SCTP_DATA), 2);
	cr_assert_eq(script_stats(&p).fast_retransmits, 2);
	peer_advance(&p, 20000);
}

/* RFC 8985 6.2, RFC 3708. */
Test(recovery, a_reduction_is_undone_if_all_repetitions_came_twice)
{
	const uint32_t dup[] = {base, base + 1};
	uint32_t cwnd = peer_info(&p).cwnd;

	repeat_two();
	cr_assert_eq(peer_info(&p).cwnd, cwnd / 2);
	sack_with_duplicates(base + 5, dup, 1);
	cr_assert_eq(peer_info(&p).cwnd, cwnd / 2);
	sack_with_duplicates(base + 5, dup + 1, 1);
	cr_assert_geq(peer_info(&p).cwnd, cwnd);
}

Test(recovery, a_reduction_stays_if_one_repetition_was_needed)
{
	const uint32_t dup[] = {base - 1, base, base + 6};
	uint32_t cwnd = peer_info(&p).cwnd;

	repeat_two();
	sack_with_duplicates(base + 5, dup, 3);
	sent(0);
	cr_assert_lt(peer_info(&p).cwnd, cwnd / 2 + 2 * 1188);
}

/* What the peer had already is counted apart, once for each repetition: also a copy that the
 * network made is reported as a duplicate. */
Test(recovery, repetitions_that_the_peer_had_already_are_counted)
{
	const uint32_t dup[] = {base, base, base + 1};

	sent(1);
	sack_with_duplicates(base, dup, 2);
	base++;
	cr_expect_eq(script_stats(&p).spurious, 0);
	repeat_two();
	sack_with_duplicates(base + 5, &dup[2], 1);
	cr_expect_eq(script_stats(&p).spurious, 1);
	sack_with_duplicates(base + 5, dup, 3);
	cr_expect_eq(script_stats(&p).spurious, 2);
	cr_expect_eq(peer_info(&p).spurious, 2);
	cr_expect_eq(script_stats(&p).retransmits, 2);
}

/* All six chunks are out of flight, and the first one was sent again. */
static void time_out(void)
{
	sent(6);
	for (unsigned i = 0; i < 1000 && script_stats(&p).tail_probes == 0; i++)
		peer_advance(&p, 1000);
	cr_assert_eq(script_data(&p, base + 5), 1);
	peer_advance(&p, peer_info(&p).rto_us);
	cr_assert_eq(script_data(&p, base), 1);
	script_nothing(&p);
	cr_assert_eq(script_stats(&p).timeouts, 1);
	cr_assert_leq(peer_info(&p).cwnd, 1188);
}

/* Also where round trips are measured, so that tails are probed. */
/* rows: 9260-6.3.3-04 9260-7.2.1-03 9260-7.2.1-04 9260-7.2.3-03 */
Test(recovery, one_packet_leaves_at_each_timeout)
{
	uint64_t next;

	time_out();
	for (unsigned i = 2; i <= 5; i++) {
		next = p.pkt->at_us + peer_info(&p).rto_us;
		cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_OK);
		peer_advance(&p, next - 1 - p.now);
		script_nothing(&p);
		peer_advance(&p, 1);
		cr_assert_eq(script_data(&p, base), 1);
		script_nothing(&p);
		cr_assert_eq(script_stats(&p).timeouts, i);
		cr_assert_leq(peer_info(&p).cwnd, 1188);
	}
	cr_assert_eq(script_stats(&p).tail_probes, 1);
}

/* RFC 5682 3.1: the path is slower than the timeout, and loses nothing. */
Test(recovery, a_timeout_that_came_too_early_is_undone)
{
	uint32_t cwnd = peer_info(&p).cwnd;

	time_out();
	peer_send_sack(&p, base + 1);
	cr_assert_geq(peer_info(&p).cwnd, cwnd);
	script_nothing(&p);
	peer_send_sack(&p, base + 5);
	cr_assert_eq(script_stats(&p).retransmits, 2);
	cr_assert_eq(peer_info(&p).unacked, 0);
}

Test(recovery, a_timeout_stays_if_repetitions_alone_are_answered)
{
	static const uint16_t probe[] = {6, 6};

	time_out();
	script_gaps(&p, base - 1, probe, 1);
	cr_assert_leq(peer_info(&p).cwnd, 1188);
	peer_send_sack(&p, base);
	cr_assert_leq(peer_info(&p).cwnd, 3 * 1188);
	cr_assert_eq(script_data(&p, base + 1), 1);
}
