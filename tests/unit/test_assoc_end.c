/* SPDX-License-Identifier: BSD-2-Clause */
/* How sessions between two associations end, and when their streams are used again (RFC 5043 6). */
#include "tests/unit/assoc_rig.h"

TestSuite(assoc_end, .init = setup, .fini = teardown);

/* rows: 5043-5.2.3-06 5041-3-11 */
Test(assoc_end, close_ends_both_sides_in_order)
{
	uint16_t sid = pair_connect(&a, qa, &b, qb);

	pair_post_recv(qb, 9, STAG_B, TO, 10);
	send_recv(qa, qb, STAG_B);
	assoc_close(a.assoc, qa->ep);
	assoc_close(a.assoc, qa->ep);
	expect_no_event(&a);
	pair_pump(&a, &b);
	expect_closed(&a, qa, ASSOC_REASON_LOCAL);
	expect_closed(&b, qb, ASSOC_REASON_PEER);
	expect_no_event(&a);
	expect_no_event(&b);
	cr_expect_str_eq(state_of(&a, sid), "quarantine");
	cr_expect_not(assoc_idle(a.assoc));
	assoc_tx_acked(a.assoc);
	assoc_tx_acked(b.assoc);
	cr_expect(assoc_idle(a.assoc));
	cr_expect(assoc_idle(b.assoc));
	assoc_close(a.assoc, qa->ep);
	expect_no_event(&a);
}

Test(assoc_end, both_sides_close_at_once)
{
	struct pair_msg ma, mb;

	pair_connect(&a, qa, &b, qb);
	send_recv(qa, qb, STAG_B); /* proof for b that its Accept arrived */
	assoc_close(a.assoc, qa->ep);
	assoc_close(b.assoc, qb->ep);
	cr_assert(pair_pull(&a, &ma));
	cr_assert(pair_pull(&b, &mb));
	pair_push(&a, &mb);
	pair_push(&b, &ma);
	expect_closed(&a, qa, ASSOC_REASON_LOCAL);
	expect_closed(&b, qb, ASSOC_REASON_LOCAL);
	expect_nothing_sent(&a);
	expect_nothing_sent(&b);
}

static struct rdmap_wr write_of(uint64_t cookie, uint32_t len)
{
	return (struct rdmap_wr){
		.cookie = cookie,
		.op = RDMAP_WRITE,
		.flags = RDMAP_SIGNALED,
		.nsge = 1,
		.rstag = STAG_B,
		.rto = TO,
		.sge = {{.to = TO, .len = len, .stag = STAG_A}},
	};
}

/* rows: 5041-6.2.1-01 */
Test(assoc_end, close_finishes_the_message_being_sent_and_flushes_the_rest)
{
	struct rdmap_wr one = write_of(1, 4000), two = write_of(2, 4000);
	struct pair_msg m;
	uint16_t sid = pair_connect(&a, qa, &b, qb);

	pair_post(qa, &one);
	pair_post(qa, &two);
	cr_assert(pair_pull(&a, &m));
	pair_push(&b, &m);
	assoc_close(a.assoc, qa->ep);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert(pair_pull(&a, &m));
		cr_expect_eq(m.ppid, WIRE_PPID_SEGMENT);
		pair_push(&b, &m);
	}
	cr_expect_eq(m.b[2] & 0x40, 0x40, "the last segment is sent");
	expect_control(&a, sid, 4, WIRE_TERMINATE);
	cr_expect_eq(pair_done(qa).cookie, 1);
	cr_expect_eq(pair_done(qa).status, RDMAP_STATUS_COUNT, "the second was never taken");
	cr_expect_eq(qa->taken, 1);
}

