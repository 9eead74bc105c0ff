/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that wait for a receive or for their turn (RFC 5041 5.3, 7.1), under a virtual clock. */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/rdmap/hold.h"
#include "tests/lib/fake.h"
#include "util/be.h"

enum { BYTES = 4096, WAIT_MS = 100 };

static void begin(uint32_t wait_ms, bool in_order)
{
	const struct rdmap_cfg like = {.ord = PAIR_READS, .ird = PAIR_READS};
	struct assoc_cfg cfg = pair_cfg(false);

	pair_init(&fake.node, &cfg);
	fake.qp = pair_qp_as(&fake.node, &like);
	pair_hold(fake.qp, BYTES, wait_ms, in_order);
	fake.mem = pair_region(&fake.node, FAKE_STAG, FAKE_BASE, FAKE_MEM, FAKE_ALL, 0);
	pair_fake_connect(&fake.node, fake.qp, FAKE_SID);
	assoc_tx_acked(fake.node.assoc);
}

static void setup(void)
{
	begin(WAIT_MS, false);
}

static void setup_in_order(void)
{
	begin(0, true);
}

TestSuite(assoc_hold, .init = setup, .fini = fake_teardown);
TestSuite(assoc_in_order, .init = setup_in_order, .fini = fake_teardown);

static void post_and_wake(uint64_t cookie, uint32_t len)
{
	pair_post_recv(fake.qp, cookie, FAKE_STAG, FAKE_BASE + 100 * cookie, len);
	pair_wake(fake.qp);
}

static struct rdmap_info info(void)
{
	struct rdmap_info i;

	rdmap_query(fake.qp->ep, &i);
	return i;
}

/* ---- waiting for a receive ---- */

Test(assoc_hold, a_message_waits_for_its_receive)
{
	fake_push(fake_send(1, 1, 0, true, "hello"));
	fake_expect_none();
	fake_expect_nothing_sent();
	cr_expect_gt(info().held_bytes, 5);
	post_and_wake(3, 64);
	fake_expect_done(3, RDMAP_SUCCESS, 5);
	cr_expect_arr_eq(fake.mem + 300, "hello", 5);
	cr_expect_eq(info().held_bytes, 0);
	cr_expect_eq(info().held_msgs, 1);
	fake_expect_open();
}

Test(assoc_hold, later_messages_follow_in_order)
{
	fake_push(fake_send(1, 1, 0, false, "one "));
	fake_push(fake_write(4, FAKE_BASE + 50, "four"));
	fake_push(fake_send(3, 2, 0, true, "three"));
	fake_push(fake_send(2, 1, 4, true, "two"));
	cr_expect_eq(fake.mem[50], 0, "a stream that waits places nothing");
	fake_post_recvs(2, 100);
	pair_wake(fake.qp);
	fake_expect_done(0, RDMAP_SUCCESS, 7);
	fake_expect_done(1, RDMAP_SUCCESS, 5);
	cr_expect_arr_eq(fake.mem, "one two", 7);
	cr_expect_arr_eq(fake.mem + 100, "three", 5);
	cr_expect_arr_eq(fake.mem + 50, "four", 4);
	fake_push(fake_write(5, FAKE_BASE + 60, "five"));
	cr_expect_arr_eq(fake.mem + 60, "five", 4);
}

Test(assoc_hold, each_message_waits_for_a_receive_of_its_own)
{
	fake_push(fake_send(1, 1, 0, true, "a"));
	fake_push(fake_send(2, 2, 0, true, "bb"));
	post_and_wake(0, 10);
	fake_expect_done(0, RDMAP_SUCCESS, 1);
	fake_expect_none();
	pair_tick(&fake.node, WAIT_MS - 1);
	post_and_wake(1, 10);
	fake_expect_done(1, RDMAP_SUCCESS, 2);
	pair_tick(&fake.node, 2 * WAIT_MS);
	fake_expect_open();
}

