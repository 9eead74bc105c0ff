/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: when T3-rtx runs and what its expiry does (RFC 9260 6.3, 7.2.3, 8.1). */
#include "tests/sctp/script.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
	peer_accept(&p);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(timers, .init = setup, .fini = teardown);

/* rows: 9260-6.3.1-01 9260-6.3.2-01 9260-6.1-27 9260-6.3-03 9260-6.3.3-02 9260-6.3.3-03 */
Test(timers, a_silent_peer_gets_data_at_growing_intervals)
{
	static const unsigned at[] = {1, 3, 7, 15, 31, 63, 123, 183, 243, 303};
	uint64_t begin = p.now;

	script_queue(&p, 1, 100);
	script_data(&p, p.stack_tsn);
	peer_advance(&p, 310 * (uint64_t)PEER_SECOND);
	for (unsigned i = 0; i < 10;) {
		cr_assert(peer_next(&p), "retransmission %u", i);
		if (!peer_find(&p, SCTP_DATA))
			continue;
		cr_assert_eq(p.pkt->at_us - begin, at[i] * (uint64_t)PEER_SECOND);
		i++;
	}
}

/* rows: 9260-8.1-01 9260-8.1-04 9260-8.1-05 9260-8.1-06 9260-8.1-07 */
Test(timers, the_eleventh_timeout_ends_the_association)
{
	script_queue(&p, 1, 100);
	peer_advance(&p, 362 * (uint64_t)PEER_SECOND);
	cr_assert_eq(p.down, 0);
	peer_drain(&p, SCTP_DATA);
	peer_advance(&p, 2 * PEER_SECOND);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_TIMEOUT);
	peer_drain(&p, SCTP_ABORT);
	peer_advance(&p, 1000 * (uint64_t)PEER_SECOND);
	script_nothing(&p);
	peer_send_sack(&p, p.stack_tsn);
	peer_expect(&p, SCTP_ABORT);
	cr_assert_eq(p.chunk[0].flags, SCTP_FLAG_T);
	cr_assert_eq(p.down, 1);
}

/* rows: 9260-8.1-08 */
Test(timers, an_acknowledgement_makes_the_count_start_again)
{
	for (unsigned round = 0; round < 3; round++) {
		script_queue(&p, 1, 100);
		peer_advance(&p, 300 * (uint64_t)PEER_SECOND);
		peer_drain(&p, SCTP_DATA);
		peer_send_sack(&p, p.stack_tsn + round);
		cr_assert_eq(p.down, 0, "round %u", round);
	}
	script_queue(&p, 1, 100);
	for (unsigned i = 0; i < 800 && !p.down; i++) {
		peer_advance(&p, PEER_SECOND);
		peer_send_sack(&p, p.stack_tsn + 2); /* nothing new */
	}
	cr_assert_eq(p.down, 1, "a SACK without news does not count");
}

/* rows: 9260-6.1-29 */
Test(timers, new_data_does_not_postpone_t3)
{
	uint64_t begin = p.now;

	script_queue(&p, 1, 100);
	for (unsigned i = 0; i < 9; i++) {
		peer_advance(&p, PEER_SECOND / 10);
		script_queue(&p, 1, 100);
	}
	while (peer_next(&p))
		;
	peer_advance(&p, PEER_SECOND / 5);
	cr_assert_eq(script_data(&p, p.stack_tsn), 10);
	cr_assert_eq(p.pkt->at_us - begin, PEER_SECOND);
}

/* rows: 9260-6.3.3-04 9260-6.1-15 9260-7.2.1-04 9260-6.3.3-09 9260-7.2.3-03 */
Test(timers, t3_repeats_one_packet_and_the_rest_follows)
{
	unsigned n;

	script_queue(&p, 12, SCRIPT_FULL / 3);
	while (peer_next(&p))
		;
	cr_assert_eq(peer_info(&p).unacked, 12);
	peer_advance(&p, PEER_SECOND);
	n = script_data(&p, p.stack_tsn);
	cr_assert_eq(n, 2, "%u", n);
	script_check_packet(&p, SCRIPT_BASE);
	script_nothing(&p);
	cr_assert_eq(peer_info(&p).cwnd, SCRIPT_BASE - 12);
	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_OK);
	script_nothing(&p);
	peer_send_sack(&p, p.stack_tsn + 1);
	n = script_data(&p, p.stack_tsn + 2);
	while (peer_next(&p))
		n += p.n;
	cr_assert_geq(n, 4);
	cr_assert_eq(script_stats(&p).timeouts, 1);
}

