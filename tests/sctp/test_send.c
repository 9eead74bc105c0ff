/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: when DATA leaves, and when it does not (RFC 9260 6, 6.1, 6.2.1). */
#include "sctp/send/queue.h"
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

TestSuite(send, .init = setup, .fini = teardown);

/* rows: 9260-6-01 9260-6-02 */
Test(send, nothing_leaves_before_the_association_is_up)
{
	peer_stack_connects(&p, 1);
	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_DOWN);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_DOWN);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	peer_expect_nothing(&p);
	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_OK);
	peer_expect(&p, SCTP_DATA);
}

/* rows: 9260-6-03 9260-6-05 */
Test(send, data_is_taken_in_three_states_only)
{
	peer_stack_connects(&p, 1);
	peer_send_data(&p, 10); /* COOKIE-WAIT */
	peer_expect_nothing(&p);
	p.tsn = PEER_TSN;
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_data(&p, 10); /* COOKIE-ECHOED */
	peer_expect_nothing(&p);
	cr_assert_eq(p.messages, 0);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	p.tsn = PEER_TSN;
	peer_send_data(&p, 10); /* ESTABLISHED */
	cr_assert_eq(p.messages, 1);
	cr_assert_eq(script_sack(&p).cum, PEER_TSN);
	script_queue(&p, 1, 10);
	peer_expect(&p, SCTP_DATA);
	sctp_assoc_shutdown(p.assoc, p.now);
	peer_send_data(&p, 10); /* SHUTDOWN-PENDING */
	cr_assert_eq(p.messages, 2);
	peer_send_sack(&p, p.stack_tsn);
	cr_assert_eq(be_get32(peer_expect(&p, SCTP_SHUTDOWN)->p + 4), PEER_TSN + 1);
	peer_send_data(&p, 10); /* SHUTDOWN-SENT */
	cr_assert_eq(p.messages, 3);
	cr_assert_eq(be_get32(peer_expect(&p, SCTP_SHUTDOWN)->p + 4), PEER_TSN + 2);
	script_send_shutdown(&p, p.stack_tsn);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	peer_send_data(&p, 10); /* SHUTDOWN-ACK-SENT */
	peer_expect_nothing(&p);
	cr_assert_eq(p.messages, 3);
}

/* rows: 9260-6-05 9260-6-06 9260-9.2-13 9260-9.2-15 9260-9.2-17 9260-9.2-24 */
Test(send, shutdown_received_takes_sacks_but_no_data)
{
	peer_accept(&p);
	script_queue(&p, 3, 10);
	while (peer_next(&p))
		;
	script_send_shutdown(&p, p.stack_tsn);
	peer_send_data(&p, 10);
	cr_assert_eq(p.messages, 0);
	peer_expect_nothing(&p);
	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_DOWN);
	peer_send_sack(&p, p.stack_tsn + 1);
	peer_expect_nothing(&p);
	script_send_shutdown(&p, p.stack_tsn + 2);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
}

/* rows: 9260-6-07 9260-6-09 */
Test(send, a_sack_in_other_states_changes_nothing)
{
	peer_stack_connects(&p, 1);
	peer_send_sack(&p, p.stack_tsn + 7);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_sack(&p, p.stack_tsn + 7);
	peer_expect_nothing(&p);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
	sctp_assoc_shutdown(p.assoc, p.now);
	peer_poll(&p);
	peer_expect(&p, SCTP_SHUTDOWN);
	peer_send_sack(&p, p.stack_tsn + 7);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 0);
	script_send_shutdown(&p, p.stack_tsn - 1);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	peer_send_sack(&p, p.stack_tsn + 7);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 0);
}

/* rows: 9260-6-04 9260-6-08 */
Test(send, data_and_sack_without_an_association_are_out_of_the_blue)
{
	p.stack_tag = 77;
	peer_send_data(&p, 10);
	cr_assert_eq(peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_NONE).len, 0);
	cr_assert_eq(p.chunk[0].flags, SCTP_FLAG_T);
	cr_assert_eq(p.head.tag, 77);
	peer_send_sack(&p, 5);
	peer_expect(&p, SCTP_ABORT);
	cr_assert_eq(p.chunk[0].flags, SCTP_FLAG_T);
}