Test(assoc_hold, a_message_ahead_of_its_turn_waits_for_its_turn)
{
	fake_push(fake_send(2, 1, 0, true, "ahead"));
	pair_tick(&fake.node, 10 * WAIT_MS); /* no time limit: it is not its turn */
	pair_post_recv(fake.qp, 0, FAKE_STAG, FAKE_BASE, 64);
	fake_push(fake_write(1, FAKE_BASE + 200, "first"));
	fake_expect_done(0, RDMAP_SUCCESS, 5);
	cr_expect_arr_eq(fake.mem, "ahead", 5);
	fake_expect_open();
}

Test(assoc_hold, after_its_time_the_session_ends_as_without_a_hold)
{
	struct wire_term t;

	fake_push(fake_send(1, 1, 0, true, "hello"));
	fake_push(fake_write(2, FAKE_BASE, "w"));
	cr_expect_eq(assoc_expiry(fake.node.assoc), WAIT_MS);
	pair_tick(&fake.node, WAIT_MS - 1);
	fake_expect_open();
	pair_tick(&fake.node, WAIT_MS);
	t = fake_expect_terminate(PERR_NO_BUFFER);
	cr_expect(t.has_ddp);
	cr_expect_eq(t.seg_len, 18 + 5);
	cr_expect_eq(fake.mem[0], 0);
	fake_push(fake_end(3));
	fake_expect_closed(ASSOC_REASON_ERROR, PERR_NO_BUFFER);
}

Test(assoc_hold, a_receive_at_the_last_moment_counts)
{
	fake_push(fake_send(1, 1, 0, true, "hello"));
	pair_post_recv(fake.qp, 0, FAKE_STAG, FAKE_BASE, 64);
	pair_tick(&fake.node, WAIT_MS);
	fake_expect_done(0, RDMAP_SUCCESS, 5);
	fake_expect_open();
}

Test(assoc_hold, a_peer_that_fills_the_hold_ends_its_session)
{
	char text[501];
	uint16_t ssn = 1;

	memset(text, 'x', 500);
	text[500] = 0;
	while (info().held_bytes < BYTES - 600) {
		fake_push(fake_send(ssn, ssn, 0, true, text));
		fake_expect_open();
		ssn++;
	}
	fake_push(fake_send(ssn, ssn, 0, true, text));
	fake_expect_terminate(PERR_NO_BUFFER);
	fake_push(fake_end((uint16_t)(ssn + 1)));
	fake_expect_closed(ASSOC_REASON_ERROR, PERR_NO_BUFFER);
}

Test(assoc_hold, many_short_messages_are_bounded, .timeout = 20)
{
	struct pair_msg m;
	uint16_t ssn = 0;

	do {
		ssn++;
		fake_push(fake_send(ssn, ssn, 0, true, ""));
	} while (ssn < BYTES && !pair_pull(&fake.node, &m));
	cr_expect_leq(ssn, BYTES / 16, "%u messages", ssn);
}

Test(assoc_hold, repeated_numbers_end_the_session)
{
	static const uint16_t again[] = {1, 2};

	for (unsigned i = 0; i < 2; i++) {
		struct assoc_event ev;

		fake_push(fake_send(1, 1, 0, true, "a"));
		fake_push(fake_send(2, 2, 0, true, "b"));
		fake_push(fake_send(again[i], again[i], 0, true, "c"));
		cr_expect_eq(assoc_counters(fake.node.assoc)->rx_violations, 1);
		assoc_lost(fake.node.assoc);
		cr_assert(pair_event(&fake.node, &ev));
		cr_expect_eq(ev.reason, ASSOC_REASON_VIOLATION);
		fake_teardown();
		setup();
	}
}

Test(assoc_hold, a_receive_that_is_too_short_is_the_error_of_that_message)
{
	fake_push(fake_send(1, 1, 0, true, "hello"));
	post_and_wake(0, 4);
	fake_expect_done(0, RDMAP_LOC_LEN_ERR, 0);
	fake_expect_terminate(PERR_TOO_LONG);
}

/* The bad receive completes with its own error; the message waits for the next one. */
Test(assoc_hold, a_message_waits_on_after_an_invalid_receive)
{
	fake_push(fake_send(1, 1, 0, true, "hello"));
	pair_post_recv(fake.qp, 7, FAKE_STAG + 0x100, FAKE_BASE, 64);
	pair_wake(fake.qp);
	fake_expect_done(7, RDMAP_LOC_KEY_ERR, 0);
	fake_expect_open();
	post_and_wake(0, 64);
	fake_expect_done(0, RDMAP_SUCCESS, 5);
}

