/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: what is acknowledged, when, and what happens without room (RFC 9260 6.2, 6.5, 6.7). */
#include "tests/sctp/script.h"

enum { WHOLE = SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E };

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
	peer_connect(&p);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(receive, .init = setup, .fini = teardown);

/* The first DATA is acknowledged at once. */
static void first(void)
{
	script_peer_data(&p, PEER_TSN, 0);
	cr_assert_eq(script_sack(&p).cum, PEER_TSN);
}

/* rows: 9260-6.2-01 9260-6.2-07 9260-6.2-08 9260-6.2-10 9260-6.2-18 9260-6.2-34 */
Test(receive, every_second_packet_is_acknowledged)
{
	unsigned sacks = 0;
	uint32_t tsn = PEER_TSN + 1;

	first();
	for (unsigned i = 0; i < 100; i++) {
		peer_begin(&p);
		for (unsigned k = 0; k < 3; k++)
			peer_put_data(&p, tsn++, 0, 0, WHOLE, 10);
		peer_send(&p);
		if (!peer_next(&p))
			continue;
		sacks++;
		cr_assert_eq(be_get32(p.chunk[0].p + 4), tsn - 1);
		cr_assert_eq(be_get32(p.chunk[0].p + 8), p.cfg.recv_buffer);
		peer_expect_nothing(&p);
	}
	cr_assert_eq(sacks, 50);
	cr_assert_eq(p.messages, 301);
}

/* rows: 9260-6.2-09 */
Test(receive, a_single_packet_is_acknowledged_after_the_delay)
{
	first();
	script_peer_data(&p, PEER_TSN + 1, 0);
	peer_advance(&p, 199999);
	peer_expect_nothing(&p);
	peer_advance(&p, 1);
	cr_assert_eq(script_sack(&p).cum, PEER_TSN + 1);
	peer_advance(&p, PEER_SECOND);
	peer_expect_nothing(&p);
}

/* rows: 9260-6.2-15 9260-6.2-16 9260-6.2-17 */
Test(receive, the_delay_is_configurable_up_to_500_ms)
{
	static const uint32_t set[] = {0, 10000, 500000, 2000000};
	static const uint32_t is[] = {0, 10000, 500000, 500000};

	for (unsigned i = 0; i < 4; i++) {
		struct sctp_config c = peer_config(&p, 1);
		uint64_t at;

		peer_deinit(&p);
		c.sack_us = set[i];
		peer_init_cfg(&p, &c);
		peer_connect(&p);
		first();
		at = p.now;
		script_peer_data(&p, PEER_TSN + 1, 0);
		peer_advance(&p, PEER_SECOND);
		script_sack(&p);
		cr_assert_eq(p.pkt->at_us - at, is[i], "%u", set[i]);
	}
}

/* rows: 9260-6.2-11 9260-6.2-26 9260-6.2-27 9260-6.7-08 */
Test(receive, a_packet_gets_one_sack_at_most)
{
	struct sctp_sack s;

	first();
	peer_begin(&p);
	for (unsigned i = 0; i < 20; i++)
		peer_put_data(&p, PEER_TSN + 40 - 2 * i, 0, 0, WHOLE, 10);
	peer_put_data(&p, PEER_TSN, 0, 0, WHOLE, 10);
	peer_put_data(&p, PEER_TSN + 4, 0, 0, WHOLE, 10);
	peer_send(&p);
	s = script_sack(&p);
	cr_assert_eq(s.ngaps, 20);
	cr_assert_eq(s.ndups, 2);
	cr_assert_eq(be_get32(s.dups), PEER_TSN);
	cr_assert_eq(be_get32(s.dups + 4), PEER_TSN + 4);
	peer_expect_nothing(&p);
	script_peer_data(&p, PEER_TSN + 50, 0);
	cr_assert_eq(script_sack(&p).ndups, 0);
	cr_assert_eq(p.messages, 22);
}

/* rows: 9260-6.2-24 */
Test(receive, the_i_bit_asks_for_a_sack_at_once)
{
	first();
	peer_begin(&p);
	peer_put_data(&p, PEER_TSN + 1, 0, 0, WHOLE | SCTP_DATA_I, 10);
	peer_send(&p);
	cr_assert_eq(script_sack(&p).cum, PEER_TSN + 1);
}

