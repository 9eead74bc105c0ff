/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the receiver window of the peer limits what is sent, and is probed while it is closed
 * (RFC 9260 6.1, 6.2.1). */
#include "tests/sctp/script.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(rwnd, .init = setup, .fini = teardown);

/* ---- the peer's window ---- */

/* rows: 9260-6.1-01 9260-6.2.1-01 9260-6.2.1-02 9260-6.1-26 */
Test(rwnd, the_window_of_init_ack_limits_the_first_data)
{
	p.rwnd = 3000;
	peer_accept(&p);
	script_queue(&p, 10, 1000);
	for (unsigned i = 0; i < 3; i++)
		script_data(&p, p.stack_tsn + i);
	peer_expect_nothing(&p);
	p.rwnd = 2000;
	peer_send_sack(&p, p.stack_tsn + 2);
	script_data(&p, p.stack_tsn + 3);
	script_data(&p, p.stack_tsn + 4);
	peer_expect_nothing(&p);
}

/* rows: 9260-6.2.1-05 */
Test(rwnd, a_window_smaller_than_what_is_out_counts_as_closed)
{
	peer_accept(&p);
	script_queue(&p, 7, 1000);
	for (unsigned i = 0; i < 5; i++)
		script_data(&p, p.stack_tsn + i);
	p.rwnd = 1000;
	peer_send_sack(&p, p.stack_tsn);
	peer_expect_nothing(&p);
	p.rwnd = 5000;
	peer_send_sack(&p, p.stack_tsn);
	script_data(&p, p.stack_tsn + 5);
	peer_expect_nothing(&p);
}

static void close_window(uint32_t rwnd)
{
	peer_accept(&p);
	script_queue(&p, 3, 1000);
	while (peer_next(&p))
		;
	p.rwnd = rwnd;
	peer_send_sack(&p, p.stack_tsn + 2);
	script_queue(&p, 3, 1000);
	peer_expect_nothing(&p);
}

/* rows: 9260-6.1-01 9260-6.1-02 9260-6.1-03 9260-6.1-04 9260-6.1-06 9260-6.1-07 */
Test(rwnd, a_closed_window_is_probed_ever_more_rarely)
{
	struct sctp_config c = peer_config(&p, 1);
	uint64_t began, interval = PEER_SECOND;

	peer_deinit(&p);
	c.heartbeat_us = 0;
	peer_init_cfg(&p, &c);
	close_window(100);
	for (unsigned i = 0; i < 9; i++) {
		began = p.now;
		peer_advance(&p, interval - 1);
		peer_expect_nothing(&p);
		peer_advance(&p, 1);
		cr_assert_eq(script_data(&p, p.stack_tsn + 3), 1, "probe %u", i);
		cr_assert_eq(p.pkt->at_us, began + interval);
		peer_expect_nothing(&p);
		interval = interval > 30 * PEER_SECOND ? 60 * PEER_SECOND : 2 * interval;
		peer_send_sack(&p, p.stack_tsn + 2);
		peer_expect_nothing(&p);
	}
	p.rwnd = 100000;
	peer_send_sack(&p, p.stack_tsn + 3);
	script_data(&p, p.stack_tsn + 4);
	cr_assert_eq(script_stats(&p).timeouts, 0);
}

/* rows: 9260-6.1-05 9260-6.1-07 9260-6.1-09 9260-6.1-03 */
Test(rwnd, a_window_that_stays_closed_is_no_error)
{
	uint32_t cwnd;
	unsigned probes = 0;

	close_window(0);
	cwnd = peer_info(&p).cwnd;
	for (unsigned i = 0; i < 36000; i++) {
		peer_advance(&p, PEER_SECOND / 10);
		if (!peer_next(&p))
			continue;
		if (peer_find(&p, SCTP_HEARTBEAT)) {
			peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4,
					p.chunk[0].len - 4);
			continue;
		}
		cr_assert_not_null(peer_find(&p, SCTP_DATA));
		peer_expect_nothing(&p);
		probes++;
		peer_send_sack(&p, p.stack_tsn + 2);
	}
	cr_assert(probes > 50 && probes < 500, "%u probes", probes);
	cr_assert_eq(p.down, 0);
	cr_assert_eq(peer_path_state(&p, 0), SCTP_PATH_ACTIVE);
	cr_assert_eq(script_stats(&p).timeouts, 0);
	cr_assert_leq(peer_info(&p).cwnd, cwnd);
	cr_assert_geq(peer_info(&p).cwnd, 4404);
}