/* ---- the packet in preparation ---- */

static void queue(uint32_t len)
{
	static const uint8_t data[SCTP_MAX_PACKET];
	struct span s = {(uint8_t *)(uintptr_t)data, len};

	cr_assert_eq(sctp_assoc_send(p.assoc, 0, 16, false, &s, 1), SCTP_E_OK);
}

static void expect_full(uint32_t tsn, uint32_t most)
{
	cr_expect_eq(script_data(&p, tsn), 2);
	cr_expect_eq(p.pkt->len, SCTP_HEAD + SCTP_DATA_HEAD + most);
}

/* Messages as long as the room fill packets: each begins where the one before ends. */
Test(send, the_room_of_a_packet_is_what_fits_beside_the_messages_before)
{
	uint32_t most;

	peer_accept(&p);
	most = peer_info(&p).max_message;
	cr_expect_eq(sctp_assoc_room(p.assoc), most);
	queue(100);
	queue(sctp_assoc_room(p.assoc));
	cr_expect_eq(sctp_assoc_room(p.assoc), 0, "the packet is full");
	queue(201);
	queue(sctp_assoc_room(p.assoc));
	queue(most - 100);
	peer_poll(&p);
	expect_full(p.stack_tsn, most);
	expect_full(p.stack_tsn + 2, most);
	cr_expect_eq(script_data(&p, p.stack_tsn + 4), 1);
	cr_expect_eq(sctp_assoc_room(p.assoc), most, "all of it was sent");
}

/* ---- the congestion window ---- */

/* rows: 9260-6.1-12 9260-6.1-20 9260-6.1-26 9260-7-01 */
Test(send, the_window_is_overshot_by_one_packet)
{
	peer_accept(&p);
	cr_assert_eq(peer_info(&p).cwnd, 4404);
	for (unsigned i = 0; i < 10; i++)
		cr_assert_eq(peer_stack_sends(&p, (uint16_t)i, SCRIPT_FULL), SCTP_E_OK);
	/* 3 * 1188 bytes are fewer than 4404. */
	for (unsigned i = 0; i < 4; i++)
		script_data(&p, p.stack_tsn + i);
	peer_expect_nothing(&p);
}

/* rows: 9260-6.1-19 9260-6.1-17 */
Test(send, bursts_are_bounded)
{
	uint32_t cum, cwnd;
	unsigned n = 0;

	p.rwnd = 10000000;
	peer_accept(&p);
	cum = p.stack_tsn - 1;
	for (unsigned i = 0; i < 1200; i++) {
		(void)peer_stack_sends(&p, 0, SCRIPT_FULL);
		(void)peer_stack_sends(&p, 0, SCRIPT_FULL);
		if (peer_next(&p))
			peer_send_sack(&p, ++cum);
	}
	while (peer_next(&p))
		peer_send_sack(&p, ++cum);
	cwnd = peer_info(&p).cwnd;
	cr_assert_gt(cwnd, 100 * 1188);
	for (unsigned i = 0; i < 400; i++)
		if (peer_stack_sends(&p, 0, SCRIPT_FULL) != SCTP_E_OK)
			break;
	while (peer_next(&p))
		n++;
	cr_assert_eq(n, 64);
	cr_assert_eq(peer_info(&p).cwnd, cwnd);
	peer_send_sack(&p, cum + 64);
	for (n = 0; peer_next(&p);)
		n++;
	cr_assert_eq(n, 64);
}

/* rows: 9260-6.1-21 9260-6-12 9260-6.1-23 */
Test(send, small_messages_share_packets)
{
	uint8_t byte = 0;
	struct span s = {&byte, 1};

	peer_accept(&p);
	for (unsigned i = 0; i < 100; i++)
		cr_assert_eq(sctp_assoc_send(p.assoc, 0, 1, false, &s, 1), SCTP_E_OK);
	peer_poll(&p);
	cr_assert_eq(script_data(&p, p.stack_tsn), (SCRIPT_BASE - 12) / 20);
	cr_assert_eq(script_data(&p, p.stack_tsn + 59), 41);
	peer_expect_nothing(&p);
}

