/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a peer that begins again at another UDP port (RFC 6951) is served when three heartbeats
 * to its old port had no answer, and an unknown peer cannot end an association that lives. */
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

TestSuite(moved, .init = setup, .fini = teardown);

enum {
	NEW_TAG = 0x77777777,
	NEW_UDP = 4000,
};

/* An INIT from the new port is refused; the tag that the stack takes for the association stays. */
static void ask_from_new_port(void)
{
	p.tag = NEW_TAG;
	p.from.udp_port = NEW_UDP;
	peer_send_init(&p);
	p.from.udp_port = PEER_UDP;
	p.tag = PEER_TAG;
}

static void expect_refusal(void)
{
	struct sctp_error e = peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_NEW_UDP_PORT);

	cr_assert_eq(p.pkt->to.udp_port, NEW_UDP);
	cr_assert_eq(p.head.tag, NEW_TAG);
	cr_assert_eq(be_get16(e.p), PEER_UDP);
	cr_assert_eq(be_get16(e.p + 2), NEW_UDP);
}

static void expect_probe(void)
{
	peer_expect(&p, SCTP_HEARTBEAT);
	cr_assert_eq(p.pkt->to.udp_port, PEER_UDP);
	cr_assert_eq(p.head.tag, PEER_TAG);
}

static void expect_life(void)
{
	cr_assert_eq(p.down, 0);
	peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
	peer_expect(&p, SCTP_HEARTBEAT_ACK);
	cr_assert_eq(p.pkt->to.udp_port, PEER_UDP);
	cr_assert_eq(p.head.tag, PEER_TAG);
	cr_assert_eq(peer_path_state(&p, 0), SCTP_PATH_ACTIVE);
}

/* The peer is served at its new port. */
static void expect_service(void)
{
	p.tag = NEW_TAG;
	p.tsn = 5000;
	p.stack_port = PEER_STACK;
	p.from.udp_port = NEW_UDP;
	p.incoming = 0;
	peer_connect(&p);
	cr_assert_eq(p.pkt->to.udp_port, NEW_UDP);
	p.from.udp_port = PEER_UDP;
}

Test(moved, three_heartbeats_without_answer_make_room)
{
	static const enum sctp_state states[] = {SCTP_ESTABLISHED, SCTP_SHUTDOWN_PENDING,
						 SCTP_SHUTDOWN_RECEIVED};

	for (unsigned i = 0; i < 3; i++) {
		unsigned asked = 0;

		peer_bring_to(&p, states[i]);
		ask_from_new_port();
		expect_refusal();
		/* T3 backs the RTO off where data is in flight. */
		for (unsigned n = 0; p.down == 0; n++) {
			cr_assert_leq(n, 7);
			asked += peer_drain(&p, SCTP_HEARTBEAT);
			peer_advance(&p, PEER_SECOND);
		}
		cr_assert_geq(asked, 3);
		cr_assert_eq(p.last_down.end, SCTP_END_RESTART);
		cr_assert(strstr(p.last_down.text, "UDP port"));
		cr_assert_eq(peer_drain(&p, SCTP_ABORT), 1);
		expect_service();
		peer_forget(&p);
	}
}

Test(moved, the_heartbeats_are_an_rto_apart)
{
	peer_connect(&p);
	ask_from_new_port();
	expect_refusal();
	for (unsigned n = 0; n < 3; n++) {
		expect_probe();
		peer_expect_nothing(&p);
		peer_advance(&p, PEER_SECOND - 1);
		peer_expect_nothing(&p);
		peer_advance(&p, 1);
	}
	peer_expect(&p, SCTP_ABORT);
	cr_assert_eq(p.pkt->to.udp_port, PEER_UDP);
	cr_assert_eq(p.head.tag, PEER_TAG);
	cr_assert_eq(p.down, 1);
}

/* The first ones, or their answers, may be lost. */
Test(moved, an_answer_to_any_heartbeat_keeps_the_association)
{
	for (unsigned lost = 0; lost < 3; lost++) {
		peer_bring_to(&p, SCTP_ESTABLISHED);
		ask_from_new_port();
		expect_refusal();
		for (unsigned n = 0; n < lost; n++) {
			expect_probe();
			peer_advance(&p, PEER_SECOND);
		}
		peer_advance(&p, PEER_SECOND / 2);
		peer_answer_heartbeat(&p);
		peer_advance(&p, 10 * PEER_SECOND);
		peer_expect_nothing(&p);
		expect_life();
		peer_forget(&p);
	}
}

Test(moved, any_packet_with_the_right_tag_is_an_answer)
{
	peer_connect(&p);
	ask_from_new_port();
	expect_refusal();
	expect_probe();
	peer_advance(&p, PEER_SECOND);
	expect_probe();
	peer_send_data(&p, 4);
	peer_expect(&p, SCTP_SACK);
	peer_advance(&p, 10 * PEER_SECOND);
	while (peer_next(&p))
		if (peer_find(&p, SCTP_HEARTBEAT))
			peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4,
					p.chunk[0].len - 4);
	expect_life();
}

