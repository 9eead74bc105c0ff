/* SPDX-License-Identifier: BSD-2-Clause */
/* How sessions between two associations begin, how they are refused, and the messages of both on
 * the wire (RFC 5043 6). */
#include "tests/unit/assoc_rig.h"

TestSuite(assoc, .init = setup, .fini = teardown);

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
	expect_nothing_sent(&b);
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
Test(assoc, canceled_request_ends_with_its_answer)
{
	uint16_t sid;

	pair_plain_connect(a.assoc, qa->ep, NULL, 0, &sid);
	pair_pump(&a, &b);
	assoc_close(a.assoc, qa->ep);
	expect_closed(&a, qa, ASSOC_REASON_LOCAL);
	expect_nothing_sent(&a);
	cr_expect_str_eq(state_of(&a, sid), "canceled");
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
	expect_nothing_sent(&a); /* the Initiate may still be in flight */
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

/* ---- memory ---- */

Test(assoc, an_idle_association_with_many_streams_has_few_addresses)
{
	struct assoc_cfg cfg = pair_cfg(true);

	cfg.streams = 2048;
	cfg.records_max = UINT16_MAX;
	cr_expect_leq(assoc_size(&cfg), 64 << 10);
	cr_expect_leq(assoc_blocks(), 8);
	cfg.streams = UINT16_MAX;
	cr_expect_leq(assoc_size(&cfg), 512 << 10);
	cr_expect_leq(assoc_blocks(), 8);
}

/* Reserves all that is left of a pool. Returns how much. */
static uint64_t take_pool(struct pair_node *n)
{
	struct blocks *pool = &n->pool->blocks;
	uint64_t left = (uint64_t)pool->chunks * BLOCKS_OF_CHUNK - pool->reserved;

	cr_assert(blocks_reserve(pool, left));
	return left;
}

static void initiate(struct pair_node *to, uint16_t sid)
{
	struct pair_msg m = pair_control(sid, 0, WIRE_INITIATE, "?", 1);

	pair_push(to, &m);
}

Test(assoc, without_memory_for_more_streams_the_first_ones_work)
{
	const struct pair_qp *second = pair_qp(&a);
	uint64_t left = take_pool(&a);
	uint16_t sid;

	initiate(&a, 1);
	initiate(&a, 3);
	initiate(&a, 5);
	cr_expect_eq(assoc_pending(a.assoc), 2);
	cr_expect_eq(assoc_counters(a.assoc)->rx_dropped, 1);
	cr_expect_eq(assoc_counters(a.assoc)->rx_violations, 0);
	cr_assert_eq(pair_plain_connect(a.assoc, qa->ep, NULL, 0, &sid), ASSOC_E_OK);
	cr_expect_eq(sid, 0);
	cr_assert_eq(pair_plain_connect(a.assoc, second->ep, NULL, 0, &sid), ASSOC_E_OK);
	cr_expect(assoc_full(a.assoc));
	blocks_unreserve(&a.pool->blocks, left);
	cr_expect_not(assoc_full(a.assoc));
	initiate(&a, 5);
	cr_expect_eq(assoc_pending(a.assoc), 3);
}

/* RFC 5043 6.4: a refusal that the ULP did not decide is a Terminate. */
Test(assoc, without_memory_for_its_stream_an_initiate_is_refused)
{
	const uint16_t streams = pair_cfg(true).streams;

	take_pool(&a);
	for (uint16_t sid = 1; sid < streams; sid += 2)
		initiate(&a, sid);
	cr_expect_eq(assoc_pending(a.assoc), 2);
	cr_expect_not(assoc_idle(a.assoc));
	for (uint16_t sid = 5; sid < streams; sid += 2)
		expect_control(&a, sid, 0, WIRE_TERMINATE);
	expect_nothing_sent(&a);
	cr_expect_eq(assoc_counters(a.assoc)->rx_refused, streams / 2U - 2);
	initiate(&a, 5);
	expect_control(&a, 5, 0, WIRE_TERMINATE);
	cr_expect_eq(assoc_counters(a.assoc)->rx_refused, streams / 2U - 1);
	cr_expect_eq(assoc_counters(a.assoc)->rx_violations, 0);
}

/* 6.6: on our own streams an Initiate of ours could arrive before the Terminate. */
Test(assoc, without_memory_other_messages_are_not_answered)
{
	struct pair_msg m = pair_control(5, 0, WIRE_TERMINATE, NULL, 0);

	take_pool(&a);
	initiate(&a, 4);
	initiate(&a, pair_cfg(true).streams | 1);
	pair_push(&a, &m);
	m = pair_control(7, 1, WIRE_INITIATE, NULL, 0);
	pair_push(&a, &m);
	expect_nothing_sent(&a);
	cr_expect_eq(assoc_counters(a.assoc)->rx_violations, 4);
	cr_expect_eq(assoc_counters(a.assoc)->rx_refused, 0);
	initiate(&a, 5);
	assoc_lost(a.assoc);
	expect_nothing_sent(&a);
	cr_expect(assoc_idle(a.assoc));
}

Test(assoc, all_blocks_go_back)
{
	uint64_t used = a.pool->blocks.used, reserved = a.pool->blocks.reserved;

	for (uint16_t sid = 1; sid < 8; sid += 2)
		initiate(&a, sid);
	cr_expect_gt(a.pool->blocks.reserved, reserved);
	assoc_clear(a.assoc);
	cr_expect_eq(a.pool->blocks.used, used);
	cr_expect_eq(a.pool->blocks.reserved, reserved);
}

static void refuse_all(struct pair_node *n, uint16_t streams)
{
	struct assoc_event ev;
	struct pair_msg m;

	while (pair_event(n, &ev))
		assoc_refuse(n->assoc, ev.sid);
	while (pair_pull(n, &m))
		;
	cr_expect_eq(assoc_sessions(n->assoc), 0, "of %u streams", streams);
}

/* A peer that once used all streams costs no more than one that used none. */
Test(assoc, blocks_of_streams_go_back_when_their_sessions_are_over)
{
	uint64_t used = a.pool->blocks.used, reserved = a.pool->blocks.reserved;
	uint16_t streams = pair_cfg(true).streams;

	for (unsigned round = 0; round < 3; round++) {
		for (uint16_t sid = 1; sid < streams; sid += 2)
			initiate(&a, sid);
		cr_expect_gt(a.pool->blocks.reserved, reserved);
		refuse_all(&a, streams);
		cr_expect_gt(a.pool->blocks.reserved, reserved, "a Terminate may be on its way");
		assoc_tx_acked(a.assoc);
		expect_no_event(&a);
		cr_expect_eq(a.pool->blocks.used, used);
		cr_expect_eq(a.pool->blocks.reserved, reserved);
	}
}

/* A control message that begins no session needs memory to be looked at, and no longer. */
Test(assoc, messages_without_a_session_keep_no_blocks)
{
	uint64_t reserved = a.pool->blocks.reserved;

	for (uint16_t sid = 0; sid < pair_cfg(true).streams; sid++) {
		struct pair_msg m = pair_control(sid, 0, WIRE_TERMINATE, NULL, 0);

		pair_push(&a, &m);
	}
	expect_no_event(&a);
	cr_expect_eq(a.pool->blocks.reserved, reserved);
}

/* The end of a session is reported before its stream is forgotten. */
Test(assoc, a_stream_with_an_event_keeps_its_memory)
{
	uint64_t reserved = a.pool->blocks.reserved;
	struct assoc_event ev;

	for (uint16_t sid = 1; sid < 9; sid += 2)
		initiate(&a, sid);
	assoc_lost(a.assoc);
	for (unsigned i = 0; pair_event(&a, &ev); i++)
		cr_expect_lt(i, 4);
	cr_expect_eq(a.pool->blocks.reserved, reserved);
}