/* rows: 9260-6.2-25 */
Test(receive, a_duplicate_is_acknowledged_at_once)
{
	struct sctp_sack s;

	first();
	script_peer_data(&p, PEER_TSN + 1, 0);
	peer_expect_nothing(&p);
	script_peer_data(&p, PEER_TSN, 0);
	s = script_sack(&p);
	cr_assert_eq(s.cum, PEER_TSN + 1);
	cr_assert_eq(s.ndups, 1);
	peer_advance(&p, PEER_SECOND);
	peer_expect_nothing(&p);
	cr_assert_eq(p.messages, 2);
}

/* rows: 9260-6.7-01 9260-6.7-02 9260-7.2.4-01 9260-7.1-08 */
Test(receive, gaps_are_reported_with_each_packet)
{
	first();
	for (unsigned i = 2; i < 12; i++) {
		script_peer_data(&p, PEER_TSN + i, 0);
		cr_assert_eq(script_sack(&p).ngaps, 1);
		cr_assert_eq(p.messages, i, "delivered across the gap");
	}
	script_peer_data(&p, PEER_TSN + 1, 0); /* fills it */
	cr_assert_eq(script_sack(&p).cum, PEER_TSN + 11);
	script_peer_data(&p, PEER_TSN + 12, 0);
	peer_expect_nothing(&p);
}

/* rows: 9260-6.7-03 */
Test(receive, gap_blocks_ascend_and_do_not_touch)
{
	struct sctp_sack s;

	first();
	for (unsigned i = 2; i <= 6; i += 2)
		script_peer_data(&p, PEER_TSN + i, 0);
	peer_next(&p);
	peer_next(&p);
	s = script_sack(&p);
	cr_assert_eq(s.ngaps, 3);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(be_get16(s.gaps + 4 * i), 2 + 2 * i);
		cr_assert_eq(be_get16(s.gaps + 4 * i + 2), 2 + 2 * i);
	}
}

/* rows: 9260-6.7-08 9260-6.7-09 9260-6.2-22 */
Test(receive, more_gaps_than_fit_are_cut_at_the_top)
{
	struct sctp_sack s;

	first();
	for (unsigned i = 0; i < 2000; i++) {
		peer_drain(&p, SCTP_SACK);
		script_peer_data(&p, PEER_TSN + 2 + 2 * i, 0);
	}
	s = script_sack(&p);
	cr_assert_leq(p.pkt->len, SCRIPT_BASE);
	cr_assert_eq(s.ngaps, (SCRIPT_BASE - 12 - 16) / 4);
	cr_assert_eq(be_get16(s.gaps), 2);
	cr_assert_eq(be_get16(s.gaps + 4 * (s.ngaps - 1)), 2 * s.ngaps);
	peer_expect_nothing(&p);
}

/* rows: 9260-6.2-30 */
Test(receive, the_window_is_that_of_the_configuration)
{
	cr_assert_eq(p.stack_rwnd, p.cfg.recv_buffer);
	first();
	cr_assert_eq(be_get32(p.chunk[0].p + 8), p.cfg.recv_buffer);
}

/* ---- without room ---- */

static void fill_window(void)
{
	uint32_t tsn = PEER_TSN + 2;
	struct sctp_sack s = {.a_rwnd = UINT32_MAX};

	first();
	do {
		peer_begin(&p);
		peer_put_data(&p, tsn, 0, (uint16_t)(tsn - PEER_TSN - 1), SCTP_DATA_B | SCTP_DATA_E,
			      s.a_rwnd > 40000 ? 20000 : 100);
		peer_send(&p);
		s = script_sack(&p);
		tsn++;
	} while (s.a_rwnd);
	p.tsn = tsn;
}

static struct sctp_sack ordered(uint32_t tsn)
{
	peer_begin(&p);
	peer_put_data(&p, tsn, 0, (uint16_t)(tsn - PEER_TSN - 1), SCTP_DATA_B | SCTP_DATA_E, 20000);
	peer_send(&p);
	return script_sack(&p);
}

/* rows: 9260-6.2-02 9260-6.2-04 9260-6.2-05 9260-6.2-31 */
Test(receive, data_without_room_is_dropped_and_reported_at_once)
{
	struct sctp_sack s;
	uint16_t last;

	fill_window();
	last = be_get16(ordered(p.tsn).gaps + 2);
	s = ordered(p.tsn);
	cr_assert_eq(s.a_rwnd, 0);
	cr_assert_eq(s.ngaps, 1);
	cr_assert_eq(be_get16(s.gaps + 2), last);
	cr_assert_lt(PEER_TSN + last, p.tsn + 1);
	cr_assert_eq(p.messages, 1);
}

