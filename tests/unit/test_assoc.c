/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions between two associations: how they begin, how they are refused, how they end,
 * and what of all this is on the wire (RFC 5043 6).
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/names.h"
#include "tests/lib/pair.h"
#include "tests/lib/vector.h"
#include "util/be.h"

enum {
	STAG_A = 0x0a0a0a0a,
	STAG_B = 0x0b0b0b0b,
	MEM = 8192,
	ALL = STAG_LOCAL_WRITE | STAG_REMOTE_WRITE | STAG_REMOTE_READ,
};

#define TO UINT64_C(0x4000)

static struct pair_node a, b; /* a opened the association */
static struct pair_qp *qa, *qb;

static void setup(void)
{
	struct assoc_cfg opener = pair_cfg(true), acceptor = pair_cfg(false);

	pair_init(&a, &opener);
	pair_init(&b, &acceptor);
	qa = pair_qp(&a);
	qb = pair_qp(&b);
	pair_region(&a, STAG_A, TO, MEM, ALL, 0);
	pair_region(&b, STAG_B, TO, MEM, ALL, 0);
}

static void teardown(void)
{
	pair_deinit(&a);
	pair_deinit(&b);
}

TestSuite(assoc, .init = setup, .fini = teardown);

static struct assoc_event expect_event(struct pair_node *n, enum assoc_ev_type type)
{
	struct assoc_event ev = {0};

	cr_assert(pair_event(n, &ev), "an event of type %d", type);
	cr_assert_eq(ev.type, type, "event %d, not %d", ev.type, type);
	return ev;
}

static void expect_no_event(struct pair_node *n)
{
	struct assoc_event ev;

	cr_expect_not(pair_event(n, &ev), "event %d", ev.type);
}

static void expect_closed(struct pair_node *n, const struct pair_qp *qp, enum assoc_reason reason)
{
	struct assoc_event ev = expect_event(n, ASSOC_EV_CLOSED);

	cr_expect_eq(ev.ep, qp->ep);
	cr_expect_eq(ev.reason, reason, "why %d, not %d", ev.reason, reason);
}

static const char *state_of(const struct pair_node *n, uint16_t sid)
{
	struct assoc_stream_info info;
	uint32_t pos = sid;

	return assoc_stream_next(n->assoc, &pos, &info) && info.sid == sid ? info.state : "idle";
}

/* The next message of the node is this control message. */
static void expect_control(struct pair_node *n, uint16_t sid, uint16_t ssn, uint16_t func)
{
	struct pair_msg m;

	cr_assert(pair_pull(n, &m), "%s is sent", names_func(func));
	cr_expect_eq(m.ppid, WIRE_PPID_CONTROL);
	cr_expect_eq(m.sid, sid);
	cr_expect_eq(be_get16(m.b), ssn);
	cr_expect_eq(be_get16(m.b + 2), func);
	cr_expect(m.urgent);
	if (func == WIRE_TERMINATE)
		cr_expect_eq(m.len, WIRE_CONTROL_LEN);
}

static void expect_silence(struct pair_node *n)
{
	struct pair_msg m;

	cr_expect_not(pair_pull(n, &m), "ppid %u, ssn %u", m.ppid, be_get16(m.b));
}

static void send_recv(struct pair_qp *from, struct pair_qp *to, uint32_t to_stag)
{
	struct rdmap_wr wr = {.op = RDMAP_SEND, .flags = RDMAP_INLINE, .len = 5, .inl = "hello"};

	pair_post_recv(to, 1, to_stag, TO, 64);
	pair_post(from, &wr);
	pair_pump(&a, &b);
	cr_expect_eq(pair_done(from).status, RDMAP_SUCCESS);
	cr_expect_eq(pair_done(to).len, 5);
}

/* ---- beginnings ---- */

