/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that arrive before an Accept or before the end of the previous session on their stream
 * (RFC 5043 6.2, 6.6). */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lib/assoc_test.h"
#include "proto/ddp/ssn.h"
#include "tests/lib/fake.h"
#include "util/be.h"

TestSuite(assoc_early, .init = fake_setup, .fini = fake_teardown);

/* ---- before the Accept (RFC 5043 6.2, 6.6) ---- */

static uint16_t begin_connect(struct pair_qp *q)
{
	struct pair_msg m;
	uint16_t sid;

	cr_assert_eq(pair_plain_connect(fake.node.assoc, q->ep, NULL, 0, &sid), ASSOC_E_OK);
	cr_assert(pair_pull(&fake.node, &m));
	return sid;
}

Test(assoc_early, segments_that_overtake_the_accept_wait_for_it)
{
	struct pair_qp *q = pair_qp(&fake.node);
	uint16_t sid = begin_connect(q);
	struct pair_msg m = fake_send(2, 1, 0, true, "two");
	struct assoc_event ev;

	pair_post_recv(q, 5, FAKE_STAG, FAKE_BASE, 100);
	m.sid = sid;
	fake_push(m);
	fake_push(pair_control(sid, 3, WIRE_TERMINATE, NULL, 0));
	m = fake_write(1, FAKE_BASE + 50, "one");
	m.sid = sid;
	fake_push(m);
	cr_expect_eq(fake.mem[0] | fake.mem[50], 0, "no endpoint, no placement");
	cr_expect_eq(assoc_counters(fake.node.assoc)->rx_early, 3);
	fake_push(pair_control(sid, 0, WIRE_ACCEPT, "yes", 3));
	cr_assert(pair_event(&fake.node, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_ACCEPTED);
	cr_expect_eq(ev.priv_len, 3);
	cr_expect_eq(q->done[0].cookie, 5);
	cr_expect_eq(q->done[0].len, 3);
	cr_expect_arr_eq(fake.mem, "two", 3);
	cr_expect_arr_eq(fake.mem + 50, "one", 3);
	fake_expect_end(1);
	cr_assert(pair_event(&fake.node, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_CLOSED);
	cr_expect_eq(ev.reason, ASSOC_REASON_PEER);
}

Test(assoc_early, segments_before_a_refusal_are_dropped)
{
	static const uint16_t func[] = {WIRE_REJECT, WIRE_TERMINATE};

	for (unsigned i = 0; i < 2; i++) {
		struct pair_qp *q = pair_qp(&fake.node);
		uint16_t sid = begin_connect(q);
		struct pair_msg m = fake_write(1, FAKE_BASE, "early");
		uint64_t before = assoc_counters(fake.node.assoc)->rx_violations;
		struct assoc_event ev;

		m.sid = sid;
		fake_push(m);
		fake_push(pair_control(sid, 0, func[i], NULL, 0));
		cr_assert(pair_event(&fake.node, &ev));
		cr_expect_eq(ev.type, i ? ASSOC_EV_REFUSED : ASSOC_EV_REJECTED);
		cr_expect_eq(fake.mem[0], 0);
		cr_expect_eq(assoc_counters(fake.node.assoc)->rx_violations, before + 1);
		fake_expect_nothing_sent();
	}
}

Test(assoc_early, early_segments_of_the_active_side_wait_for_our_accept)
{
	struct pair_qp *q = pair_qp(&fake.node);
	struct pair_msg m = fake_write(1, FAKE_BASE, "early");
	struct assoc_event ev;
	struct assoc_msg in;

	m.sid = 4;
	fake_push(pair_control(4, 0, WIRE_INITIATE, NULL, 0));
	cr_assert(pair_event(&fake.node, &ev));
	fake_push(m);
	cr_expect_not(pair_event(&fake.node, &ev));
	cr_expect_not(assoc_rx_early(fake.node.assoc, &in));
	pair_plain_accept(fake.node.assoc, 4, q->ep, NULL, 0);
	cr_assert(assoc_rx_early(fake.node.assoc, &in));
	cr_expect_eq(in.sid, 4);
	cr_expect_eq(in.len, m.len);
	cr_expect_arr_eq(in.head, m.b, m.len);
}

Test(assoc_early, full_early_queue_ends_the_session)
{
	struct pair_qp *q = pair_qp(&fake.node);
	uint16_t sid = begin_connect(q);
	struct pair_msg m = fake_write(1, FAKE_BASE, "x");
	uint16_t ssn = 1;

	m.sid = sid;
	m.len = 2000;
	for (; ssn <= 4; ssn++) {
		be_put16(m.b, ssn);
		fake_push(m);
	}
	cr_expect_eq(assoc_counters(fake.node.assoc)->rx_violations, 0);
	be_put16(m.b, ssn);
	fake_push(m);
	cr_expect_eq(assoc_counters(fake.node.assoc)->rx_violations, 1);
	fake_expect_open();
}

Test(assoc_early, old_numbers_are_refused_before_the_accept)
{
	struct pair_qp *q = pair_qp(&fake.node);
	uint16_t sid = begin_connect(q);
	struct pair_msg m = fake_write(40000, FAKE_BASE, "x");
	struct assoc_event ev;

	m.sid = sid;
	fake_push(m);
	cr_expect_eq(assoc_counters(fake.node.assoc)->rx_violations, 1);
	fake_push(pair_control(4, 0, WIRE_INITIATE, NULL, 0));
	cr_assert(pair_event(&fake.node, &ev));
	be_put16(m.b, 0);
	m.sid = 4;
	fake_push(m);
	cr_assert(pair_event(&fake.node, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_WITHDRAWN);
}

/* rows: 5043-6.1-04 */
Test(assoc_early, first_chunk_of_the_answering_side_is_a_control_message)
{
	struct pair_msg m = fake_write(0, FAKE_BASE, "x");

	m.sid = begin_connect(pair_qp(&fake.node));
	fake_push(m);
	cr_expect_eq(assoc_counters(fake.node.assoc)->rx_violations, 1);
	assoc_tx_acked(fake.node.assoc);
	cr_assert(pair_pull(&fake.node, &m));
	cr_expect_eq(be_get16(m.b), 1);
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
}

/* ---- several sessions on one stream ---- */

static void end_and_begin_again(uint16_t ssn)
{
	struct assoc_event ev;
	struct pair_msg m;

	fake_push(fake_end(ssn));
	cr_assert(pair_pull(&fake.node, &m));
	cr_assert(pair_event(&fake.node, &ev));
	cr_assert_eq(ev.type, ASSOC_EV_CLOSED);
	fake_push(pair_control(FAKE_SID, 0, WIRE_INITIATE, NULL, 0));
	cr_assert(pair_event(&fake.node, &ev));
	cr_assert_eq(ev.type, ASSOC_EV_REQUEST);
}

/* rows: 5043-6-04 */
Test(assoc_early, stored_messages_do_not_reach_the_next_session)
{
	struct pair_msg m;

	fake_push(fake_write(3, FAKE_BASE, "late"));
	end_and_begin_again(1);
	pair_plain_accept(fake.node.assoc, FAKE_SID, fake.qp->ep, NULL, 0);
	cr_assert(pair_pull(&fake.node, &m));
	fake_push(fake_write(4, FAKE_BASE + 400, "four"));
	fake_push(fake_write(3, FAKE_BASE + 100, "three"));
	fake_push(fake_write(2, FAKE_BASE + 200, "two"));
	fake_push(fake_write(1, FAKE_BASE + 300, "one"));
	cr_expect_eq(fake.mem[400], 'f');
	fake_expect_open();
}

Test(assoc_early, proof_of_one_session_is_not_proof_in_the_next)
{
	struct pair_msg m;

	fake_push(fake_write(1, FAKE_BASE, "proof"));
	end_and_begin_again(2);
	pair_plain_accept(fake.node.assoc, FAKE_SID, fake.qp->ep, NULL, 0);
	assoc_close(fake.node.assoc, fake.qp->ep);
	cr_assert(pair_pull(&fake.node, &m));
	cr_expect_eq(be_get16(m.b + 2), WIRE_ACCEPT);
	fake_expect_nothing_sent();
}

Test(assoc_early, refusal_in_the_next_session_waits_for_nothing)
{
	end_and_begin_again(1);
	assoc_refuse(fake.node.assoc, FAKE_SID);
	fake_expect_end(0);
}

Test(assoc_early, peer_that_was_early_once_may_wait_the_next_time)
{
	struct pair_msg m = fake_write(1, FAKE_BASE, "early");

	end_and_begin_again(1);
	fake_push(m);
	pair_plain_accept(fake.node.assoc, FAKE_SID, fake.qp->ep, NULL, 0);
	cr_assert(pair_pull(&fake.node, &m));
	fake_push(fake_write(2, FAKE_BASE, "and"));
	assoc_tx_acked(fake.node.assoc);
	end_and_begin_again(3);
	pair_plain_accept(fake.node.assoc, FAKE_SID, fake.qp->ep, NULL, 0);
	assoc_close(fake.node.assoc, fake.qp->ep);
	cr_assert(pair_pull(&fake.node, &m));
	fake_push(fake_write(1, FAKE_BASE, "proof"));
	fake_expect_end(1);
}

Test(assoc_early, unreported_private_data_is_not_overwritten)
{
	struct pair_qp *q = pair_qp(&fake.node);
	uint16_t sid = begin_connect(q);
	struct assoc_event ev;
	struct pair_msg m;
	uint16_t next;

	fake_push(pair_control(sid, 0, WIRE_REJECT, "no", 2));
	fake_push(pair_control(sid, 0, WIRE_INITIATE, "other", 5));
	cr_assert(pair_pull(&fake.node, &m));
	cr_expect_eq(be_get16(m.b + 2), WIRE_TERMINATE);
	assoc_tx_acked(fake.node.assoc);
	cr_assert_eq(pair_plain_connect(fake.node.assoc, pair_qp(&fake.node)->ep, "x", 1, &next),
		     ASSOC_E_OK);
	cr_expect_neq(next, sid);
	cr_assert(pair_event(&fake.node, &ev));
	cr_expect_eq(ev.type, ASSOC_EV_REJECTED);
	cr_expect_eq(ev.ep, q->ep);
	cr_expect_eq(ev.priv_len, 2);
	cr_expect_arr_eq(ev.priv, "no", 2);
}