/* The endpoint takes no more at a time, and nobody wakes it while there are receives. */
Test(assoc_hold, as_many_invalid_receives_as_the_queue_is_deep_do_not_hide_a_valid_one)
{
	for (uint64_t i = 0; i < PAIR_DEPTH; i++)
		pair_post_recv(fake.qp, i, FAKE_STAG + 0x100, FAKE_BASE, 64);
	fake_push(fake_send(1, 1, 0, true, "hello"));
	for (uint64_t i = 0; i < PAIR_DEPTH; i++)
		fake_expect_done(i, RDMAP_LOC_KEY_ERR, 0);
	post_and_wake(99 % PAIR_DEPTH, 64);
	fake_expect_done(99 % PAIR_DEPTH, RDMAP_SUCCESS, 5);
	for (uint64_t i = 0; i < PAIR_DEPTH; i++)
		pair_post_recv(fake.qp, i, FAKE_STAG + 0x100, FAKE_BASE, 64);
	pair_post_recv(fake.qp, 3, FAKE_STAG, FAKE_BASE, 64);
	fake_push(fake_send(2, 2, 0, true, "again"));
	for (uint64_t i = 0; i < PAIR_DEPTH; i++)
		fake_expect_done(i, RDMAP_LOC_KEY_ERR, 0);
	fake_expect_done(3, RDMAP_SUCCESS, 5);
	fake_expect_open();
}

Test(assoc_hold, a_read_beyond_ird_waits_for_nothing)
{
	for (uint16_t i = 1; i <= PAIR_READS; i++)
		fake_push(fake_read(i, i, FAKE_STAG, FAKE_BASE, 8));
	fake_expect_open();
	fake_push(fake_read(PAIR_READS + 1, PAIR_READS + 1, FAKE_STAG, FAKE_BASE, 8));
	cr_expect_eq(info().held_msgs, 0);
}

/* Else the peer's next session on the stream would begin before this one is over here. */
Test(assoc_hold, after_our_end_no_message_waits)
{
	struct pair_msg m;

	fake_push(fake_send(1, 1, 0, true, "proof"));
	assoc_close(fake.node.assoc, fake.qp->ep);
	cr_assert(pair_pull(&fake.node, &m));
	pair_wake(fake.qp);
	fake_push(fake_send(2, 2, 0, true, "later"));
	fake_push(fake_end(3));
	fake_expect_closed(ASSOC_REASON_LOCAL, PERR_NONE);
	cr_expect_eq(info().held_bytes, 0);
}

/* The end waits as well: all that the peer sent before it arrives. */
Test(assoc_hold, the_peers_orderly_end_waits_behind_its_messages)
{
	fake_push(fake_send(1, 1, 0, true, "last"));
	fake_push(fake_end(2));
	fake_expect_open();
	post_and_wake(0, 64);
	fake_expect_done(0, RDMAP_SUCCESS, 4);
	fake_expect_end(1);
	fake_expect_closed(ASSOC_REASON_PEER, PERR_NONE);
}

Test(assoc_hold, an_endpoint_that_goes_leaves_nothing_behind)
{
	struct assoc_msg in;

	fake_push(fake_send(1, 1, 0, true, "a"));
	fake_push(fake_send(2, 2, 0, true, "b"));
	fake_push(fake_send(4, 3, 0, true, "d"));
	assoc_unbind(fake.node.assoc, fake.qp->ep);
	cr_expect_eq(info().held_bytes, 0);
	memset(fake.qp->hold, 0xff, hold_size(BYTES));
	cr_expect_not(assoc_rx_early(fake.node.assoc, &in));
	fake_expect_end(1);
	/* The stream goes on counting, so that the end of the peer is found. */
	fake_push(fake_send(3, 3, 0, true, "c"));
	fake_push(fake_end(5));
	assoc_tx_acked(fake.node.assoc);
	cr_expect_eq(assoc_sessions(fake.node.assoc), 0);
	cr_expect_eq(assoc_counters(fake.node.assoc)->rx_violations, 0);
	pair_tick(&fake.node, 10 * WAIT_MS);
	fake_expect_nothing_sent();
}

