/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: packets that DTLS protects have no checksum if their receiver has said that it takes
 * them (RFC 9653); all others have one, and are dropped without. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/peer.h"
#include "util/be.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
	p.from.covered = true;
	p.detected_by = SCTP_DETECTED_BY_DTLS;
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(zero_checksum, .init = setup, .fini = teardown);

static struct sctp_stats stats(void)
{
	struct sctp_stats st;

	sctp_stats(p.s, &st);
	return st;
}

static void expect_offer(bool offered)
{
	uint32_t len;
	const uint8_t *param = peer_param(&p.chunk[0], SCTP_PARAM_ZERO_CHECKSUM, 0, &len);

	cr_assert_eq(param != NULL, offered);
	if (!offered)
		return;
	cr_assert_eq(len, 8);
	cr_assert_eq(be_get32(param + 4), 1);
	cr_assert_null(peer_param(&p.chunk[0], SCTP_PARAM_ZERO_CHECKSUM, 1, &len));
}

static void take_packets(uint8_t type, bool without)
{
	unsigned n = 0;

	while (peer_next(&p)) {
		cr_assert_eq(p.zero_checksum, without);
		n += peer_find(&p, type) != NULL;
	}
	cr_assert_gt(n, 0);
}

/* SACK, DATA, HEARTBEAT ACK: answers and batches. */
static void expect_packets(bool without)
{
	peer_send_data(&p, 100);
	peer_send_data(&p, 100);
	take_packets(SCTP_SACK, without);
	peer_stack_sends(&p, 0, 100);
	take_packets(SCTP_DATA, without);
	peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
	take_packets(SCTP_HEARTBEAT_ACK, without);
}

static void accept_peer(bool covered)
{
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert_not(p.zero_checksum);
	expect_offer(covered);
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
}

Test(zero_checksum, peer_that_connects_and_takes_it_gets_none)
{
	accept_peer(true);
	cr_assert(p.zero_checksum);
	expect_packets(true);
}

Test(zero_checksum, init_and_cookie_echo_have_one)
{
	peer_stack_connects(&p, 1);
	cr_assert_not(p.zero_checksum);
	expect_offer(true);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	cr_assert_not(p.zero_checksum);
	peer_advance(&p, 2 * PEER_SECOND);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	cr_assert_not(p.zero_checksum, "repeated");
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	expect_packets(true);
}

Test(zero_checksum, peer_that_did_not_say_so_gets_checksums)
{
	static const uint32_t others[] = {0, 2, 255};

	for (unsigned i = 0; i < 3; i++) {
		p.detected_by = others[i];
		accept_peer(true);
		cr_assert_not(p.zero_checksum);
		expect_packets(false);
		peer_forget(&p);
	}
}

Test(zero_checksum, parameter_of_another_length_says_nothing)
{
	uint32_t at;

	p.detected_by = 0;
	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_param(&p, SCTP_PARAM_ZERO_CHECKSUM, "\0\0\0\1\0\0\0\1", 8);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	cr_assert_not(p.zero_checksum);
}

Test(zero_checksum, in_clear_text_it_is_not_offered_and_not_used)
{
	p.from.covered = false;
	accept_peer(false);
	expect_packets(false);
	peer_forget(&p);
	peer_stack_connects(&p, 1);
	expect_offer(false);
}

/* Sends DATA with this checksum; true: it was taken. */
static bool takes_data(uint32_t checksum)
{
	uint64_t messages = p.messages, bad = stats().bad_crc;

	peer_begin(&p);
	peer_put_data(&p, p.tsn, 0, 0, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E, 100);
	be_put32(p.out + SCTP_CHECKSUM, checksum);
	peer_send_raw(&p);
	p.tsn += p.messages > messages;
	cr_assert_eq(p.messages > messages, stats().bad_crc == bad);
	return p.messages > messages;
}

/* We said that we take them, whatever the peer takes. */
Test(zero_checksum, covered_packets_without_one_are_taken)
{
	for (int other = 0; other < 2; other++) {
		p.detected_by = other ? 0 : SCTP_DETECTED_BY_DTLS;
		accept_peer(true);
		cr_assert(takes_data(0));
		cr_assert_not(takes_data(1), "another wrong checksum");
		peer_forget(&p);
	}
}

Test(zero_checksum, clear_packets_without_one_are_dropped)
{
	p.from.covered = false;
	accept_peer(false);
	cr_assert_not(takes_data(0));
	peer_expect_nothing(&p);
}

Test(zero_checksum, init_without_one_is_dropped)
{
	peer_begin_tag(&p, 0);
	peer_end_chunk(&p, peer_begin_init(&p, SCTP_INIT));
	peer_send_raw(&p);
	peer_expect_nothing(&p);
	cr_assert_eq(stats().bad_crc, 1);
}

/* RFC 9653 5.2, 5.3: such a packet is answered, and the answer has a checksum. */
Test(zero_checksum, answer_to_a_covered_packet_out_of_the_blue_has_one)
{
	peer_begin_tag(&p, 77);
	peer_put_data(&p, 1, 0, 0, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E, 4);
	peer_send_raw(&p);
	peer_expect(&p, SCTP_ABORT);
	cr_assert_not(p.zero_checksum);
	p.from.covered = false;
	peer_begin_tag(&p, 77);
	peer_put_data(&p, 1, 0, 0, SCTP_DATA_U | SCTP_DATA_B | SCTP_DATA_E, 4);
	peer_send_raw(&p);
	peer_expect_nothing(&p);
}

/* Both ends have sent INIT: that of the peer counts. */
Test(zero_checksum, ends_that_begin_at_once_agree)
{
	peer_stack_connects(&p, 1);
	peer_begin_tag(&p, 0);
	peer_end_chunk(&p, peer_begin_init(&p, SCTP_INIT));
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	expect_offer(true);
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	cr_assert(p.zero_checksum);
}
