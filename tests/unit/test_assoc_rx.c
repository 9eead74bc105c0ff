/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a node handles messages of a session in any order, with wrong numbers, at wrong times, and
 * malformed ones (RFC 5043 6, 10).
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/assoc_test.h"
#include "proto/ddp/ssn.h"
#include "tests/lib/fake.h"
#include "util/be.h"

TestSuite(assoc_rx, .init = fake_setup, .fini = fake_teardown);

/* ---- order ---- */

static void permute(unsigned *order, unsigned count, unsigned number)
{
	for (unsigned i = 0; i < count; i++)
		order[i] = i;
	for (unsigned i = count; i > 1; i--, number /= i + 1) {
		unsigned j = number % i, t = order[i - 1];

		order[i - 1] = order[j];
		order[j] = t;
	}
}

/* RFC 5043 6.1: only the DDP-SSN counts. Write, Send in two parts, Send, Terminate. */
/* rows: 5043-6.1-02 5043-10-02 5041-3-06 5041-5.4-02 5041-5.4-03 */
Test(assoc_rx, every_permutation_has_the_outcome_of_the_sorted_order)
{
	for (unsigned number = 0; number < 120; number++) {
		struct pair_msg m[5];
		unsigned order[5];

		fake_teardown();
		fake_setup();
		m[0] = fake_write(1, FAKE_BASE + 1000, "written");
		m[1] = fake_send(2, 1, 0, false, "hello, ");
		m[2] = fake_send(3, 1, 7, true, "world");
		m[3] = fake_send(4, 2, 0, true, "again");
		m[4] = fake_end(5);
		fake_post_recvs(2, 100);
		permute(order, 5, number);
		for (unsigned i = 0; i < 5; i++)
			fake_push(m[order[i]]);
		fake_expect_done(0, RDMAP_SUCCESS, 12);
		fake_expect_done(1, RDMAP_SUCCESS, 5);
		cr_expect_arr_eq(fake.mem, "hello, world", 12);
		cr_expect_arr_eq(fake.mem + 100, "again", 5);
		cr_expect_arr_eq(fake.mem + 1000, "written", 7);
		fake_expect_end(1);
		fake_expect_closed(ASSOC_REASON_PEER, PERR_NONE);
		cr_expect_eq(assoc_counters(fake.node.assoc)->rx_violations, 0);
	}
}

/* rows: 5041-3-06 5041-4.1-07 5041-5.3-06 5040-5.3-05 4296-2.1.3-01 */
Test(assoc_rx, placed_at_once_and_delivered_in_order)
{
	fake_post_recvs(2, 100);
	fake_push(fake_send(3, 2, 0, true, "two"));
	fake_push(fake_write(2, FAKE_BASE + 1000, "written"));
	cr_expect_arr_eq(fake.mem + 100, "two", 3);
	cr_expect_arr_eq(fake.mem + 1000, "written", 7);
	fake_expect_none();
	fake_push(fake_send(1, 1, 0, true, "one"));
	fake_expect_done(0, RDMAP_SUCCESS, 3);
	fake_expect_done(1, RDMAP_SUCCESS, 3);
}

/* rows: 5041-5.4-03 */
Test(assoc_rx, parts_of_a_message_may_come_in_any_order_of_offset)
{
	fake_post_recvs(1, 100);
	fake_push(fake_send(1, 1, 4, false, "cond"));
	fake_push(fake_send(2, 1, 0, false, "firs"));
	fake_push(fake_send(3, 1, 8, true, "t"));
	fake_expect_done(0, RDMAP_SUCCESS, 9);
	cr_expect_arr_eq(fake.mem, "firscondt", 9);
}

/* RFC 5041 5.2 permits to trust the sender, but a gap would deliver old memory. */
Test(assoc_rx, message_with_a_hole_is_refused)
{
	fake_post_recvs(1, 100);
	fake_push(fake_send(1, 1, 0, false, "1234"));
	fake_push(fake_send(2, 1, 8, true, "9"));
	fake_expect_terminate(PERR_MO);
	fake_expect_done(0, RDMAP_FLUSH_ERR, 0);
}