/* rows: 5043-5.2.3-02 5043-5.2.3-03 5043-5.2.3-04 5043-5.2.3-06 5043-5.2.3-07 5043-6.4-02 */
/* rows: 5043-6-06 5041-6.1-01 6581-10-04 */
Test(assoc, accepted_with_private_data_both_ways)
{
	static const size_t sizes[] = {0, 1, 512};

	for (unsigned i = 0; i < 3; i++) {
		uint8_t out[512], back[512];
		struct assoc_event ev;
		uint16_t sid;

		teardown();
		setup();
		memset(out, 0x5a, sizeof(out));
		memset(back, 0xc3, sizeof(back));
		cr_assert_eq(pair_plain_connect(a.assoc, qa->ep, out, sizes[i], &sid), ASSOC_E_OK);
		pair_pump(&a, &b);
		ev = expect_event(&b, ASSOC_EV_REQUEST);
		cr_expect_eq(ev.sid, sid);
		cr_expect_null(ev.ep);
		cr_expect_eq(ev.priv_len, sizes[i]);
		cr_expect_arr_eq(ev.priv, out, sizes[i]);
		cr_assert_eq(pair_plain_accept(b.assoc, sid, qb->ep, back, sizes[i]), ASSOC_E_OK);
		pair_pump(&a, &b);
		ev = expect_event(&a, ASSOC_EV_ACCEPTED);
		cr_expect_eq(ev.ep, qa->ep);
		cr_expect_eq(ev.priv_len, sizes[i]);
		cr_expect_arr_eq(ev.priv, back, sizes[i]);
		cr_expect_eq(assoc_sessions(a.assoc), 1);
		send_recv(qa, qb, STAG_B);
		send_recv(qb, qa, STAG_A);
		assoc_close(a.assoc, qa->ep);
		expect_control(&a, sid, 2, WIRE_TERMINATE);
	}
}

static void expect_vector(struct pair_node *n, const char *id)
{
	struct vector v = vector_get(id);
	struct pair_msg m;

	cr_assert(pair_pull(n, &m), "%s is sent", id);
	cr_expect_eq(m.ppid, v.ppid);
	cr_assert_eq(m.len, v.len, "%s: %u bytes", id, m.len);
	cr_expect_arr_eq(m.b, v.b, v.len, "%s", id);
}

/* rows: 5043-5.2.3-01 5043-5.2.3-02 5043-5.2.3-03 5043-6.3-02 6581-10-02 6581-10-03 */
Test(assoc, control_messages_are_the_golden_ones)
{
	struct pair_msg m = pair_control(3, 0, WIRE_INITIATE, NULL, 0);
	uint16_t sid;

	pair_plain_connect(a.assoc, qa->ep, "\xde\xad\xbe\xef", 4, &sid);
	expect_vector(&a, "V02");
	pair_push(&b, &m);
	cr_assert_eq(pair_plain_accept(b.assoc, 3, qb->ep, NULL, 0), ASSOC_E_OK);
	expect_vector(&b, "V03");
	m.sid = 4;
	pair_push(&b, &m);
	cr_assert_eq(pair_plain_reject(b.assoc, 4, "no", 2), ASSOC_E_OK);
	expect_vector(&b, "V04");
	m.sid = 5;
	pair_push(&b, &m);
	cr_assert_eq(assoc_refuse(b.assoc, 5), ASSOC_E_OK);
	expect_vector(&b, "V06");
}

/* rows: 5043-5.2.3-02 5043-5.2.3-06 5043-6.3-02 5043-6.3-03 */
Test(assoc, rejected_with_private_data_and_the_stream_is_free_again)
{
	struct assoc_event ev;
	uint16_t sid;

	pair_plain_connect(a.assoc, qa->ep, NULL, 0, &sid);
	pair_pump(&a, &b);
	expect_event(&b, ASSOC_EV_REQUEST);
	cr_assert_eq(pair_plain_reject(b.assoc, sid, "never", 5), ASSOC_E_OK);
	pair_pump(&a, &b);
	ev = expect_event(&a, ASSOC_EV_REJECTED);
	cr_expect_eq(ev.ep, qa->ep);
	cr_expect_eq(ev.priv_len, 5);
	cr_expect_arr_eq(ev.priv, "never", 5);
	cr_expect(assoc_idle(a.assoc));
	cr_expect_str_eq(state_of(&b, sid), "quarantine");
	cr_expect_eq(pair_connect(&a, qa, &b, qb), sid,
		     "the same stream, and its new Initiate is proof");
	send_recv(qa, qb, STAG_B);
}