/* RFC 5041 6.2.1: what the peer sent before its own end still arrives. */
/* rows: 5041-6.2.1-06 5040-6.2-01 */
Test(assoc_end, reception_continues_after_our_terminate)
{
	struct pair_msg m;
	uint16_t sid = pair_connect(&a, qa, &b, qb);
	struct wire_ddp h = {.last = true, .dv = 1, .rv = 1, .opcode = WIRE_OP_SEND, .msn = 1};

	pair_post_recv(qa, 5, STAG_A, TO, 16);
	pair_post_recv(qa, 6, STAG_A, TO, 16);
	assoc_close(a.assoc, qa->ep);
	expect_control(&a, sid, 1, WIRE_TERMINATE);
	cr_expect_str_eq(state_of(&a, sid), "local-ended");
	m = pair_segment(sid, 1, &h, "late", 4);
	pair_push(&a, &m);
	h.msn = 2;
	h.last = false;
	m = pair_segment(sid, 2, &h, "half", 4);
	pair_push(&a, &m);
	expect_no_event(&a);
	m = pair_control(sid, 3, WIRE_TERMINATE, NULL, 0);
	pair_push(&a, &m);
	expect_closed(&a, qa, ASSOC_REASON_LOCAL);
	cr_expect_eq(pair_done(qa).len, 4);
	cr_expect_eq(pair_done(qa).status, RDMAP_FLUSH_ERR);
}

enum { OTHER = 0x0c0c0c0c };

/* Of a peer that may have no more, whether it obeys or not. */
Test(assoc_end, nothing_is_placed_delivered_or_answered_after_an_abort)
{
	struct pair_msg m;
	uint16_t sid = pair_connect(&a, qa, &b, qb);
	uint8_t *mem = pair_region(&a, OTHER, TO, 16, ALL, 0);
	struct rdmap_wr write = write_of(1, 4);
	struct wire_ddp h = {.last = true, .dv = 1, .rv = 1, .opcode = WIRE_OP_SEND, .msn = 1};

	memset(mem, 'x', 16);
	write.rstag = OTHER;
	write.sge[0].stag = STAG_B;
	pair_post_recv(qa, 5, OTHER, TO, 16);
	pair_post(qb, &write);
	cr_assert(pair_pull(&b, &m));
	assoc_abort(a.assoc, qa->ep);
	pair_push(&a, &m);
	m = pair_segment(sid, 2, &h, "late", 4);
	pair_push(&a, &m);
	expect_no_event(&a);
	for (unsigned i = 0; i < 16; i++)
		cr_expect_eq(mem[i], 'x', "byte %u", i);
	cr_expect_neq(pair_done(qa).status, RDMAP_SUCCESS);
	expect_control(&a, sid, 1, WIRE_TERMINATE);
	m = pair_control(sid, 3, WIRE_TERMINATE, NULL, 0);
	pair_push(&a, &m);
	expect_closed(&a, qa, ASSOC_REASON_LOCAL);
}

/* rows: 5043-6.6-01 */
Test(assoc_end, terminate_waits_until_the_accept_is_known_to_have_arrived)
{
	struct pair_msg m = pair_control(2, 0, WIRE_INITIATE, NULL, 0);

	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	pair_plain_accept(b.assoc, 2, qb->ep, NULL, 0);
	assoc_close(b.assoc, qb->ep);
	expect_control(&b, 2, 0, WIRE_ACCEPT);
	expect_nothing_sent(&b);
	assoc_tx_acked(b.assoc);
	expect_control(&b, 2, 1, WIRE_TERMINATE);
}

/* rows: 5043-6.6-01 */
Test(assoc_end, a_chunk_after_the_accept_proves_its_arrival)
{
	struct wire_ddp h = {.tagged = true, .last = true, .dv = 1, .rv = 1};
	struct pair_msg m;

	pair_fake_connect(&b, qb, 2);
	assoc_close(b.assoc, qb->ep);
	expect_nothing_sent(&b);
	m = pair_segment(2, 1, &h, NULL, 0);
	pair_push(&b, &m);
	expect_control(&b, 2, 1, WIRE_TERMINATE);
}