Test(assoc_hold, a_lost_association_drops_what_waits)
{
	fake_push(fake_send(1, 1, 0, true, "a"));
	assoc_lost(fake.node.assoc);
	fake_expect_closed(ASSOC_REASON_LOST, PERR_LLP_LOST);
	cr_expect_eq(info().held_bytes, 0);
	cr_expect_eq(assoc_expiry(fake.node.assoc), UINT64_MAX);
}

/* Our own error while a message waits: the stream is drained, and the peer's end is answered. */
Test(assoc_hold, a_failed_endpoint_drains_its_stream)
{
	fake_push(fake_send(1, 1, 0, true, "a"));
	fake_push(fake_write(2, FAKE_BASE, "b"));
	assoc_close(fake.node.assoc, fake.qp->ep);
	fake_expect_end(1);
	pair_tick(&fake.node, WAIT_MS);
	fake_push(fake_end(3));
	cr_expect_eq(assoc_sessions(fake.node.assoc), 0);
	cr_expect_eq(fake.mem[0], 0);
}

/* ---- a receive with a wrong key ---- */

TestSuite(assoc_no_hold, .init = fake_setup, .fini = fake_teardown);

Test(assoc_no_hold, an_invalid_receive_is_reported_as_such)
{
	struct wire_term t;

	pair_post_recv(fake.qp, 7, FAKE_STAG + 0x100, FAKE_BASE, 64);
	fake_push(fake_send(1, 1, 0, true, "hello"));
	fake_expect_done(7, RDMAP_LOC_KEY_ERR, 0);
	t = fake_expect_terminate(PERR_NO_BUFFER); /* the peer learns nothing else */
	cr_expect(t.has_ddp);
	fake_push(fake_end(2));
	fake_expect_closed(ASSOC_REASON_ERROR, PERR_BAD_RECEIVE);
}

Test(assoc_no_hold, a_message_without_a_receive_ends_the_session_at_once)
{
	fake_push(fake_send(1, 1, 0, true, "hello"));
	fake_expect_terminate(PERR_NO_BUFFER);
}

/* ---- Immediate Data of a Send ---- */

static void setup_imm_of_send(void)
{
	const struct rdmap_cfg like = {.ord = PAIR_READS, .ird = PAIR_READS};
	struct assoc_cfg cfg = pair_cfg(false);

	pair_init(&fake.node, &cfg);
	fake.qp = pair_qp_as(&fake.node, &like);
	pair_hold(fake.qp, BYTES, WAIT_MS, true);
	rdmap_set_options(fake.qp->ep, RDMAP_PLACE_IN_ORDER | RDMAP_IMM_OF_SEND);
	fake.mem = pair_region(&fake.node, FAKE_STAG, FAKE_BASE, FAKE_MEM, FAKE_ALL, 0);
	pair_fake_connect(&fake.node, fake.qp, FAKE_SID);
	assoc_tx_acked(fake.node.assoc);
}

TestSuite(assoc_imm_of_send, .init = setup_imm_of_send, .fini = fake_teardown);

static struct pair_msg imm(uint16_t ssn, uint32_t msn, uint64_t value)
{
	struct wire_ddp h = fake_header(WIRE_OP_IMM);
	uint8_t bytes[WIRE_IMM_LEN];

	h.msn = msn;
	be_put64(bytes, value);
	return pair_segment(FAKE_SID, ssn, &h, bytes, sizeof(bytes));
}

static const uint64_t marked = UINT64_C(7) << 32 | RDMAP_IMM_MARK;

/* The oldest completion is this receive, with or without Immediate Data. */
static void expect_recv(uint64_t cookie, uint32_t len, bool immediate, uint64_t value)
{
	const struct rdmap_done *d = &fake.qp->done[fake.qp->nseen];

	cr_assert_lt(fake.qp->nseen, fake.qp->ndone);
	cr_expect_eq(d->immediate, immediate);
	cr_expect(!immediate || d->imm == value);
	fake_expect_done(cookie, RDMAP_SUCCESS, len);
}