/* rows: 5043-5.2.3-06 */
Test(assoc, refused_with_a_terminate)
{
	uint16_t sid;

	pair_plain_connect(a.assoc, qa->ep, NULL, 0, &sid);
	pair_pump(&a, &b);
	expect_event(&b, ASSOC_EV_REQUEST);
	cr_assert_eq(assoc_refuse(b.assoc, sid), ASSOC_E_OK);
	cr_expect_eq(pair_plain_accept(b.assoc, sid, qb->ep, NULL, 0), ASSOC_E_STATE);
	pair_pump(&a, &b);
	cr_expect_eq(expect_event(&a, ASSOC_EV_REFUSED).ep, qa->ep);
	expect_no_event(&b);
	cr_expect_eq(assoc_sessions(a.assoc) + assoc_sessions(b.assoc), 0);
}

Test(assoc, opener_takes_even_streams_acceptor_odd_ones)
{
	uint16_t sid;

	for (unsigned i = 0; i < 4; i++) {
		cr_expect_eq(pair_plain_connect(a.assoc, pair_qp(&a)->ep, NULL, 0, &sid),
			     ASSOC_E_OK);
		cr_expect_eq(sid, 2 * i);
		cr_expect_eq(pair_plain_connect(b.assoc, pair_qp(&b)->ep, NULL, 0, &sid),
			     ASSOC_E_OK);
		cr_expect_eq(sid, 2 * i + 1);
	}
	cr_expect_eq(pair_plain_connect(a.assoc, qa->ep, NULL, 0, &sid), ASSOC_E_NO_STREAM);
}

/* rows: 5043-5.2.3-08 5043-5.2.3-09 5043-6-01 5043-6.4-03 5043-6.4-04 */
Test(assoc, requests_beyond_the_limit_are_terminated_and_the_others_live)
{
	struct pair_msg m;

	for (uint16_t sid = 0; sid < 6; sid++) {
		m = pair_control(sid, 0, WIRE_INITIATE, NULL, 0);
		pair_push(&b, &m);
	}
	for (uint16_t sid = 0; sid < 4; sid++)
		cr_expect_eq(expect_event(&b, ASSOC_EV_REQUEST).sid, sid);
	expect_no_event(&b);
	expect_control(&b, 4, 0, WIRE_TERMINATE);
	expect_control(&b, 5, 0, WIRE_TERMINATE);
	expect_silence(&b);
	for (uint16_t sid = 0; sid < 4; sid++)
		cr_expect_eq(assoc_refuse(b.assoc, sid), ASSOC_E_OK);
}

Test(assoc, undecided_request_is_refused_in_time)
{
	struct pair_msg m = pair_control(0, 0, WIRE_INITIATE, NULL, 0);

	assoc_tick(b.assoc, 70);
	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	cr_expect_eq(assoc_expiry(b.assoc), 70 + PAIR_ANSWER_MS);
	assoc_tick(b.assoc, 69 + PAIR_ANSWER_MS);
	expect_no_event(&b);
	assoc_tick(b.assoc, 70 + PAIR_ANSWER_MS);
	cr_expect_eq(expect_event(&b, ASSOC_EV_WITHDRAWN).sid, 0);
	expect_control(&b, 0, 0, WIRE_TERMINATE);
	cr_expect_eq(assoc_expiry(b.assoc), UINT64_MAX);
}

Test(assoc, unreported_request_is_withdrawn_without_an_event)
{
	struct pair_msg m = pair_control(0, 0, WIRE_INITIATE, NULL, 0);

	pair_push(&b, &m);
	assoc_tick(b.assoc, PAIR_ANSWER_MS);
	expect_no_event(&b);
	expect_control(&b, 0, 0, WIRE_TERMINATE);
}

/* There is no cancel on the wire: the answer is awaited. */
Test(assoc, cancelled_request_ends_with_its_answer)
{
	uint16_t sid;

	pair_plain_connect(a.assoc, qa->ep, NULL, 0, &sid);
	pair_pump(&a, &b);
	assoc_close(a.assoc, qa->ep);
	expect_closed(&a, qa, ASSOC_REASON_LOCAL);
	expect_silence(&a);
	cr_expect_str_eq(state_of(&a, sid), "cancelled");
	expect_event(&b, ASSOC_EV_REQUEST);
	pair_plain_accept(b.assoc, sid, qb->ep, NULL, 0);
	pair_pump(&a, &b);
	expect_no_event(&a);
	expect_closed(&b, qb, ASSOC_REASON_PEER);
	assoc_tx_acked(a.assoc);
	cr_expect(assoc_idle(a.assoc));
}