Test(assoc_end, peer_that_sends_before_the_accept_proves_nothing_with_it)
{
	struct wire_ddp h = {.tagged = true, .last = true, .dv = 1, .rv = 1};
	struct pair_msg m = pair_control(2, 0, WIRE_INITIATE, NULL, 0);

	pair_push(&b, &m);
	m = pair_segment(2, 1, &h, NULL, 0);
	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	pair_plain_accept(b.assoc, 2, qb->ep, NULL, 0);
	expect_control(&b, 2, 0, WIRE_ACCEPT);
	m = pair_segment(2, 2, &h, NULL, 0);
	pair_push(&b, &m);
	assoc_close(b.assoc, qb->ep);
	expect_nothing_sent(&b);
	assoc_tx_acked(b.assoc);
	expect_control(&b, 2, 1, WIRE_TERMINATE);
	cr_expect_eq(assoc_counters(b.assoc)->rx_violations, 0);
}

/* rows: 5043-6.6-04 */
Test(assoc_end, stream_is_not_used_again_before_all_is_acknowledged)
{
	uint16_t sid = pair_connect(&a, qa, &b, qb);
	uint16_t next;

	assoc_close(a.assoc, qa->ep);
	pair_pump(&a, &b);
	expect_closed(&a, qa, ASSOC_REASON_LOCAL);
	expect_closed(&b, qb, ASSOC_REASON_PEER);
	cr_assert_eq(pair_plain_connect(a.assoc, qa->ep, NULL, 0, &next), ASSOC_E_OK);
	cr_expect_neq(next, sid);
	assoc_tx_acked(a.assoc);
	cr_assert_eq(pair_plain_connect(a.assoc, pair_qp(&a)->ep, NULL, 0, &next), ASSOC_E_OK);
	cr_expect_eq(next, sid);
}

Test(assoc_end, a_stream_carries_one_session_after_the_other_from_zero)
{
	for (unsigned i = 0; i < 5; i++) {
		cr_expect_eq(pair_connect(&a, qa, &b, qb), 0);
		send_recv(qa, qb, STAG_B);
		send_recv(qb, qa, STAG_A);
		assoc_close(i & 1 ? a.assoc : b.assoc, i & 1 ? qa->ep : qb->ep);
		pair_pump(&a, &b);
		expect_event(&a, ASSOC_EV_CLOSED);
		expect_event(&b, ASSOC_EV_CLOSED);
		assoc_tx_acked(a.assoc);
	}
	cr_expect_eq(assoc_counters(a.assoc)->rx_violations, 0);
	cr_expect_eq(assoc_counters(b.assoc)->rx_violations, 0);
}

/* rows: 5041-3-09 5040-7-01 */
Test(assoc_end, stream_of_a_peer_that_never_terminates_is_not_reused)
{
	uint16_t sid = pair_connect(&a, qa, &b, qb);
	uint16_t next;

	pair_post_recv(qa, 1, STAG_A, TO, 16);
	assoc_tick(a.assoc, 100);
	assoc_close(a.assoc, qa->ep);
	expect_control(&a, sid, 1, WIRE_TERMINATE);
	cr_expect_eq(assoc_expiry(a.assoc), 100 + PAIR_CLOSE_MS);
	assoc_tick(a.assoc, 99 + PAIR_CLOSE_MS);
	expect_no_event(&a);
	assoc_tick(a.assoc, 100 + PAIR_CLOSE_MS);
	expect_closed(&a, qa, ASSOC_REASON_LOCAL);
	assoc_tx_acked(a.assoc);
	cr_expect_str_eq(state_of(&a, sid), "dead");
	pair_plain_connect(a.assoc, qa->ep, NULL, 0, &next);
	cr_expect_neq(next, sid);
}

/* Sessions of the peer on all its streams, which end without a Terminate of the peer. */
static struct pair_qp *dying[8];

static void open_all(void)
{
	for (uint16_t sid = 1; sid < pair_cfg(true).streams; sid += 2) {
		struct pair_msg m = pair_control(sid, 0, WIRE_INITIATE, NULL, 0);

		pair_push(&a, &m);
		expect_event(&a, ASSOC_EV_REQUEST);
		pair_plain_accept(a.assoc, sid, dying[sid]->ep, NULL, 0);
		expect_control(&a, sid, 0, WIRE_ACCEPT);
	}
	assoc_tx_acked(a.assoc);
}