Test(assoc_imm_of_send, it_comes_with_the_send_that_follows)
{
	fake_post_recvs(4, 100);
	fake_push(fake_send(1, 1, 0, true, "one"));
	fake_push(imm(2, 2, marked));
	fake_push(fake_send(3, 3, 0, false, "tw"));
	fake_push(fake_send(4, 3, 2, true, "o"));
	fake_push(fake_send(5, 4, 0, true, "three"));
	fake_push(imm(6, 5, 9));
	expect_recv(0, 3, false, 0);
	expect_recv(1, 3, true, marked);
	expect_recv(2, 5, false, 0);
	expect_recv(3, 0, true, 9); /* without the mark: its own receive */
	cr_expect_arr_eq(fake.mem + 100, "two", 3);
}

Test(assoc_imm_of_send, it_waits_for_its_turn_and_for_a_receive)
{
	fake_push(fake_send(2, 2, 0, true, "x"));
	fake_push(imm(1, 1, marked));
	fake_expect_none();
	fake_post_recvs(1, 100);
	pair_wake(fake.qp);
	expect_recv(0, 1, true, marked);
	fake_expect_open();
}

/* A peer that sends it twice, or with other messages, gets no more receives than messages. */
Test(assoc_imm_of_send, without_a_send_it_is_lost)
{
	fake_post_recvs(2, 100);
	fake_push(imm(1, 1, marked));
	fake_push(imm(2, 2, marked + (UINT64_C(1) << 32)));
	fake_push(imm(3, 3, 5));
	fake_push(fake_send(4, 4, 0, true, "x"));
	expect_recv(0, 0, true, 5);
	expect_recv(1, 1, false, 0);
	fake_push(imm(5, 5, marked));
	fake_expect_none();
}

/* ---- receives that outlive the session ---- */

static void begin_keeping(void)
{
	const struct rdmap_cfg like = {.ord = PAIR_READS, .ird = PAIR_READS};
	struct assoc_cfg cfg = pair_cfg(false);

	pair_init(&fake.node, &cfg);
	fake.qp = pair_qp_as(&fake.node, &like);
	rdmap_set_options(fake.qp->ep, RDMAP_KEEP_RECVS);
	fake.mem = pair_region(&fake.node, FAKE_STAG, FAKE_BASE, FAKE_MEM, FAKE_ALL, 0);
	pair_fake_connect(&fake.node, fake.qp, FAKE_SID);
	assoc_tx_acked(fake.node.assoc);
	fake_post_recvs(2, 100);
	fake_push(fake_send(1, 1, 0, true, "x"));
	fake_push(fake_send(2, 2, 0, false, "half"));
	fake_expect_done(0, RDMAP_SUCCESS, 1);
}

TestSuite(assoc_keep, .init = begin_keeping, .fini = fake_teardown);

Test(assoc_keep, the_peers_orderly_end_flushes_no_receive)
{
	fake_push(fake_end(3));
	fake_expect_end(1);
	fake_expect_closed(ASSOC_REASON_PEER, PERR_NONE);
	fake_expect_none();
	cr_expect(rdmap_keeps_recvs(fake.qp->ep));
	rdmap_flush_recvs(fake.qp->ep);
	fake_expect_done(1, RDMAP_FLUSH_ERR, 0);
	cr_expect_not(rdmap_keeps_recvs(fake.qp->ep));
}

Test(assoc_keep, every_other_end_flushes_them)
{
	assoc_lost(fake.node.assoc);
	fake_expect_done(1, RDMAP_FLUSH_ERR, 0);
	cr_expect_not(rdmap_keeps_recvs(fake.qp->ep));
}

Test(assoc_keep, our_own_end_flushes_them)
{
	assoc_close(fake.node.assoc, fake.qp->ep);
	fake_expect_end(1);
	fake_push(fake_end(3));
	fake_expect_done(1, RDMAP_FLUSH_ERR, 0);
}

