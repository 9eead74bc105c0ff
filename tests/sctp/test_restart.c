/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: RFC 9260 5.2: INIT and COOKIE ECHO for an association that exists: restarts, collisions,
 * duplicates. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/peer.h"
#include "util/be.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 2);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(restart, .init = setup, .fini = teardown);

enum {
	NEW_TAG = 0x77777777,
	TIE_OWN = 44, /* where our cookies have the tie-tags */
	TIE_PEER = 48,
};

/* The states in which INIT is answered by INIT ACK with a new tag. */
static const enum sctp_state up[] = {SCTP_ESTABLISHED, SCTP_SHUTDOWN_PENDING, SCTP_SHUTDOWN_SENT,
				     SCTP_SHUTDOWN_RECEIVED};

static uint32_t tie(unsigned at)
{
	return be_get32(p.cookie + at);
}

/* INIT of a peer that has begun again; takes INIT ACK. */
static void send_new_init(void)
{
	p.tag = NEW_TAG;
	p.tsn = 5000;
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert_eq(p.head.tag, NEW_TAG);
}

/* ---- INIT ---- */

/* rows: 9260-5.2.2-01 9260-5.2.2-06 9260-5.2.2-07 9260-5.2.2-08 9260-5.2.2-09 9260-5.2.2-13
 * 9260-5.2-01 */
Test(restart, init_gets_a_new_tag_and_tie_tags)
{
	for (unsigned i = 0; i < 4; i++) {
		uint32_t old;

		peer_bring_to(&p, up[i]);
		old = p.stack_tag;
		send_new_init();
		cr_assert_neq(p.stack_tag, old);
		cr_assert_eq(p.stack_in, 100);
		cr_assert_eq(p.stack_out, PEER_STREAMS);
		cr_assert(tie(TIE_OWN) != 0 && tie(TIE_PEER) != 0);
		cr_assert(tie(TIE_OWN) != old && tie(TIE_OWN) != PEER_TAG);
		cr_assert(tie(TIE_PEER) != old && tie(TIE_PEER) != PEER_TAG);
		peer_forget(&p);
	}
}

/* rows: 9260-5.2.2-12 9260-5.2.2-13 9260-5.2.1-15 */
Test(restart, tie_tags_are_0_for_a_new_peer_and_in_cookie_wait)
{
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert_eq(tie(TIE_OWN) | tie(TIE_PEER), 0);
	peer_bring_to(&p, SCTP_COOKIE_WAIT);
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert_eq(tie(TIE_OWN) | tie(TIE_PEER), 0);
	peer_forget(&p);
	peer_bring_to(&p, SCTP_COOKIE_ECHOED);
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert(tie(TIE_OWN) != 0 && tie(TIE_PEER) != 0);
}

/* By members: what lies between them is nobody's. */
static void expect_same(const struct sctp_info *a, const struct sctp_info *b)
{
	cr_assert(sctp_addr_equal(&a->primary.peer, &b->primary.peer));
	cr_assert_eq(a->primary.udp_port, b->primary.udp_port);
	cr_assert_eq(a->primary.local, b->primary.local);
	cr_assert_eq(a->local_port, b->local_port);
	cr_assert_eq(a->peer_port, b->peer_port);
	cr_assert_eq(a->streams, b->streams);
	cr_assert_eq(a->max_message, b->max_message);
	cr_assert_eq(a->mtu, b->mtu);
	cr_assert_eq(a->srtt_us, b->srtt_us);
	cr_assert_eq(a->rto_us, b->rto_us);
	cr_assert_eq(a->cwnd, b->cwnd);
	cr_assert_eq(a->peer_rwnd, b->peer_rwnd);
	cr_assert_eq(a->unacked, b->unacked);
	cr_assert_eq(a->takes_batches, b->takes_batches);
	cr_assert_eq(a->unreachable, b->unreachable);
	cr_assert_eq(a->tag, b->tag);
	cr_assert_eq(a->peer_tag, b->peer_tag);
	cr_assert_eq(a->lower_tag, b->lower_tag);
}