/* rows: 9260-6.2-03 9260-6.2-12 9260-6.2-13 9260-6.2-29 9260-6.2-32 9260-6.2-35 9260-6.2-06 */
Test(receive, what_fills_the_hole_opens_the_window)
{
	struct sctp_sack s;

	fill_window();
	s = ordered(PEER_TSN + 1);
	cr_assert_eq(s.a_rwnd, p.cfg.recv_buffer);
	cr_assert_geq(s.cum, p.tsn - 2);
	cr_assert_geq(p.messages, p.tsn - PEER_TSN - 1);
	peer_advance(&p, PEER_SECOND);
	peer_expect_nothing(&p);
}

/* rows: 9260-6.2-39 9260-6.2-36 */
Test(receive, nothing_is_dropped_while_there_is_room)
{
	first();
	for (unsigned i = 0; i < 40; i++)
		cr_assert_eq(ordered(PEER_TSN + 2 + i).ngaps, 1);
	cr_assert_eq(ordered(PEER_TSN + 1).cum, PEER_TSN + 41);
	cr_assert_eq(p.messages, 42);
}

/* rows: 9260-6.2-33 */
Test(receive, the_fragments_of_a_message_use_the_window)
{
	first();
	peer_begin(&p);
	peer_put_data(&p, PEER_TSN + 1, 0, 0, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_I, 50000);
	peer_send(&p);
	cr_assert_leq(script_sack(&p).a_rwnd, p.cfg.recv_buffer - 50000);
	peer_begin(&p);
	peer_put_data(&p, PEER_TSN + 2, 0, 0, SCTP_DATA_U | SCTP_DATA_E | SCTP_DATA_I, 100);
	peer_send(&p);
	cr_assert_eq(script_sack(&p).a_rwnd, p.cfg.recv_buffer);
	cr_assert_eq(p.msg.len, 50100);
}

/* rows: 9260-6.2-40 */
Test(receive, data_without_user_data_ends_the_association)
{
	struct sctp_error e;

	peer_begin(&p);
	peer_put_data(&p, PEER_TSN, 0, 0, WHOLE, 0);
	peer_send(&p);
	e = peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_NO_DATA);
	cr_assert_eq(e.len, 4);
	cr_assert_eq(be_get32(e.p), PEER_TSN);
	cr_assert_eq(p.last_down.end, SCTP_END_PROTOCOL);
}

/* rows: 9260-6.2-41 9260-6.5-01 */
Test(receive, the_user_cannot_send_nothing_or_on_no_stream)
{
	uint8_t byte = 0;
	struct span s = {&byte, 0};

	cr_assert_eq(sctp_assoc_send(p.assoc, 0, 1, false, &s, 1), SCTP_E_TOO_LONG);
	cr_assert_eq(peer_stack_sends(&p, PEER_STREAMS, 10), SCTP_E_DOWN);
	cr_assert_eq(peer_stack_sends(&p, PEER_STREAMS - 1, 10), SCTP_E_OK);
	peer_expect(&p, SCTP_DATA);
	peer_expect_nothing(&p);
}

/* ---- streams ---- */

/* rows: 9260-6.5-02 9260-6.5-03 9260-6.5-04 */
Test(receive, a_stream_that_does_not_exist_is_reported)
{
	struct sctp_error e;
	struct sctp_sack s;

	first();
	script_peer_data(&p, PEER_TSN + 1, 65535);
	e = peer_expect_cause(&p, SCTP_ERROR, SCTP_CAUSE_STREAM);
	cr_assert_eq(e.len, 4);
	cr_assert_eq(be_get16(e.p), 65535);
	cr_assert_eq(p.messages, 1);
	peer_advance(&p, PEER_SECOND);
	s = script_sack(&p);
	cr_assert_eq(s.cum, PEER_TSN + 1);
	cr_assert_eq(p.down, 0);
}

/* rows: 9260-6.6-04 9260-6.6-07 */
Test(receive, unordered_messages_wait_for_nothing)
{
	first();
	peer_begin(&p);
	peer_put_data(&p, PEER_TSN + 3, 0, 999, WHOLE, 10);
	peer_send(&p);
	cr_assert_eq(p.messages, 2);
	peer_begin(&p);
	peer_put_data(&p, PEER_TSN + 4, 0, 0, SCTP_DATA_B | SCTP_DATA_E, 10);
	peer_send(&p);
	cr_assert_eq(p.messages, 3, "the counter of the stream did not move");
	cr_assert(p.msg.ordered);
}