/* rows: 9260-6.1-24 */
Test(send, a_delayed_sack_goes_with_data)
{
	peer_accept(&p);
	peer_send_data(&p, 10);
	peer_expect(&p, SCTP_SACK);
	peer_send_data(&p, 10);
	peer_expect_nothing(&p);
	script_queue(&p, 1, 10);
	peer_expect2(&p, SCTP_SACK, SCTP_DATA);
	peer_advance(&p, PEER_SECOND / 2);
	peer_expect_nothing(&p);
}

/* The peer repeats what has arrived: with data, the SACK may have been too long for the path. */
Test(send, the_sack_of_a_duplicate_goes_alone)
{
	peer_accept(&p);
	peer_begin(&p);
	peer_put_data(&p, PEER_TSN, 0, 0, SCTP_DATA_B | SCTP_DATA_E, 10);
	peer_send(&p);
	script_queue(&p, 60, 300);
	while (peer_next(&p))
		;
	peer_begin(&p);
	peer_put_sack(&p, p.stack_tsn + 5, p.rwnd, NULL, 0);
	peer_put_data(&p, PEER_TSN, 0, 0, SCTP_DATA_B | SCTP_DATA_E, 10);
	peer_send(&p);
	peer_expect(&p, SCTP_SACK);
	cr_assert_eq(p.n, 1);
	peer_drain(&p, SCTP_DATA);
}

/* rows: 9260-6.1-25 */
Test(send, messages_are_queued_up_to_the_limit)
{
	unsigned n = 0;

	peer_accept(&p);
	while (peer_stack_sends(&p, 0, SCRIPT_FULL) == SCTP_E_OK)
		n++;
	cr_assert_eq(peer_stack_sends(&p, 0, SCRIPT_FULL), SCTP_E_AGAIN);
	cr_assert_leq(n * SCRIPT_FULL, p.cfg.send_buffer);
	cr_assert_gt(n, 150u);
	cr_assert_eq(p.writable, 0);
	for (uint32_t cum = p.stack_tsn - 1; peer_next(&p);)
		for (unsigned i = 0; i < p.n; i++)
			peer_send_sack(&p, ++cum);
	cr_assert_eq(p.writable, 1);
}

/* What is copied soon leaves the cache again: no more is queued than can be sent soon, and there is
 * room as soon as half of it was sent. */
Test(send, there_is_room_before_the_queue_is_empty)
{
	unsigned n = 0, sent = 0;

	peer_accept(&p);
	while (peer_stack_sends(&p, 0, SCRIPT_FULL) == SCTP_E_OK)
		n++;
	cr_assert_leq((n - 5) * SCRIPT_FULL, 262144);
	for (uint32_t cum = p.stack_tsn - 1; !p.writable && peer_next(&p); sent++)
		for (unsigned i = 0; i < p.n; i++)
			peer_send_sack(&p, ++cum);
	cr_assert_eq(p.writable, 1);
	cr_assert_geq(sent, n / 4);
	cr_assert_leq(sent, n * 3 / 4);
	cr_assert_eq(peer_stack_sends(&p, 0, SCRIPT_FULL), SCTP_E_OK);
}

/* rows: 9260-6.1-33 */
Test(send, the_user_asks_for_a_prompt_acknowledgement)
{
	uint8_t byte = 0;
	struct span s = {&byte, 1};

	peer_accept(&p);
	sctp_assoc_send(p.assoc, 0, 1, true, &s, 1);
	peer_poll(&p);
	cr_assert_eq(peer_expect(&p, SCTP_DATA)->flags, 0x0f);
	sctp_assoc_send(p.assoc, 0, 1, false, &s, 1);
	peer_poll(&p);
	cr_assert_eq(peer_expect(&p, SCTP_DATA)->flags, 0x07);
}

/* The last chunk before the window is full asks for a SACK, so that the peer does not delay it. */
/* rows: 9260-6.1-33 */
Test(send, a_small_window_that_is_full_asks_for_a_prompt_acknowledgement)
{
	unsigned n = 0, asked = 0;
	uint8_t last = 0;

	peer_accept(&p);
	script_queue(&p, 50, SCRIPT_FULL);
	while (script_next(&p)) {
		const struct sctp_chunk *c = peer_find(&p, SCTP_DATA);

		cr_assert(c);
		last = c->flags;
		asked += (last & SCTP_DATA_I) != 0;
		n++;
	}
	cr_assert_lt(n, 10u);
	cr_assert_eq(asked, 1u);
	cr_assert_eq(last, 0x0f);
}