/* rows: 9260-5.2.2-10 9260-5.2.2-11 9260-5.3.1-02 */
Test(restart, inits_alone_change_nothing)
{
	struct sctp_info before, after;
	uint32_t tag;

	peer_connect(&p);
	tag = p.stack_tag;
	before = peer_info(&p);
	for (unsigned i = 0; i < 1000; i++)
		send_new_init();
	after = peer_info(&p);
	expect_same(&before, &after);
	p.stack_tag = tag;
	p.tag = PEER_TAG;
	p.tsn = PEER_TSN;
	peer_send_data(&p, 4);
	peer_expect(&p, SCTP_SACK);
	cr_assert_eq(p.head.tag, PEER_TAG);
	cr_assert_eq(p.messages, 1);
}

/* rows: 9260-5.2.2-02 9260-5.2.2-03 9260-5.2.2-04 9260-5.2.2-05 9260-3.3.10.11-01 9260-5.1.2-07
 * 9260-5.2.2-10 */
Test(restart, init_with_another_address_is_refused)
{
	const struct sctp_addr known = peer_addr(0), added = peer_addr(9);

	for (unsigned i = 0; i < 8; i++) {
		struct sctp_error e;
		uint32_t at, tag;

		peer_bring_to(&p, up[i % 4]);
		tag = p.stack_tag;
		p.tag = NEW_TAG;
		if (i >= 4) /* the source is the new one */
			p.from.peer = added;
		peer_begin_tag(&p, 0);
		at = peer_begin_init(&p, SCTP_INIT);
		peer_put_addr(&p, &known);
		if (i < 4)
			peer_put_addr(&p, &added);
		peer_end_chunk(&p, at);
		peer_send(&p);
		e = peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_NEW_ADDRESS);
		cr_assert_eq(p.head.tag, NEW_TAG);
		cr_assert_eq(p.chunk[0].flags, 0);
		cr_assert_eq(e.len, 8);
		cr_assert_arr_eq(e.p, ((const uint8_t[]){0, 5, 0, 8, 10, 0, 9, 2}), 8);
		p.from.peer = known;
		p.stack_tag = tag;
		cr_assert_eq(p.down, 0);
		peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
		peer_expect(&p, SCTP_HEARTBEAT_ACK);
		peer_forget(&p);
	}
}

/* Programs of other users of the peer's host could end the association. */
Test(restart, init_from_another_udp_port_is_refused)
{
	for (unsigned i = 0; i < 4; i++) {
		struct sctp_error e;
		uint32_t tag;

		peer_bring_to(&p, up[i]);
		tag = p.stack_tag;
		p.tag = NEW_TAG;
		p.from.udp_port = 4000;
		peer_send_init(&p);
		e = peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_NEW_UDP_PORT);
		cr_assert_eq(p.pkt->to.udp_port, 4000);
		cr_assert_eq(p.head.tag, NEW_TAG);
		cr_assert_eq(p.chunk[0].flags, 0);
		cr_assert_eq(e.len, 4);
		cr_assert_eq(be_get16(e.p), PEER_UDP);
		cr_assert_eq(be_get16(e.p + 2), 4000);
		/* The association has gone on, at its old port, which is asked (test_moved.c). */
		p.stack_tag = tag;
		p.from.udp_port = PEER_UDP;
		if (up[i] != SCTP_SHUTDOWN_SENT)
			peer_expect(&p, SCTP_HEARTBEAT);
		peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
		peer_expect(&p, SCTP_HEARTBEAT_ACK);
		cr_assert_eq(p.pkt->to.udp_port, PEER_UDP);
		cr_assert_eq(p.down, 0);
		peer_forget(&p);
	}
}

/* An address translator has given the peer another port; its packets are valid. */
Test(restart, init_from_the_udp_port_that_the_peer_moved_to_is_answered)
{
	peer_connect(&p);
	p.from.udp_port = 4000;
	peer_send_data(&p, 4);
	peer_expect(&p, SCTP_SACK);
	send_new_init();
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.pkt->to.udp_port, 4000);
	cr_assert_eq(p.last_down.end, SCTP_END_RESTART);
	cr_assert_eq(p.incoming, 2);
}

/* An address translator may give the peer a new port meanwhile. */
Test(restart, a_colliding_init_may_come_from_another_udp_port)
{
	static const enum sctp_state states[] = {SCTP_COOKIE_WAIT, SCTP_COOKIE_ECHOED};

	for (unsigned i = 0; i < 2; i++) {
		peer_bring_to(&p, states[i]);
		p.from.udp_port = 4000;
		peer_send_init(&p);
		peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
		peer_send_cookie_echo(&p);
		peer_expect(&p, SCTP_COOKIE_ACK);
		cr_assert_eq(p.pkt->to.udp_port, 4000);
		cr_assert_eq(p.up, 1);
		p.from.udp_port = PEER_UDP;
		peer_forget(&p);
	}
}