/* rows: 9260-6-14 9260-6.9-02 */
Test(receive, fragments_and_bundles_are_understood)
{
	first();
	peer_begin(&p);
	for (unsigned i = 0; i < 20; i++)
		peer_put_data(&p, PEER_TSN + 1 + i, 1, 0, WHOLE, 17 + i % 4);
	peer_send(&p);
	cr_assert_eq(p.messages, 21);
	for (unsigned i = 0; i < 60; i++) {
		peer_begin(&p);
		peer_put_data(&p, PEER_TSN + 21 + i, 2, 0,
			      (i == 0 ? SCTP_DATA_B : 0) | (i == 59 ? SCTP_DATA_E : 0), 1000);
		peer_send(&p);
	}
	cr_assert_eq(p.messages, 22);
	cr_assert_eq(p.msg.len, 60000);
	cr_assert(p.msg.ordered);
}

/* Fragments without an end, until the stack has enough. */
static void endless(uint8_t flags)
{
	for (unsigned i = 0; i < 1000 && p.down == 0; i++) {
		peer_begin(&p);
		peer_put_data(&p, PEER_TSN + i, 0, 0, flags | (i == 0 ? SCTP_DATA_B : 0), 1000);
		peer_send(&p);
		peer_drain(&p, SCTP_SACK);
	}
	cr_assert_eq(p.last_down.end, SCTP_END_PROTOCOL);
}

Test(receive, the_reason_of_a_violation_says_what_it_was)
{
	endless(SCTP_DATA_U);
	cr_assert_str_eq(p.last_down.text, "a message that is longer than 131072 bytes");
	peer_deinit(&p);
	setup();
	peer_begin(&p);
	peer_put_data(&p, PEER_TSN, 0, 0, SCTP_DATA_E, 10);
	peer_send(&p);
	cr_assert_str_eq(p.last_down.text, "fragments that contradict each other");
	peer_deinit(&p);
	setup();
	for (unsigned i = 0; i < 2; i++) {
		peer_begin(&p);
		peer_put_data(&p, PEER_TSN + 1 + i, 0, 1, SCTP_DATA_B | SCTP_DATA_E, 10);
		peer_send(&p);
	}
	cr_assert_str_eq(p.last_down.text, "a stream sequence number that came twice");
	peer_deinit(&p);
	setup();
	for (unsigned i = 0; i < 3000 && p.down == 0; i++) {
		peer_begin(&p);
		peer_put_data(&p, PEER_TSN + i, 0, (uint16_t)(1 + i), SCTP_DATA_B | SCTP_DATA_E,
			      1000);
		peer_send(&p);
		peer_drain(&p, SCTP_SACK);
	}
	cr_assert_str_eq(p.last_down.text,
			 "messages that are never completed fill the receive buffer");
	peer_drain(&p, SCTP_ABORT);
}

/* rows: 9260-6.4-03 9260-6.4-04 9260-6.4-05 9260-6.7-04 */
Test(receive, answers_go_to_where_the_question_came_from)
{
	struct sctp_addr second = peer_addr(1);
	uint32_t at;

	peer_deinit(&p);
	peer_init(&p, 2);
	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_addr(&p, &second);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_send_cookie_echo(&p);
	peer_advance(&p, PEER_SECOND / 10);
	while (peer_next(&p)) {
		if (p.chunk[0].type != SCTP_HEARTBEAT)
			continue;
		p.from.peer = p.pkt->to.peer;
		peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4, p.chunk[0].len - 4);
	}
	p.from = (struct sctp_flow){second, 7777, 1, false};
	peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
	peer_expect(&p, SCTP_HEARTBEAT_ACK);
	cr_assert(sctp_addr_equal(&p.pkt->to.peer, &second));
	cr_assert_eq(p.pkt->to.udp_port, 7777);
	cr_assert_eq(p.pkt->to.local, 1);
	script_peer_data(&p, PEER_TSN, 0);
	script_sack(&p);
	cr_assert(sctp_addr_equal(&p.pkt->to.peer, &second));
	p.from = (struct sctp_flow){peer_addr(0), PEER_UDP, 0, false};
	for (unsigned i = 2; i < 10; i++) {
		script_peer_data(&p, PEER_TSN + i, 0);
		script_sack(&p);
		cr_assert(sctp_addr_equal(&p.pkt->to.peer, &p.from.peer));
	}
}