/* rows: 9260-6.2-10 */
Test(send, a_large_window_that_is_full_does_not_ask)
{
	peer_accept(&p);
	p.rwnd = 1 << 20;
	for (uint32_t cum = p.stack_tsn - 1, i = 0; i < 10; i++)
		for (script_queue(&p, 200, SCRIPT_FULL); script_next(&p);)
			peer_send_sack(&p, ++cum);
	cr_assert_gt(peer_info(&p).cwnd, 131072u);
	script_queue(&p, 200, SCRIPT_FULL);
	while (script_next(&p)) {
		const struct sctp_chunk *c = peer_find(&p, SCTP_DATA);

		cr_assert(c);
		cr_assert_eq(c->flags, 0x07);
	}
}

/* ---- SACKs ---- */

/* rows: 9260-6.2.1-04 */
Test(send, a_sack_that_was_overtaken_is_dropped)
{
	struct sctp_info before;

	peer_accept(&p);
	script_queue(&p, 4, 1000);
	while (peer_next(&p))
		;
	peer_send_sack(&p, p.stack_tsn + 1);
	before = peer_info(&p);
	p.rwnd = 5;
	peer_send_sack(&p, p.stack_tsn);
	peer_expect_nothing(&p);
	cr_assert_eq(peer_info(&p).peer_rwnd, before.peer_rwnd);
	cr_assert_eq(peer_info(&p).cwnd, before.cwnd);
	cr_assert_eq(peer_info(&p).unacked, 2);
}

/* rows: 9260-6.2.1-06 9260-6.2.1-07 9260-6.3.2-05 9260-7.1-01 */
Test(send, what_the_peer_dropped_again_is_repeated)
{
	static const uint16_t all[] = {2, 4};

	peer_accept(&p);
	script_queue(&p, 4, 100);
	while (peer_next(&p))
		;
	script_gaps(&p, p.stack_tsn - 1, all, 1);
	peer_drain(&p, SCTP_DATA);
	peer_send_sack(&p, p.stack_tsn); /* it has only the first one */
	peer_advance(&p, 3 * PEER_SECOND);
	cr_assert_geq(script_data(&p, p.stack_tsn + 1), 1);
	cr_assert_eq(p.down, 0);
	peer_send_sack(&p, p.stack_tsn + 3);
	cr_assert_eq(peer_info(&p).unacked, 0);
}

/* rows: 9260-6.2.1-09 */
Test(send, sacks_in_the_wrong_order_do_no_harm)
{
	static const uint16_t some[] = {2, 2, 4, 4};

	peer_accept(&p);
	script_queue(&p, 4, 100);
	while (peer_next(&p))
		;
	script_gaps(&p, p.stack_tsn - 1, some, 2);
	script_gaps(&p, p.stack_tsn - 1, some, 1);
	script_gaps(&p, p.stack_tsn - 1, some, 2);
	peer_drain(&p, SCTP_DATA);
	peer_send_sack(&p, p.stack_tsn + 3);
	cr_assert_eq(peer_info(&p).unacked, 0);
	cr_assert_eq(p.down, 0);
	peer_advance(&p, 10 * PEER_SECOND);
	peer_expect_nothing(&p);
}

/* The first missing TSN in a gap block: impossible. It must not stop the transfer, and it neither
 * measures a round trip nor opens the window. */
Test(send, a_gap_block_from_the_first_missing_tsn_on_is_not_believed)
{
	static const uint16_t first[] = {1, 4};
	struct sctp_info before;

	peer_accept(&p);
	script_queue(&p, 4, 100);
	while (peer_next(&p))
		;
	before = peer_info(&p);
	peer_advance(&p, 1000);
	script_gaps(&p, p.stack_tsn - 1, first, 1);
	cr_assert_eq(peer_info(&p).srtt_us, before.srtt_us);
	cr_assert_eq(peer_info(&p).cwnd, before.cwnd);
	cr_assert_eq(peer_info(&p).unacked, before.unacked);
	peer_advance(&p, 3 * PEER_SECOND);
	cr_assert_geq(script_data(&p, p.stack_tsn), 1);
}