/* The lengths add up to 12, but bytes 4 to 7 are missing. */
Test(assoc_rx, repeated_bytes_do_not_replace_missing_ones)
{
	fake_post_recvs(1, 100);
	fake_push(fake_send(1, 1, 0, false, "1234"));
	fake_push(fake_send(2, 1, 0, false, "1234"));
	fake_push(fake_send(3, 1, 8, true, "9abc"));
	fake_expect_terminate(PERR_MO);
	fake_expect_done(0, RDMAP_FLUSH_ERR, 0);
}

Test(assoc_rx, ssn_wraps_with_messages_out_of_order)
{
	assoc_test_preset(fake.node.assoc, FAKE_SID, 1, 65534);
	fake_post_recvs(4, 100);
	fake_push(fake_send(1, 4, 0, true, "four"));
	fake_push(fake_send(65535, 2, 0, true, "two"));
	fake_push(fake_send(0, 3, 0, true, "three"));
	fake_expect_none();
	fake_push(fake_send(65534, 1, 0, true, "one"));
	fake_expect_done(0, RDMAP_SUCCESS, 3);
	fake_expect_done(1, RDMAP_SUCCESS, 3);
	fake_expect_done(2, RDMAP_SUCCESS, 5);
	fake_expect_done(3, RDMAP_SUCCESS, 4);
}

Test(assoc_rx, msn_wraps_to_zero)
{
	assoc_test_preset_msn(fake.qp->ep, WIRE_QN_SEND, 1, UINT32_MAX);
	fake_post_recvs(2, 100);
	fake_push(fake_send(2, 0, 0, true, "two"));
	fake_push(fake_send(1, UINT32_MAX, 0, true, "one"));
	fake_expect_done(0, RDMAP_SUCCESS, 3);
	fake_expect_done(1, RDMAP_SUCCESS, 3);
}

/* ---- impossible numbers (RFC 5043 10) ---- */

static void expect_violation(void)
{
	cr_expect_gt(assoc_counters(fake.node.assoc)->rx_violations, 0);
	fake_expect_end(1);
}

/* rows: 5043-10-07 5041-3-14 */
Test(assoc_rx, duplicate_of_a_delivered_number_ends_the_session)
{
	fake_post_recvs(2, 100);
	fake_push(fake_send(1, 1, 0, true, "one"));
	fake_push(fake_send(1, 2, 0, true, "bad"));
	expect_violation();
	fake_expect_done(0, RDMAP_SUCCESS, 3);
	fake_expect_none();
	cr_expect_eq(fake.mem[100], 0);
	fake_push(fake_end(2));
	fake_expect_closed(ASSOC_REASON_VIOLATION, PERR_NONE);
}

/* rows: 5041-3-14 */
Test(assoc_rx, duplicate_of_a_number_ahead_ends_the_session)
{
	fake_push(fake_write(3, FAKE_BASE, "three"));
	fake_push(fake_write(3, FAKE_BASE, "again"));
	expect_violation();
	cr_expect_arr_eq(fake.mem, "three", 5);
	fake_push(fake_write(1, FAKE_BASE, "late"));
	fake_push(fake_write(2, FAKE_BASE, "late"));
	cr_expect_arr_eq(fake.mem, "three", 5, "nothing is placed any more");
	fake_push(fake_end(4));
	fake_expect_closed(ASSOC_REASON_VIOLATION, PERR_NONE);
}

/* rows: 5043-10-05 5043-10-07 */
Test(assoc_rx, number_out_of_the_window_ends_the_session)
{
	fake_push(fake_write(40000, FAKE_BASE, "far"));
	expect_violation();
	cr_expect_eq(fake.mem[0], 0);
}

/* rows: 5043-10-05 */
Test(assoc_rx, farthest_number_of_the_window_is_kept)
{
	fake_push(fake_write(SSN_WINDOW, FAKE_BASE, "far"));
	cr_expect_eq(fake.mem[0], 'f');
	fake_expect_open();
}

/* rows: 5043-10-06 */
Test(assoc_rx, full_store_ends_the_session_that_wants_more)
{
	struct pair_qp *other = pair_qp(&fake.node);

	pair_fake_connect(&fake.node, other, 4);
	for (uint16_t i = 0; i < 64; i++)
		fake_push(fake_write((uint16_t)(2 + i), FAKE_BASE, "ahead"));
	fake_expect_nothing_sent();
	fake_push(fake_write(100, FAKE_BASE, "more"));
	expect_violation();
	fake_expect_none();
	cr_expect_eq(assoc_sessions(fake.node.assoc), 2, "the other session continues");
}

/* ---- malformed messages (RFC 5043 5.1, 6.1) ---- */

