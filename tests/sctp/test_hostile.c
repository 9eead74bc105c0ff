/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: packets with the right tag and checksum and any content do no harm: no access out of
 * bounds, no packet that is malformed, no memory lost. Best under ASan. */
#include <criterion/criterion.h>
#include <string.h>

#include "sctp/base/reply.h"
#include "sctp/base/stack.h"
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

TestSuite(hostile, .init = setup, .fini = teardown);

enum { ROUNDS = 1500, PACKETS = 12 };

static uint32_t seed = 7;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void put_any_init(uint8_t type)
{
	static const uint16_t types[] = {5,  6,      7,      8,      9,      11,
					 12, 0x8000, 0xc006, 0xb5dd, 0x3fff, 0xc0ff};
	uint32_t at = peer_begin_init(&p, type);

	for (uint32_t n = draw(6); n; n--)
		peer_put_param(&p, types[draw(12)], p.cookie, draw(24));
	peer_end_chunk(&p, at);
}

static void put_any(void)
{
	const uint16_t gaps[] = {(uint16_t)draw(9), (uint16_t)draw(9), (uint16_t)draw(99), 3};
	uint8_t value[8] = {0, 1, 0, 8};

	switch (draw(8)) {
	case 0:
		peer_put_data(&p, PEER_TSN + draw(30), (uint16_t)draw(12), (uint16_t)draw(5),
			      (uint8_t)draw(16), draw(60));
		break;
	case 1:
		peer_put_sack(&p, p.stack_tsn - 1 + draw(3), draw(100000), gaps, draw(3));
		break;
	case 2:
		be_put32(value, p.stack_tsn - 1 + draw(3));
		peer_put(&p, SCTP_SHUTDOWN, 0, value, 4);
		break;
	case 3:
		peer_put_cookie_echo(&p);
		break;
	case 4:
		value[1] = (uint8_t)draw(14);
		peer_put(&p, SCTP_ERROR, 0, value, 8);
		break;
	default:
		peer_put(&p, (uint8_t)draw(256), (uint8_t)draw(256), value, draw(9));
	}
}

static void mutate(void)
{
	for (uint32_t n = draw(3); n; n--)
		p.out[SCTP_HEAD + draw(p.w.len - SCTP_HEAD)] = (uint8_t)draw(256);
	if (draw(8) == 0)
		p.w.len -= draw(p.w.len - SCTP_HEAD);
}

static void send_any(void)
{
	uint32_t kind = draw(10);

	peer_begin_tag(&p, kind == 0 ? 0 : draw(12) ? p.stack_tag : PEER_TAG);
	if (kind < 2)
		put_any_init(kind == 0 ? SCTP_INIT : SCTP_INIT_ACK);
	else
		for (uint32_t n = 1 + draw(5); n; n--)
			put_any();
	mutate();
	p.from.peer = peer_addr(draw(3));
	peer_send(&p);
	p.from.peer = peer_addr(0);
}

/* For the next round. */
static void another_stack(void)
{
	peer_close(&p);
	cr_assert_eq(p.allocated, 0, "%zu bytes are lost", p.allocated);
	peer_open(&p);
	p.assoc = NULL;
}

Test(hostile, any_content_does_no_harm_in_any_state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		peer_bring_to(&p, (enum sctp_state)(1 + i % (SCTP_STATES - 1)));
		for (unsigned k = 0; k < PACKETS; k++) {
			send_any();
			peer_advance(&p, draw(PEER_SECOND));
			if (p.assoc && draw(4) == 0)
				peer_stack_sends(&p, (uint16_t)draw(12), 1 + draw(2000));
			while (peer_next(&p))
				;
		}
		another_stack();
	}
}

/* Until packets may be as long as IP permits, as over loopback. */
static void answer_probes(void)
{
	p.keep_probes = true;
	while (peer_info(&p).mtu < SCTP_MAX_PACKET) {
		peer_advance(&p, 10000);
		while (peer_next(&p))
			if (p.pkt->probe)
				peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4,
						p.chunk[0].len - 4);
	}
}

/* The answers to the chunks of a packet go into one packet, which has to fit into the batch that
 * carries it. */