/* The second takes back what the first has just acknowledged. */
Test(send, two_sacks_in_one_packet_count_one_after_the_other)
{
	static const uint16_t second[] = {2, 2};

	peer_accept(&p);
	script_queue(&p, 2, 100);
	while (peer_next(&p))
		;
	peer_advance(&p, 1000);
	peer_begin(&p);
	peer_put_sack(&p, p.stack_tsn - 1, p.rwnd, second, 1);
	peer_put_sack(&p, p.stack_tsn - 1, p.rwnd, NULL, 0);
	peer_send(&p);
	cr_assert_eq(peer_info(&p).srtt_us, 1000);
	peer_drain(&p, SCTP_DATA);
	peer_send_sack(&p, p.stack_tsn + 1);
	cr_assert_eq(peer_info(&p).unacked, 0);
}

Test(send, a_sack_of_what_was_never_sent_ends_the_association)
{
	peer_accept(&p);
	script_queue(&p, 1, 100);
	peer_expect(&p, SCTP_DATA);
	peer_send_sack(&p, p.stack_tsn + 1);
	peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_PROTOCOL);
	cr_assert_eq(p.last_down.end, SCTP_END_PROTOCOL);
}

/* 16,000 gap blocks, again and again: overlapping, descending, of what was never sent. */
Test(send, hostile_gap_blocks_cost_little)
{
	static uint16_t gap[2 * 16000];

	peer_accept(&p);
	script_queue(&p, 500, 100);
	while (peer_next(&p))
		;
	for (unsigned round = 0; round < 300; round++) {
		for (unsigned i = 0; i < 16000; i++) {
			gap[2 * i] = (uint16_t)(round % 3 == 0   ? 2
						: round % 3 == 1 ? 16000 - i
								 : i + 2);
			gap[2 * i + 1] = (uint16_t)(gap[2 * i] + (round + i) % 3 * (round % 2));
			if (round % 3 == 2 || gap[2 * i + 1] > 30)
				gap[2 * i] = 3, gap[2 * i + 1] = (uint16_t)(4 + i % 20);
		}
		script_gaps(&p, p.stack_tsn - 1, gap, 16000);
		while (peer_next(&p))
			script_check_packet(&p, SCRIPT_BASE);
	}
	cr_assert_eq(p.down, 0);
	gap[0] = 65535;
	gap[1] = 65535;
	script_gaps(&p, p.stack_tsn - 1, gap, 1);
	cr_assert_eq(p.down, 1);
}

enum { WINDOW = 30 };

/* Reports all chunks but the first, and takes that back. */
static void renege(unsigned times)
{
	static const uint16_t all[] = {2, WINDOW};

	for (unsigned i = 0; i < times && !p.down; i++) {
		script_gaps(&p, p.stack_tsn - 1, all, 1);
		script_gaps(&p, p.stack_tsn - 1, all, 0);
		while (peer_next(&p))
			;
	}
}

/* It would cost a whole window each time, for two small packets. */
Test(send, a_peer_that_reneges_again_and_again_is_ended)
{
	peer_accept(&p);
	script_queue(&p, WINDOW, 100);
	while (peer_next(&p))
		;
	renege(4 * SCTP_TX_WINDOW / (WINDOW - 1));
	cr_assert_eq(p.down, 0);
	renege(1);
	cr_assert_eq(p.last_down.end, SCTP_END_PROTOCOL);
}

/* Its buffers are too small. */
Test(send, a_peer_may_renege_without_end_if_it_takes_data)
{
	peer_accept(&p);
	for (unsigned round = 0; round < 2 * SCTP_TX_WINDOW / WINDOW; round++) {
		script_queue(&p, WINDOW, 100);
		while (peer_next(&p))
			;
		renege(4);
		peer_send_sack(&p, p.stack_tsn + WINDOW - 1);
		p.stack_tsn += WINDOW;
	}
	cr_assert_eq(p.down, 0);
	cr_assert_eq(peer_info(&p).unacked, 0);
}