/* rows: 5043-5.1-02 5041-4.4-01 */
Test(assoc_rx, runts_and_foreign_messages_end_the_session)
{
	static const struct {
		uint32_t ppid;
		uint32_t len;
		uint8_t ctrl;
	} bad[] = {
		{16, 0, 0},     {16, 1, 0},     {16, 2, 0},     {16, 3, 0}, {16, 15, 0xc1},
		{16, 16, 0x41}, {16, 19, 0x41}, {17, 0, 0},     {17, 1, 0}, {17, 3, 0},
		{0, 40, 0x41},  {18, 40, 0x41}, {46, 40, 0x41},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pair_msg m = {.sid = FAKE_SID, .ppid = bad[i].ppid, .len = bad[i].len};

		fake_teardown();
		fake_setup();
		be_put16(m.b, 1);
		m.b[2] = bad[i].ctrl;
		fake_push(m);
		fake_expect_end(1);
		fake_push(fake_end(1));
		fake_expect_closed(ASSOC_REASON_VIOLATION, PERR_NONE);
	}
}

/* rows: 5043-6.1-04 5043-6.5-02 */
Test(assoc_rx, control_messages_out_of_place_end_the_session)
{
	static const uint16_t func[] = {0, 1, 2, 3, 5, 6, 7, 8, 0x0100, 0x0104, 0xffff};

	for (unsigned i = 0; i < sizeof(func) / sizeof(func[0]); i++) {
		fake_teardown();
		fake_setup();
		fake_push(pair_control(FAKE_SID, 1, func[i], NULL, 0));
		fake_expect_end(1);
		fake_push(fake_end(2));
		fake_expect_closed(ASSOC_REASON_VIOLATION, PERR_NONE);
	}
}

Test(assoc_rx, bytes_after_a_terminate_code_are_ignored)
{
	fake_push(pair_control(FAKE_SID, 1, WIRE_TERMINATE, "bye", 3));
	fake_expect_end(1);
	fake_expect_closed(ASSOC_REASON_PEER, PERR_NONE);
}

/* rows: 5043-6-04 */
Test(assoc_rx, stray_messages_on_an_idle_stream_are_dropped)
{
	const uint64_t before = assoc_counters(fake.node.assoc)->rx_violations;
	struct pair_msg m = fake_write(0, FAKE_BASE, "stray");

	m.sid = 6;
	fake_push(m);
	fake_push(pair_control(6, 0, WIRE_ACCEPT, NULL, 0));
	fake_push(pair_control(6, 0, WIRE_TERMINATE, NULL, 0));
	fake_push(pair_control(6, 0, 0x17, NULL, 0));
	fake_push(pair_control(6, 1, WIRE_INITIATE, NULL, 0));
	fake_push(pair_control(8, 0, WIRE_INITIATE, NULL, 0)); /* no such stream */
	cr_expect_eq(assoc_counters(fake.node.assoc)->rx_violations, before + 6);
	fake_expect_nothing_sent();
	cr_expect_eq(fake.mem[0], 0);
	cr_expect_eq(assoc_sessions(fake.node.assoc), 1);
}

/* rows: 5043-5.2.3-04 */
Test(assoc_rx, malformed_initiates_are_answered_with_terminate)
{
	static uint8_t priv[513];

	fake_push(pair_control(6, 0, WIRE_INITIATE, priv, 513));
	fake_push(pair_control(7, 0, WIRE_ENH_INITIATE, "\xc0\x10\x40", 3));
	for (unsigned i = 0; i < 2; i++) {
		struct assoc_event ev;
		struct pair_msg m;

		cr_expect_not(pair_event(&fake.node, &ev));
		cr_assert(pair_pull(&fake.node, &m));
		cr_expect_eq(m.sid, 6 + i);
		cr_expect_eq(be_get16(m.b), 0);
		cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	}
}

/* rows: 5043-6.1-04 */
Test(assoc_rx, active_side_that_sends_before_the_answer_is_refused)
{
	static const uint16_t func[] = {WIRE_INITIATE, WIRE_TERMINATE, 0x99};

	for (unsigned i = 0; i < 3; i++) {
		struct assoc_event ev;
		struct pair_msg m;

		fake_push(pair_control((uint16_t)(4 + i), 0, WIRE_INITIATE, NULL, 0));
		cr_assert(pair_event(&fake.node, &ev));
		fake_push(pair_control((uint16_t)(4 + i), 1, func[i], NULL, 0));
		cr_assert(pair_event(&fake.node, &ev));
		cr_expect_eq(ev.type, ASSOC_EV_WITHDRAWN);
		cr_assert(pair_pull(&fake.node, &m));
		cr_expect_eq(be_get16(m.b), 0);
		cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	}
}