/* ABORT with its tag would end the association. */
Test(restart, an_init_that_is_late_may_come_from_another_udp_port)
{
	peer_connect(&p);
	p.from.udp_port = 4000;
	peer_send_init(&p);
	peer_expect(&p, SCTP_INIT_ACK);
	cr_assert_eq(p.down, 0);
}

/* rows: 9260-5.2.2-14 9260-5.2.2-13 */
Test(restart, init_in_shutdown_ack_sent_repeats_shutdown_ack)
{
	peer_bring_to(&p, SCTP_SHUTDOWN_ACK_SENT);
	p.tag = NEW_TAG;
	peer_send_init(&p);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	cr_assert_eq(p.head.tag, PEER_TAG);
}

/* ---- restart: action A ---- */

/* rows: 9260-5.2.4-09 9260-5.2.4-11 9260-5.2.4-12 9260-5.2.4-13 9260-5.2.4-02 9260-5.2.4-06
 * 9260-5.2.4-07 9260-5.2.4-10 9260-11.2-02 9260-5.2.2-06 */
Test(restart, cookie_with_tie_tags_begins_a_new_association)
{
	for (unsigned i = 0; i < 4; i++) {
		struct sctp_info fresh, after;

		peer_bring_to(&p, SCTP_ESTABLISHED);
		fresh = peer_info(&p);
		peer_forget(&p);
		peer_bring_to(&p, up[i]);
		peer_stack_sends(&p, 0, 100);
		peer_drain(&p, SCTP_DATA);
		send_new_init();
		peer_send_cookie_echo(&p);
		peer_expect(&p, SCTP_COOKIE_ACK);
		cr_assert_eq(p.head.tag, NEW_TAG);
		cr_assert_eq(p.down, 1);
		cr_assert_eq(p.last_down.end, SCTP_END_RESTART);
		cr_assert_eq(p.incoming, 2);
		after = peer_info(&p);
		cr_assert_eq(after.cwnd, fresh.cwnd);
		cr_assert_eq(after.rto_us, fresh.rto_us);
		cr_assert_eq(after.unacked, 0);
		peer_advance(&p, 2 * PEER_SECOND);
		peer_expect_nothing(&p);
		peer_send_data(&p, 4);
		cr_assert_eq(be_get32(peer_expect(&p, SCTP_SACK)->p + 4), 5000);
		peer_stack_sends(&p, 0, 4);
		cr_assert_eq(be_get32(peer_expect(&p, SCTP_DATA)->p + 4), p.stack_tsn);
		peer_forget(&p);
	}
}

/* rows: 9260-5.2.4-02 */
Test(restart, cookie_under_the_old_tag_is_dropped)
{
	uint32_t old;

	peer_connect(&p);
	old = p.stack_tag;
	send_new_init();
	p.stack_tag = old;
	peer_send_cookie_echo(&p);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 0);
}

/* rows: 9260-5.2.4-14 9260-5.2.4-15 9260-3.3.10.10-01 */
Test(restart, cookie_in_shutdown_ack_sent_is_refused)
{
	struct sctp_cursor c;
	struct sctp_error e;
	uint8_t cum[4];
	uint32_t old, tag;

	peer_connect(&p);
	old = p.stack_tag;
	be_put32(cum, p.stack_tsn - 1);
	send_new_init();
	tag = p.stack_tag;
	p.stack_tag = old;
	peer_send_chunk(&p, SCTP_SHUTDOWN, 0, cum, 4);
	peer_expect(&p, SCTP_SHUTDOWN_ACK);
	p.stack_tag = tag;
	peer_send_cookie_echo(&p);
	peer_expect2(&p, SCTP_SHUTDOWN_ACK, SCTP_ERROR);
	c = sctp_errors(&p.chunk[1]);
	cr_assert(sctp_error_next(&c, &e));
	cr_assert_eq(e.cause, SCTP_CAUSE_COOKIE_SHUTDOWN);
	cr_assert_eq(e.len, 0);
	cr_assert_eq(p.incoming, 1);
}