/* rows: 5043-6.1-04 5043-6.6-03 */
Test(assoc, glare_ends_both_sessions_with_terminates)
{
	struct pair_msg m = pair_control(0, 0, WIRE_INITIATE, NULL, 0);
	uint16_t sid;

	pair_plain_connect(a.assoc, qa->ep, NULL, 0, &sid);
	expect_control(&a, sid, 0, WIRE_INITIATE);
	pair_push(&a, &m);
	expect_no_event(&a);
	expect_silence(&a); /* the Initiate may still be in flight */
	assoc_tx_acked(a.assoc);
	expect_control(&a, sid, 1, WIRE_TERMINATE);
	m = pair_control(0, 1, WIRE_TERMINATE, NULL, 0);
	pair_push(&a, &m);
	expect_closed(&a, qa, ASSOC_REASON_VIOLATION);
	cr_expect_gt(assoc_counters(a.assoc)->rx_violations, 0);
}

Test(assoc, stream_of_the_wrong_parity_is_accepted_from_the_peer)
{
	struct pair_msg m = pair_control(1, 0, WIRE_INITIATE, NULL, 0);

	pair_push(&b, &m);
	cr_expect_eq(expect_event(&b, ASSOC_EV_REQUEST).sid, 1);
}

/* ---- ends ---- */

/* rows: 5043-5.2.3-06 5041-3-11 */
Test(assoc, close_ends_both_sides_in_order)
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

Test(assoc, both_sides_close_at_once)
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
	expect_silence(&a);
	expect_silence(&b);
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
Test(assoc, close_finishes_the_message_being_sent_and_flushes_the_rest)
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
Test(assoc, reception_continues_after_our_terminate)
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

/* rows: 5043-6.6-01 */
Test(assoc, terminate_waits_until_the_accept_is_known_to_have_arrived)
{
	struct pair_msg m = pair_control(2, 0, WIRE_INITIATE, NULL, 0);

	pair_push(&b, &m);
	expect_event(&b, ASSOC_EV_REQUEST);
	pair_plain_accept(b.assoc, 2, qb->ep, NULL, 0);
	assoc_close(b.assoc, qb->ep);
	expect_control(&b, 2, 0, WIRE_ACCEPT);
	expect_silence(&b);
	assoc_tx_acked(b.assoc);
	expect_control(&b, 2, 1, WIRE_TERMINATE);
}

/* rows: 5043-6.6-01 */
Test(assoc, a_chunk_after_the_accept_proves_its_arrival)
{
	struct wire_ddp h = {.tagged = true, .last = true, .dv = 1, .rv = 1};
	struct pair_msg m;

	pair_fake_connect(&b, qb, 2);
	assoc_close(b.assoc, qb->ep);
	expect_silence(&b);
	m = pair_segment(2, 1, &h, NULL, 0);
	pair_push(&b, &m);
	expect_control(&b, 2, 1, WIRE_TERMINATE);
}

Test(assoc, peer_that_sends_before_the_accept_proves_nothing_with_it)
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
	expect_silence(&b);
	assoc_tx_acked(b.assoc);
	expect_control(&b, 2, 1, WIRE_TERMINATE);
	cr_expect_eq(assoc_counters(b.assoc)->rx_violations, 0);
}

/* rows: 5043-6.6-04 */
Test(assoc, stream_is_not_used_again_before_all_is_acknowledged)
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

Test(assoc, a_stream_carries_one_session_after_the_other_from_zero)
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
Test(assoc, stream_of_a_peer_that_never_terminates_is_not_reused)
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

/* rows: 5041-6.2.1-01 */
Test(assoc, a_long_message_may_take_longer_than_the_time_limit)
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

Test(assoc, unbound_endpoint_gets_no_event_and_the_peer_a_terminate)
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

Test(assoc, unbinding_cancels_queued_events)
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
Test(assoc, loss_of_the_association_ends_everything)
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
	expect_silence(&a);
	cr_expect(assoc_idle(a.assoc));
	cr_expect_eq(pair_plain_connect(a.assoc, qa->ep, NULL, 0, &sid), ASSOC_E_NO_STREAM);
	pair_push(&a, &m);
	expect_no_event(&a);
}