/* RFC 5041 6.2.1: no message may follow the Terminate. */
/* rows: 5041-6.2.1-03 */
Test(assoc_rx, segment_after_the_peers_terminate_is_a_violation)
{
	for (unsigned early = 0; early < 2; early++) {
		fake_teardown();
		fake_setup();
		if (early)
			fake_push(fake_write(2, FAKE_BASE, "late"));
		fake_push(fake_end(1));
		if (!early)
			fake_push(fake_write(2, FAKE_BASE, "late"));
		fake_expect_end(1);
		fake_expect_closed(ASSOC_REASON_VIOLATION, PERR_NONE);
		cr_expect_gt(assoc_counters(fake.node.assoc)->rx_violations, 0);
	}
}

Test(assoc_rx, terminate_that_overtakes_others_is_processed_in_order)
{
	fake_post_recvs(1, 100);
	fake_push(fake_end(2));
	fake_expect_open();
	fake_push(fake_send(1, 1, 0, true, "last"));
	fake_expect_done(0, RDMAP_SUCCESS, 4);
	fake_expect_end(1);
	fake_expect_closed(ASSOC_REASON_PEER, PERR_NONE);
}

/* ---- limits ---- */

Test(assoc_rx, message_longer_than_any_segment_ends_the_session)
{
	struct pair_msg m = fake_write(1, FAKE_BASE, "x");
	struct assoc_msg in = {FAKE_SID, m.ppid, WIRE_SSN_LEN + WIRE_MULPDU_MAX + 1, m.b, 90};
	struct assoc_place place;

	cr_expect_eq(assoc_rx(fake.node.assoc, &in, &place), ASSOC_RX_DONE);
	assoc_rx_placed(fake.node.assoc);
	expect_violation();
}

Test(assoc_rx, answer_before_our_initiate_left_is_a_violation)
{
	struct pair_qp *q = pair_qp(&fake.node);
	struct assoc_event ev;
	uint16_t sid;

	cr_assert_eq(pair_plain_connect(fake.node.assoc, q->ep, "ask", 3, &sid), ASSOC_E_OK);
	fake_push(pair_control(sid, 0, WIRE_ACCEPT, "oracle", 6));
	cr_expect_not(pair_event(&fake.node, &ev));
	cr_expect_eq(assoc_counters(fake.node.assoc)->rx_violations, 1);
}

/* rows: 5041-6.2.1-03 */
Test(assoc_rx, numbers_after_the_peers_terminate_are_a_violation)
{
	fake_push(fake_write(3, FAKE_BASE, "late"));
	fake_push(fake_end(1));
	fake_expect_end(1);
	fake_expect_closed(ASSOC_REASON_VIOLATION, PERR_NONE);
}

Test(assoc_rx, local_reason_to_end_comes_first)
{
	struct assoc_seg seg;

	assoc_close(fake.node.assoc, fake.qp->ep);
	cr_assert(assoc_tx_next(fake.node.assoc, 1450, &seg));
	fake_push(fake_end(1));
	fake_push(fake_write(2, FAKE_BASE, "late"));
	fake_expect_end(1);
	fake_expect_closed(ASSOC_REASON_LOCAL, PERR_NONE);
}

Test(assoc_rx, message_before_our_accept_left_proves_nothing)
{
	struct pair_qp *q = pair_qp(&fake.node);
	struct pair_msg m = fake_write(1, FAKE_BASE, "x");
	struct assoc_event ev;

	m.sid = 4;
	fake_push(pair_control(4, 0, WIRE_INITIATE, NULL, 0));
	cr_assert(pair_event(&fake.node, &ev));
	pair_plain_accept(fake.node.assoc, 4, q->ep, NULL, 0);
	fake_push(m);
	cr_assert(pair_pull(&fake.node, &m));
	assoc_close(fake.node.assoc, q->ep);
	fake_expect_nothing_sent();
	assoc_tx_acked(fake.node.assoc);
	cr_expect(pair_pull(&fake.node, &m));
}