Test(moved, a_wrong_tag_is_no_answer)
{
	const struct sctp_chunk *c;

	peer_connect(&p);
	ask_from_new_port();
	expect_refusal();
	for (unsigned n = 0; n < 3; n++) {
		c = peer_expect(&p, SCTP_HEARTBEAT);
		peer_begin_tag(&p, p.stack_tag + 1);
		peer_put(&p, SCTP_HEARTBEAT_ACK, 0, c->p + 4, c->len - 4);
		peer_send(&p);
		peer_advance(&p, PEER_SECOND);
	}
	cr_assert_eq(p.down, 1);
	peer_drain(&p, SCTP_ABORT);
}

/* An unknown peer gains no more by asking again and again. */
Test(moved, more_inits_hasten_nothing)
{
	unsigned probes = 0;

	peer_connect(&p);
	for (unsigned n = 0; n < 100; n++) {
		ask_from_new_port();
		expect_refusal();
		if (n % 25 == 0)
			peer_advance(&p, PEER_SECOND / 2);
		while (peer_next(&p)) {
			cr_assert(peer_find(&p, SCTP_HEARTBEAT));
			probes++;
		}
	}
	cr_assert_eq(p.down, 0);
	cr_assert_eq(probes, 3, "%u probes", probes);
	peer_advance(&p, PEER_SECOND);
	cr_assert_eq(p.down, 1);
	peer_drain(&p, SCTP_ABORT);
}

/* The peer lives, and an unknown peer asks for a day. */
Test(moved, an_unknown_peer_does_not_end_it)
{
	peer_connect(&p);
	for (unsigned n = 0; n < 24 * 60; n++) {
		ask_from_new_port();
		expect_refusal();
		while (peer_next(&p))
			if (peer_find(&p, SCTP_HEARTBEAT))
				peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4,
						p.chunk[0].len - 4);
		peer_advance(&p, 60 * PEER_SECOND / 4);
	}
	while (peer_next(&p))
		;
	expect_life();
}

Test(moved, all_addresses_are_asked_and_one_answer_is_enough)
{
	const struct sctp_addr second = peer_addr(1);
	uint32_t at;
	unsigned n = 0;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_addr(&p, &second);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	peer_advance(&p, 0);
	peer_answer_heartbeat(&p);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_ACTIVE);
	for (int answers = 1; answers >= 0; answers--) {
		ask_from_new_port();
		expect_refusal();
		for (unsigned i = 0; i < 3; i++) {
			expect_probe();
			expect_probe();
			cr_assert(sctp_addr_equal(&p.pkt->to.peer, &second));
			if (answers) {
				p.from.peer = second;
				peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4,
						p.chunk[0].len - 4);
				p.from.peer = peer_addr(0);
				break;
			}
			peer_advance(&p, PEER_SECOND);
		}
		cr_assert_eq(p.down, !answers);
		/* The first address did not answer: its heartbeats go on, and are answered. */
		for (unsigned i = 0; answers && i < 5; i++) {
			peer_advance(&p, PEER_SECOND);
			while (peer_next(&p))
				if (peer_find(&p, SCTP_HEARTBEAT))
					peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4,
							p.chunk[0].len - 4);
			n++;
		}
	}
	cr_assert_eq(n, 5);
	peer_drain(&p, SCTP_ABORT);
}

/* T2 repeats SHUTDOWN, and its errors end the association. */
Test(moved, shutdown_is_not_disturbed)
{
	peer_bring_to(&p, SCTP_SHUTDOWN_SENT);
	ask_from_new_port();
	expect_refusal();
	peer_advance(&p, 5 * PEER_SECOND);
	cr_assert_eq(peer_drain(&p, SCTP_HEARTBEAT), 0);
	cr_assert_eq(p.down, 0);
}

/* ---- the side that has begun again ---- */

static void refuse(uint16_t cause)
{
	uint8_t value[8] = {0, 0, 0, 8};

	be_put16(value, cause);
	be_put16(value + 4, PEER_UDP);
	be_put16(value + 6, NEW_UDP);
	peer_send_chunk(&p, SCTP_ABORT, 0, value, sizeof(value));
}

Test(moved, init_is_repeated_after_cause_14)
{
	peer_stack_connects(&p, 1);
	for (unsigned n = 0; n < 3; n++) {
		refuse(SCTP_CAUSE_NEW_UDP_PORT);
		peer_expect_nothing(&p);
		cr_assert_eq(p.down, 0);
		peer_advance(&p, PEER_SECOND << n);
		peer_expect(&p, SCTP_INIT);
	}
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
}

Test(moved, the_fourth_refusal_ends_it)
{
	peer_stack_connects(&p, 1);
	for (unsigned n = 0; n < 4; n++) {
		cr_assert_eq(p.down, 0);
		refuse(SCTP_CAUSE_NEW_UDP_PORT);
	}
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_REFUSED);
	cr_assert_eq(p.last_down.cause, SCTP_CAUSE_NEW_UDP_PORT);
	peer_stack_connects(&p, 1);
	refuse(SCTP_CAUSE_RESOURCE);
	cr_assert_eq(p.down, 2);
}