/* rows: 9260-6.3.2-02 9260-6.1-30 9260-6.3.3-08 */
Test(timers, the_back_off_lasts_until_a_measurement)
{
	uint64_t at;

	script_queue(&p, 1, 100);
	peer_advance(&p, 3 * PEER_SECOND);
	peer_drain(&p, SCTP_DATA);
	peer_send_sack(&p, p.stack_tsn); /* sent more than once: no measurement (Karn) */
	cr_assert_eq(peer_info(&p).rto_us, 4 * PEER_SECOND);
	at = p.now;
	script_queue(&p, 1, 100);
	script_data(&p, p.stack_tsn + 1);
	peer_advance(&p, 4 * PEER_SECOND);
	script_data(&p, p.stack_tsn + 1);
	cr_assert_eq(p.pkt->at_us - at, 4 * PEER_SECOND);
	peer_send_sack(&p, p.stack_tsn + 1);
	script_queue(&p, 1, 100);
	peer_advance(&p, PEER_SECOND / 2);
	peer_send_sack(&p, p.stack_tsn + 2);
	cr_assert_eq(peer_info(&p).rto_us, 1500000);
	peer_drain(&p, SCTP_DATA);
}

/* rows: 9260-6.3.1-02 9260-6.3.1-08 9260-6.3.1-05 */
Test(timers, only_chunks_that_were_sent_once_are_measured)
{
	script_queue(&p, 1, 100);
	peer_advance(&p, 600000);
	peer_send_sack(&p, p.stack_tsn);
	cr_assert_eq(peer_info(&p).srtt_us, 600000);
	cr_assert_eq(peer_info(&p).rto_us, 1800000);
	script_queue(&p, 1, 100);
	peer_advance(&p, 5 * PEER_SECOND);
	peer_send_sack(&p, p.stack_tsn + 1);
	cr_assert_eq(peer_info(&p).srtt_us, 600000);
	peer_drain(&p, SCTP_DATA);
}

/* rows: 9260-6.3.1-06 */
Test(timers, one_measurement_in_a_round_trip)
{
	script_queue(&p, 4, SCRIPT_FULL);
	peer_advance(&p, 100000);
	peer_send_sack(&p, p.stack_tsn);
	peer_advance(&p, 100000);
	peer_send_sack(&p, p.stack_tsn + 1);
	peer_advance(&p, 100000);
	peer_send_sack(&p, p.stack_tsn + 2);
	cr_assert_eq(peer_info(&p).srtt_us, 100000);
	peer_drain(&p, SCTP_DATA);
}

/* rows: 9260-6.3.2-03 */
Test(timers, t3_stops_when_everything_is_acknowledged)
{
	static const uint16_t second[] = {2, 2};

	script_queue(&p, 2, 100);
	script_gaps(&p, p.stack_tsn - 1, second, 1);
	peer_send_sack(&p, p.stack_tsn + 1);
	peer_drain(&p, SCTP_DATA);
	peer_advance(&p, 20 * PEER_SECOND);
	script_nothing(&p);
	cr_assert_eq(script_stats(&p).timeouts, 0);
	cr_assert_eq(p.acked, 1);
}

/* rows: 9260-6.3.2-04 */
Test(timers, t3_starts_again_when_the_earliest_chunk_is_acknowledged)
{
	script_queue(&p, 1, 100);
	peer_advance(&p, PEER_SECOND / 2);
	script_queue(&p, 1, 100);
	peer_advance(&p, 2 * PEER_SECOND / 5);
	peer_send_sack(&p, p.stack_tsn); /* measured 0.9 s: RTO is 2.7 s */
	peer_drain(&p, SCTP_DATA);
	peer_advance(&p, 2690000);
	cr_assert_eq(script_stats(&p).timeouts, 0);
	peer_drain(&p, SCTP_DATA);
}

/* rows: 9260-6.3.2-04 9260-6.1-28 9260-7.2.4-11 */
Test(timers, a_repeated_earliest_chunk_starts_t3_again)
{
	static const uint16_t others[] = {2, 4};
	uint64_t at;

	script_queue(&p, 4, 100);
	while (peer_next(&p))
		;
	peer_advance(&p, PEER_SECOND / 2);
	script_gaps(&p, p.stack_tsn - 1, others, 1);
	peer_advance(&p, PEER_SECOND / 5); /* the reordering window passes */
	script_data(&p, p.stack_tsn);
	at = p.pkt->at_us;
	peer_advance(&p, at + peer_info(&p).rto_us - 1 - p.now);
	cr_assert_eq(script_stats(&p).timeouts, 0, "the first T3 would have expired");
	peer_drain(&p, SCTP_DATA);
}

/* rows: 9260-6.3.3-01 9260-7.2.3-02 */
Test(timers, a_timeout_halves_the_threshold)
{
	uint32_t cum = p.stack_tsn - 1;

	for (unsigned i = 0; i < 40; i++) {
		script_queue(&p, 8, SCRIPT_FULL);
		while (peer_next(&p))
			peer_send_sack(&p, ++cum);
	}
	cr_assert_gt(peer_info(&p).cwnd, 6 * 1188);
	script_queue(&p, 10, SCRIPT_FULL);
	peer_advance(&p, 2 * PEER_SECOND);
	cr_assert_leq(peer_info(&p).cwnd, 1188);
	peer_drain(&p, SCTP_DATA);
	cr_assert_eq(p.down, 0);
}