/* ---- placing in order ---- */

Test(assoc_in_order, no_byte_is_placed_before_its_turn)
{
	fake_push(fake_write(3, FAKE_BASE + 2, "c"));
	fake_push(fake_write(2, FAKE_BASE + 1, "b"));
	cr_expect_arr_eq(fake.mem, "\0\0\0", 3);
	fake_push(fake_write(1, FAKE_BASE, "a"));
	cr_expect_arr_eq(fake.mem, "abc", 3);
	cr_expect_eq(info().held_bytes, 0);
}

/* A program polls the last byte: when it is there, so are all others. */
Test(assoc_in_order, the_last_byte_of_a_write_is_never_early)
{
	enum { N = 32 };
	static uint16_t order[N];
	uint64_t seed = 88172645463325252;
	char text[2] = {0};

	for (unsigned round = 0; round < 50; round++) {
		uint16_t base = (uint16_t)(1 + round * N);

		memset(fake.mem, 0, N);
		for (uint16_t i = 0; i < N; i++)
			order[i] = i;
		for (unsigned i = N - 1; i > 0; i--) {
			uint16_t other, mine = order[i];

			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			other = (uint16_t)(seed % (i + 1));
			order[i] = order[other];
			order[other] = mine;
		}
		for (unsigned i = 0; i < N; i++) {
			text[0] = (char)('A' + order[i]);
			fake_push(fake_write((uint16_t)(base + order[i]), FAKE_BASE + order[i],
					     text));
			for (unsigned j = 1; j < N; j++)
				cr_assert(!fake.mem[j] || fake.mem[j - 1], "byte %u is early", j);
		}
		cr_assert_eq(fake.mem[N - 1], 'A' + N - 1);
	}
}

Test(assoc_in_order, without_a_receive_the_session_ends_at_once)
{
	fake_push(fake_send(1, 1, 0, true, "hello"));
	fake_expect_terminate(PERR_NO_BUFFER);
}

Test(assoc_in_order, more_than_there_is_room_for_ends_the_session)
{
	char text[501];
	uint16_t ssn = 2;
	struct assoc_event ev;

	memset(text, 'x', 500);
	text[500] = 0;
	for (; ssn < 30; ssn++) {
		struct assoc_stream_info stream;
		uint32_t pos = FAKE_SID;

		fake_push(fake_write(ssn, FAKE_BASE, text));
		assoc_stream_next(fake.node.assoc, &pos, &stream);
		if (strcmp(stream.state, "open") != 0)
			break;
	}
	cr_expect_lt(ssn, 2 + BYTES / 500);
	fake_expect_terminate(PERR_HOLD_FULL);
	fake_push(fake_write(1, FAKE_BASE, "late"));
	fake_push(fake_end((uint16_t)(ssn + 1)));
	cr_assert(pair_event(&fake.node, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(ev.at.perr, PERR_HOLD_FULL);
	cr_expect_eq(fake.mem[0], 0);
}

/* Its owner may not use the memory. */
Test(assoc_in_order, a_hold_that_may_not_be_used_counts_as_full)
{
	fake.qp->no_keep = true;
	fake_push(fake_write(1, FAKE_BASE, "in order"));
	cr_expect_eq(fake.mem[0], 'i');
	fake_push(fake_write(3, FAKE_BASE, "ahead"));
	fake_expect_terminate(PERR_HOLD_FULL);
}

Test(assoc_in_order, sends_and_reads_are_in_order_as_well)
{
	fake_post_recvs(1, 100);
	fake_post_read(9, 200, 4);
	fake_push(fake_response(2, FAKE_STAG, FAKE_BASE + 200, true, "read"));
	fake_push(fake_end(3));
	cr_expect_eq(fake.mem[200], 0);
	fake_push(fake_send(1, 1, 0, true, "send"));
	fake_expect_done(0, RDMAP_SUCCESS, 4);
	fake_expect_done(9, RDMAP_SUCCESS, 4);
	cr_expect_arr_eq(fake.mem + 200, "read", 4);
	fake_expect_end(2);
	fake_expect_closed(ASSOC_REASON_PEER, PERR_NONE);
}