Test(hostile, answers_do_not_grow_beyond_their_room)
{
	static const uint8_t info[SCTP_BATCH_SPACE - 100];
	unsigned answers = 0;

	peer_connect(&p);
	answer_probes();
	peer_begin(&p);
	for (unsigned i = 0; i < 3; i++)
		peer_put(&p, SCTP_HEARTBEAT, 0, info, sizeof(info));
	peer_send(&p);
	while (peer_next(&p)) {
		cr_assert_leq(p.pkt->len, SCTP_BATCH_SPACE);
		answers += p.chunk[0].type == SCTP_HEARTBEAT_ACK;
	}
	cr_assert_eq(answers, 1);
	cr_assert_eq(p.down, 0);
}

/* The first chunk may be longer than the path takes. Nothing follows it then. */
Test(hostile, an_answer_that_is_longer_than_the_path_takes_does_not_grow)
{
	static const uint8_t info[3000];

	peer_connect(&p);
	cr_assert_lt(peer_info(&p).mtu, sizeof(info));
	for (unsigned round = 0; round < 2; round++) {
		peer_begin(&p);
		for (unsigned i = 0; i < 4; i++)
			peer_put(&p, SCTP_HEARTBEAT, 0, info, sizeof(info));
		peer_put(&p, 0xc1, 0, info, 100); /* is unknown, and to be reported */
		peer_send(&p);
		peer_expect(&p, SCTP_HEARTBEAT_ACK);
		cr_assert_eq(p.chunk[0].len, 4 + sizeof(info));
		peer_expect_nothing(&p);
	}
	cr_assert_eq(p.down, 0);
}

static struct sctp_flow unknown_peer(void)
{
	return (struct sctp_flow){.peer = peer_addr(1), .udp_port = 7777};
}

/* Answers to an unknown peer, until so many bytes of their room are left. */
static void leave_room(uint32_t room)
{
	const struct sctp_head head = {1, 2, 3};
	const struct sctp_flow to = unknown_peer();
	uint32_t slot = (sizeof(struct sctp_reply) + 7) & ~7u, left;

	while ((left = SCTP_REPLIES - (p.s->reply_tail - p.s->reply_head)) > room) {
		struct sctp_writer w = sctp_reply_begin(p.s, &to, &head);
		uint32_t len = left - room < 2 * slot + 4112 ? left - room - slot : 4096;

		while (w.len < len && !w.full)
			sctp_put8(&w, 0);
		cr_assert(!w.full);
		sctp_reply_end(p.s, &w);
	}
}

static void put_gap(void)
{
	peer_begin(&p);
	peer_put_data(&p, p.tsn + 2, 0, 0, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E, 8);
	peer_send(&p);
}

/* Takes the packets to the unknown peer. */
static void take_answers(void)
{
	const struct sctp_flow to = unknown_peer();

	while (sctp_output(p.s, &p.batch, p.now) && p.batch.to.udp_port == to.udp_port)
		cr_assert(sctp_addr_equal(&p.batch.to.peer, &to.peer) &&
			  p.batch.to.local == to.local);
}

/* The last answer ends where the oldest one begins, and SHUTDOWN comes with a SACK if there is a
 * gap. */
Test(hostile, answers_without_room_leave_the_others_as_they_are)
{
	for (uint32_t room = 0; room < 160; room += 8) {
		peer_bring_to(&p, SCTP_ESTABLISHED);
		put_gap();
		peer_drain(&p, SCTP_SACK);
		leave_room(SCTP_REPLIES * 3 / 4);
		take_answers();
		leave_room(room);
		sctp_assoc_shutdown(p.assoc, p.now);
		take_answers();
		another_stack();
	}
}

/* Who forges packets has to guess the tag, and the association counts the guesses. */
Test(hostile, packets_with_another_tag_are_counted)
{
	peer_connect(&p);
	for (unsigned i = 1; i <= 5; i++) {
		peer_begin_tag(&p, p.stack_tag + i);
		peer_put_plain(&p, SCTP_ABORT);
		peer_send(&p);
		cr_assert_eq(peer_info(&p).wrong_tags, i);
	}
	cr_assert_eq(p.down, 0);
	peer_send_data(&p, 100);
	cr_assert_eq(peer_info(&p).wrong_tags, 5);
}