/* rows: 9260-5.2.4-03 9260-5.2.4-04 */
Test(restart, an_old_cookie_does_not_restart)
{
	peer_connect(&p);
	send_new_init();
	peer_advance(&p, 61 * PEER_SECOND);
	peer_drain(&p, SCTP_HEARTBEAT);
	peer_send_cookie_echo(&p);
	peer_expect_cause(&p, SCTP_ERROR, SCTP_CAUSE_STALE_COOKIE);
	cr_assert_eq(p.head.tag, NEW_TAG);
	cr_assert_eq(p.down, 0);
	cr_assert_eq(p.incoming, 1);
}

/* rows: 9260-5.2.4-01 */
Test(restart, a_forged_cookie_does_nothing)
{
	peer_connect(&p);
	send_new_init();
	p.cookie[60] ^= 1;
	peer_send_cookie_echo(&p);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 0);
}

/* rows: 9260-5.2.4-07 9260-5.2.4-08 9260-5.2.4-19 9260-5.2.4-20 */
Test(restart, a_cookie_of_an_earlier_association_is_dropped)
{
	/* Two cookies before there is an association; the second one makes it. */
	uint8_t cookie[PEER_COOKIE / 64];
	uint32_t tag, len;

	p.tag = NEW_TAG;
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	tag = p.stack_tag;
	len = p.cookie_len;
	memcpy(cookie, p.cookie, len);
	p.tag = PEER_TAG;
	peer_connect(&p);
	p.stack_tag = tag;
	p.cookie_len = len;
	memcpy(p.cookie, cookie, len);
	peer_send_cookie_echo(&p); /* X X 0 0: in no row of the table */
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 0);
	cr_assert_eq(p.incoming, 1);
}

/* rows: 9260-5.2.4-08 */
Test(restart, tie_tags_of_another_association_do_not_restart)
{
	peer_connect(&p);
	send_new_init();
	/* Meanwhile the association ends and another one is set up. */
	const uint32_t tag = p.stack_tag, len = p.cookie_len;
	uint8_t cookie[PEER_COOKIE / 64];

	memcpy(cookie, p.cookie, len);
	peer_forget(&p);
	peer_bring_to(&p, SCTP_ESTABLISHED);
	p.stack_tag = tag;
	p.cookie_len = len;
	memcpy(p.cookie, cookie, len);
	peer_send_cookie_echo(&p);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 0);
}

/* ---- collision ---- */

/* rows: 9260-5.2.1-01 9260-5.2.1-04 9260-5.2.1-05 9260-5.2.1-11 9260-5.2.1-12 9260-5.2.1-13
 * 9260-5.2.1-14 9260-5.2-01 */
Test(restart, a_colliding_init_is_answered_with_the_own_parameters)
{
	static const enum sctp_state states[] = {SCTP_COOKIE_WAIT, SCTP_COOKIE_ECHOED};

	for (unsigned i = 0; i < 2; i++) {
		uint32_t tag, tsn;

		peer_bring_to(&p, states[i]);
		tag = p.stack_tag;
		tsn = p.stack_tsn;
		peer_send_init(&p);
		peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
		cr_assert_eq(p.stack_tag, tag);
		cr_assert_eq(p.stack_tsn, tsn);
		cr_assert_eq(p.stack_rwnd, p.cfg.recv_buffer);
		cr_assert_eq(p.stack_in, 100);
		cr_assert_eq(p.stack_out, PEER_STREAMS);
		/* The own handshake goes on. */
		peer_advance(&p, PEER_SECOND);
		peer_expect(&p, i ? SCTP_COOKIE_ECHO : SCTP_INIT);
		cr_assert_eq(p.up, 0);
		peer_forget(&p);
	}
}

/* rows: 9260-5.2.1-02 9260-5.2.1-03 */
Test(restart, a_collision_from_elsewhere_is_answered_to_the_named_address)
{
	const struct sctp_addr named = peer_addr(0);
	uint32_t at;

	peer_bring_to(&p, SCTP_COOKIE_WAIT);
	p.from.peer = peer_addr(6);
	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_addr(&p, &named);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_INIT_ACK);
	cr_assert(sctp_addr_equal(&p.pkt->to.peer, &named));
	peer_send_init(&p); /* it lists nothing */
	cr_assert_eq(peer_drain(&p, SCTP_INIT_ACK), 0);
}