/* A peer that closed its window and died is noticed. */
Test(rwnd, a_peer_that_is_silent_behind_a_closed_window_is_given_up)
{
	close_window(0);
	peer_advance(&p, 1000 * (uint64_t)PEER_SECOND);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_TIMEOUT);
}

/* A slow receiver: it opens its window for one message at a time. */
Test(rwnd, a_slow_receiver_gets_everything)
{
	uint32_t cum;

	close_window(0);
	script_queue(&p, 20, 1000);
	cum = p.stack_tsn + 2;
	for (unsigned i = 0; i < 2000 && cum != p.stack_tsn + 25; i++) {
		peer_advance(&p, PEER_SECOND / 10);
		while (peer_next(&p)) {
			const struct sctp_chunk *c = peer_find(&p, SCTP_DATA);

			if (c && be_get32(c->p + 4) == cum + 1)
				cum++;
		}
		p.rwnd = i % 2 ? 1000 : 0;
		peer_send_sack(&p, cum);
	}
	cr_assert_eq(cum, p.stack_tsn + 25);
	cr_assert_eq(p.down, 0);
}

/* ---- windows of the peer that open slowly, or not ---- */

/* rows: 9260-6.1-10 */
Test(rwnd, a_window_that_opens_bit_by_bit_draws_no_small_packets)
{
	close_window(0);
	for (p.rwnd = 50; p.rwnd < 1000; p.rwnd += 50) {
		peer_send_sack(&p, p.stack_tsn + 2);
		peer_expect_nothing(&p);
	}
	peer_send_sack(&p, p.stack_tsn + 2);
	script_data(&p, p.stack_tsn + 3);
	cr_assert_eq(p.chunk[0].len, 1016);
	peer_expect_nothing(&p);
}

/* rows: 9260-6.1-08 9260-7.2.1-14 */
Test(rwnd, the_congestion_window_decays_while_the_window_is_closed)
{
	uint32_t cum;

	peer_accept(&p);
	cum = p.stack_tsn - 1;
	for (unsigned i = 0; i < 200; i++) {
		script_queue(&p, 2, SCRIPT_FULL);
		if (peer_next(&p))
			peer_send_sack(&p, ++cum);
	}
	while (peer_next(&p))
		peer_send_sack(&p, ++cum);
	cr_assert_gt(peer_info(&p).cwnd, 20 * 1188);
	p.rwnd = 0;
	peer_send_sack(&p, cum);
	script_queue(&p, 2, 100);
	for (unsigned i = 0; i < 100; i++) {
		peer_advance(&p, PEER_SECOND);
		if (peer_drain(&p, SCTP_DATA))
			peer_send_sack(&p, cum);
	}
	cr_assert_eq(peer_info(&p).cwnd, 4 * 1188, "%u", peer_info(&p).cwnd);
	cr_assert_eq(p.down, 0);
}

Test(rwnd, each_advance_of_the_acknowledgement_is_reported_if_asked_for)
{
	peer_accept(&p);
	for (unsigned i = 0; i < 2; i++) {
		struct sctp_info info;

		script_queue(&p, 3, 10);
		peer_expect(&p, SCTP_DATA);
		p.acked = 0;
		peer_send_sack(&p, p.stack_tsn + 3 * i);
		cr_expect_eq(p.acked, i, "not before the call");
		sctp_assoc_info(p.assoc, &info);
		cr_expect_eq(info.unacked, 2);
		peer_send_sack(&p, p.stack_tsn + 3 * i);
		cr_expect_eq(p.acked, i, "it does not advance");
		peer_send_sack(&p, p.stack_tsn + 3 * i + 2);
		cr_expect_eq(p.acked, i + 1);
		sctp_assoc_report_acks(p.assoc);
	}
}