/* One of each session, in any order. */
static void expect_terminates(void)
{
	struct pair_msg m;
	uint16_t n = 0;

	for (; pair_pull(&a, &m); n++) {
		cr_expect_eq(be_get16(m.b), 1);
		cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	}
	cr_expect_eq(n, pair_cfg(true).streams / 2);
}

static void let_all_die(bool sends)
{
	const uint16_t streams = pair_cfg(true).streams;

	open_all();
	for (uint16_t sid = 1; sid < streams; sid += 2)
		assoc_close(a.assoc, dying[sid]->ep);
	if (sends)
		expect_terminates();
	assoc_tick(a.assoc, PAIR_CLOSE_MS);
	for (uint16_t sid = 1; sid < streams; sid += 2)
		expect_event(&a, ASSOC_EV_CLOSED);
	expect_no_event(&a);
}

static void setup_dying(void)
{
	setup();
	cr_assert_leq(pair_cfg(true).streams, 8);
	for (uint16_t sid = 1; sid < pair_cfg(true).streams; sid += 2)
		dying[sid] = pair_qp(&a);
}

TestSuite(assoc_dead, .init = setup_dying, .fini = teardown);

/* A peer that never terminates its sessions leaves a bit of each, and cannot begin another one. */
Test(assoc_dead, a_stream_that_is_not_used_again_gives_its_memory_back)
{
	uint64_t used = a.pool->blocks.used, reserved = a.pool->blocks.reserved;
	const uint16_t streams = pair_cfg(true).streams;
	uint64_t bad;

	let_all_die(true);
	cr_expect_eq(a.pool->blocks.used, used);
	cr_expect_eq(a.pool->blocks.reserved, reserved);
	bad = assoc_counters(a.assoc)->rx_violations;
	for (uint16_t sid = 1; sid < streams; sid += 2) {
		struct pair_msg m = pair_control(sid, 0, WIRE_INITIATE, NULL, 0);

		cr_expect_str_eq(state_of(&a, sid), "dead");
		pair_push(&a, &m);
	}
	expect_no_event(&a);
	expect_nothing_sent(&a);
	cr_expect_eq(assoc_counters(a.assoc)->rx_violations, bad + streams / 2U);
	cr_expect_eq(assoc_counters(a.assoc)->rx_refused, 0);
	cr_expect_eq(a.pool->blocks.reserved, reserved);
}

/* Its Terminate is sent first, whenever the transport takes it. */
Test(assoc_dead, a_dead_stream_keeps_its_memory_until_its_terminate_is_sent)
{
	uint64_t reserved = a.pool->blocks.reserved;

	let_all_die(false);
	cr_expect_gt(a.pool->blocks.reserved, reserved);
	expect_terminates();
	cr_expect_eq(a.pool->blocks.reserved, reserved);
	cr_expect_str_eq(state_of(&a, 1), "dead");
}

/* Of our own streams, too. */
Test(assoc_dead, a_dead_stream_without_memory_is_not_chosen_again)
{
	const uint16_t streams = pair_cfg(true).streams;
	uint16_t sid;

	for (uint16_t i = 0; i < streams; i += 2) {
		struct pair_qp *qp = dying[i + 1];
		struct pair_msg m;

		cr_assert_eq(pair_plain_connect(a.assoc, qp->ep, NULL, 0, &sid), ASSOC_E_OK);
		cr_assert_eq(sid, i);
		expect_control(&a, sid, 0, WIRE_INITIATE);
		m = pair_control(sid, 0, WIRE_ACCEPT, NULL, 0);
		pair_push(&a, &m);
		expect_event(&a, ASSOC_EV_ACCEPTED);
		assoc_close(a.assoc, qp->ep);
		expect_control(&a, sid, 1, WIRE_TERMINATE);
		assoc_tick(a.assoc, (i + 2U) * PAIR_CLOSE_MS);
		expect_event(&a, ASSOC_EV_CLOSED);
		expect_no_event(&a);
	}
	cr_expect(assoc_full(a.assoc));
	cr_expect_eq(pair_plain_connect(a.assoc, qa->ep, NULL, 0, &sid), ASSOC_E_NO_STREAM);
}