/* rows: 9260-5.2.1-06 9260-5.2.1-07 9260-5.2.1-08 9260-5.2.1-09 9260-5.2.1-10 */
Test(restart, a_collision_in_cookie_echoed_adds_no_address)
{
	const struct sctp_addr added = peer_addr(9);
	struct sctp_error e;
	uint32_t at;

	peer_bring_to(&p, SCTP_COOKIE_ECHOED);
	p.tag = NEW_TAG;
	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_addr(&p, &added);
	peer_end_chunk(&p, at);
	peer_send(&p);
	e = peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_NEW_ADDRESS);
	cr_assert_eq(p.head.tag, NEW_TAG);
	cr_assert_eq(e.len, 8);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
}

/* rows: 9260-5.2.1-16 9260-5.2.4-16 9260-5.2.4-17 9260-5.2.4-18 9260-5.2.4-07 */
Test(restart, a_collision_ends_in_one_association)
{
	static const enum sctp_state states[] = {SCTP_COOKIE_WAIT, SCTP_COOKIE_ECHOED};

	for (unsigned i = 0; i < 2; i++) {
		peer_bring_to(&p, states[i]);
		p.tag = NEW_TAG;
		p.tsn = 7000;
		p.in_streams = 3;
		peer_send_init(&p);
		peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
		peer_send_cookie_echo(&p);
		peer_expect(&p, SCTP_COOKIE_ACK);
		cr_assert_eq(p.head.tag, NEW_TAG);
		cr_assert_eq(p.up, 1);
		peer_advance(&p, 10 * PEER_SECOND);
		peer_expect_nothing(&p);
		cr_assert_eq(peer_info(&p).streams, 3);
		peer_send_data(&p, 4);
		cr_assert_eq(be_get32(peer_expect(&p, SCTP_SACK)->p + 4), 7000);
		cr_assert_eq(p.head.tag, NEW_TAG);
		peer_stack_sends(&p, 0, 4);
		cr_assert_eq(be_get32(peer_expect(&p, SCTP_DATA)->p + 4), p.stack_tsn);
		p.in_streams = PEER_STREAMS;
		peer_forget(&p);
	}
}

/* rows: 9260-5.2.4-22 9260-5.2.4-23 9260-5.2.4-07 */
Test(restart, a_cookie_with_both_tags_ends_the_handshake)
{
	peer_bring_to(&p, SCTP_COOKIE_ECHOED);
	peer_send_init(&p); /* the same tag as its INIT ACK */
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	peer_advance(&p, 10 * PEER_SECOND);
	peer_expect_nothing(&p);
	cr_assert_eq(p.up, 1);
}

/* rows: 9260-5.2.4-07 9260-5.2.4-19 9260-5.2.4-20 9260-5.2.4-21 */
Test(restart, a_late_cookie_with_an_old_tag_of_ours_is_dropped)
{
	uint8_t cookie[PEER_COOKIE / 64];
	uint32_t tag, len;

	/* The peer's INIT was answered before we connected: own tag differs, peer's is the same. */
	peer_bring_to(&p, SCTP_COOKIE_ECHOED);
	const uint16_t port = p.stack_port;

	peer_forget(&p);
	p.stack_port = PEER_STACK;
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	tag = p.stack_tag;
	len = p.cookie_len;
	memcpy(cookie, p.cookie, len);
	peer_connect(&p); /* with the same Initiate Tag of the peer, another one of ours */
	p.stack_tag = tag;
	p.cookie_len = len;
	memcpy(p.cookie, cookie, len);
	peer_send_cookie_echo(&p);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 0);
	(void)port;
}

/* ---- somebody says that the peer may have begun again ---- */

Test(restart, peer_that_is_asked_and_has_begun_again_ends_the_association)
{
	for (unsigned i = 0; i < 4; i++) {
		peer_bring_to(&p, up[i]);
		p.down = 0;
		sctp_assoc_ask(p.assoc, p.now);
		peer_poll(&p);
		if (up[i] == SCTP_SHUTDOWN_SENT) {
			peer_expect_nothing(&p);
			peer_forget(&p);
			continue;
		}
		peer_expect(&p, SCTP_HEARTBEAT);
		peer_expect_nothing(&p);
		peer_begin_tag(&p, p.tag);
		peer_put(&p, SCTP_ABORT, SCTP_FLAG_T, NULL, 0);
		peer_send(&p);
		cr_assert_eq(p.down, 1);
		peer_forget(&p);
	}
}