/* rows: 5041-6.2.1-01 */
Test(assoc_end, a_long_message_may_take_longer_than_the_time_limit)
{
	struct rdmap_wr wr = write_of(1, 8000);
	struct pair_msg m;

	pair_connect(&a, qa, &b, qb);
	pair_post(qa, &wr);
	cr_assert(pair_pull(&a, &m));
	assoc_close(a.assoc, qa->ep);
	for (uint64_t t = 1; m.ppid == WIRE_PPID_SEGMENT; t++) {
		pair_push(&b, &m);
		assoc_tick(a.assoc, t * (PAIR_CLOSE_MS - 1));
		cr_assert(pair_pull(&a, &m));
	}
	expect_no_event(&a);
	pair_push(&b, &m);
	pair_pump(&a, &b);
	expect_closed(&a, qa, ASSOC_REASON_LOCAL);
}

Test(assoc_end, unbound_endpoint_gets_no_event_and_the_peer_a_terminate)
{
	struct rdmap_wr wr = write_of(1, 4000);
	struct pair_msg m;

	pair_connect(&a, qa, &b, qb);
	pair_post(qa, &wr);
	cr_assert(pair_pull(&a, &m));
	pair_push(&b, &m);
	assoc_unbind(a.assoc, qa->ep);
	pair_pump(&a, &b);
	expect_no_event(&a);
	cr_expect_eq(qa->ndone, 0);
	expect_closed(&b, qb, ASSOC_REASON_PEER);
	cr_expect_eq(assoc_sessions(a.assoc), 0);
}

Test(assoc_end, unbinding_cancels_queued_events)
{
	pair_connect(&a, qa, &b, qb);
	assoc_close(b.assoc, qb->ep);
	send_recv(qa, qb, STAG_B);
	pair_pump(&a, &b);
	assoc_unbind(a.assoc, qa->ep);
	expect_no_event(&a);
	assoc_unbind(a.assoc, qa->ep);
}

/* rows: 5043-11.3-01 5043-11.3-02 5043-11.3-03 5041-3-03 5041-6.2.2-01 5041-6.2.2-02 */
Test(assoc_end, loss_of_the_association_ends_everything)
{
	const uint16_t pending = 6, requesting = 2;
	struct pair_msg m = pair_control(pending, 0, WIRE_INITIATE, NULL, 0);
	struct rdmap_wr wr = write_of(1, 4000);
	struct pair_qp *other = pair_qp(&a);
	struct assoc_event ev;
	uint16_t sid;

	pair_connect(&a, qa, &b, qb);
	pair_post(qa, &wr);
	cr_assert(pair_pull(&a, &m));
	cr_assert_eq(pair_plain_connect(a.assoc, other->ep, NULL, 0, &sid), ASSOC_E_OK);
	cr_expect_eq(sid, requesting);
	m = pair_control(pending, 0, WIRE_INITIATE, NULL, 0);
	pair_push(&a, &m);
	expect_event(&a, ASSOC_EV_REQUEST);
	assoc_lost(a.assoc);
	for (unsigned i = 0; i < 2; i++) {
		ev = expect_event(&a, ASSOC_EV_CLOSED);
		cr_expect_eq(ev.ep, i == 0 ? qa->ep : other->ep);
		cr_expect_eq(ev.reason, ASSOC_REASON_LOST);
		cr_expect_eq(ev.at.perr, PERR_LLP_LOST);
	}
	cr_expect_eq(expect_event(&a, ASSOC_EV_WITHDRAWN).sid, pending);
	cr_expect_eq(pair_done(qa).status, RDMAP_FLUSH_ERR);
	expect_nothing_sent(&a);
	cr_expect(assoc_idle(a.assoc));
	cr_expect_eq(pair_plain_connect(a.assoc, qa->ep, NULL, 0, &sid), ASSOC_E_NO_STREAM);
	pair_push(&a, &m);
	expect_no_event(&a);
}
