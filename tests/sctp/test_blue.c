/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: packets out of the blue (RFC 9260 8.4) and verification tags (8.5). */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/peer.h"
#include "util/be.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
	p.stack_tag = 0xabcdef01;
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(blue, .init = setup, .fini = teardown);

static void expect_reflected(uint8_t type)
{
	peer_expect(&p, type);
	cr_assert_eq(p.chunk[0].flags, SCTP_FLAG_T);
	cr_assert_eq(p.chunk[0].len, 4);
	cr_assert_eq(p.head.tag, p.stack_tag);
	cr_assert_eq(p.pkt->to.udp_port, p.from.udp_port);
	cr_assert(sctp_addr_equal(&p.pkt->to.peer, &p.from.peer));
	peer_expect_nothing(&p);
}

/* ---- out of the blue ---- */

/* rows: 9260-8.4-01 9260-8.4-11 9260-8.4-12 9260-8.4-13 9260-8.4-14 9260-8.5.1-05 9260-3.1-07
 * 9260-3.3.7-10 9260-5-01 */
Test(blue, most_chunks_are_answered_by_one_abort)
{
	static const uint8_t types[] = {
		SCTP_DATA,     SCTP_INIT_ACK, SCTP_SACK, SCTP_HEARTBEAT, SCTP_HEARTBEAT_ACK,
		SCTP_SHUTDOWN, SCTP_ECNE,     SCTP_CWR,  0x3e,           0x7e,
		0xbe,          0xfe};
	struct sctp_stats st;

	p.from.udp_port = 4000;
	for (unsigned i = 0; i < sizeof(types); i++) {
		peer_send_chunk(&p, types[i], 0, "\0\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0", 16);
		expect_reflected(SCTP_ABORT);
	}
	sctp_stats(p.s, &st);
	cr_assert_eq(st.unknown, sizeof(types));
	cr_assert_eq(p.incoming + p.up + p.down, 0);
}

/* rows: 9260-8.4-03 9260-8.4-15 9260-3.3.7-07 9260-3.3.7-08 */
Test(blue, nothing_with_abort_is_answered)
{
	peer_send_plain(&p, SCTP_ABORT);
	peer_begin(&p);
	peer_put_data(&p, 1, 0, 0, 7, 4);
	peer_put_plain(&p, SCTP_ABORT);
	peer_send(&p);
	peer_begin(&p);
	peer_put_plain(&p, SCTP_SHUTDOWN_ACK);
	peer_put_plain(&p, SCTP_ABORT);
	peer_send(&p);
	peer_send_chunk(&p, SCTP_ABORT, SCTP_FLAG_T, "\0\14\0\4", 4);
	peer_expect_nothing(&p);
}

/* rows: 9260-8.4-07 9260-8.4-08 9260-3.1-06 9260-3.3.13-02 9260-8.5.1-10 9260-8.5.1-11 */
Test(blue, shutdown_ack_is_answered_by_shutdown_complete)
{
	peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
	expect_reflected(SCTP_SHUTDOWN_COMPLETE);
}

/* rows: 9260-8.4-09 9260-8.4-10 */
Test(blue, late_chunks_of_a_handshake_are_dropped)
{
	peer_send_plain(&p, SCTP_SHUTDOWN_COMPLETE);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	peer_send_chunk(&p, SCTP_COOKIE_ECHO, 0, "cookie", 6);
	peer_send_chunk(&p, SCTP_ERROR, 0, "\0\3\0\10\0\0\0\0", 8);
	peer_expect_nothing(&p);
	peer_send_chunk(&p, SCTP_ERROR, 0, "\0\4\0\4", 4);
	expect_reflected(SCTP_ABORT);
}

/* A chunk of each kind that the rules of 8.4 name; COOKIE ECHO and INIT are never first here. */
enum named {
	DATA,
	HEARTBEAT,
	COOKIE_ECHO,
	OTHER_ERROR,
	COOKIE_ACK,
	STALE,
	COMPLETE,
	ACK,
	INIT,
	ABORT,
	NAMED
};

static void put_named(enum named n)
{
	/* Stale Cookie is the second cause. */
	static const char stale[] = "\0\4\0\4\0\3\0\10\0\0\0\0";

	switch (n) {
	case DATA:
		peer_put_data(&p, 1, 0, 0, 7, 4);
		break;
	case HEARTBEAT:
		peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
		break;
	case COOKIE_ECHO:
		peer_put(&p, SCTP_COOKIE_ECHO, 0, "cookie", 6);
		break;
	case OTHER_ERROR:
		peer_put(&p, SCTP_ERROR, 0, "\0\4\0\4", 4);
		break;
	case COOKIE_ACK:
		peer_put_plain(&p, SCTP_COOKIE_ACK);
		break;
	case STALE:
		peer_put(&p, SCTP_ERROR, 0, stale, 12);
		break;
	case COMPLETE:
		peer_put_plain(&p, SCTP_SHUTDOWN_COMPLETE);
		break;
	case ACK:
		peer_put_plain(&p, SCTP_SHUTDOWN_ACK);
		break;
	case INIT:
		peer_end_chunk(&p, peer_begin_init(&p, SCTP_INIT));
		break;
	case ABORT:
		peer_put_plain(&p, SCTP_ABORT);
		break;
	case NAMED:
		break;
	}
}

/* What the first rule that fits says of a packet whose chunks go up to this one. */
static void expect_judged(enum named highest)
{
	if (highest == ACK)
		expect_reflected(SCTP_SHUTDOWN_COMPLETE);
	else if (highest < COOKIE_ACK)
		expect_reflected(SCTP_ABORT);
	else
		peer_expect_nothing(&p);
}

/* rows: 9260-8.4-03 9260-8.4-07 9260-8.4-08 9260-8.4-09 9260-8.4-10 9260-8.4-11 9260-8.4-15
 * 9260-12.3-03 9260-12.3-04 */
Test(blue, a_chunk_counts_wherever_it_stands)
{
	for (unsigned x = 0; x < NAMED; x++)
		for (unsigned y = 0; y < NAMED; y++) {
			if (x == COOKIE_ECHO) /* its packet is judged by the cookie */
				continue;
			peer_begin(&p);
			put_named((enum named)x);
			put_named((enum named)y);
			put_named(HEARTBEAT);
			peer_send(&p);
			expect_judged((enum named)(x > y ? x : y));
		}
}

/* rows: 9260-8.4-02 */
Test(blue, packets_of_no_unicast_address_are_dropped)
{
	static const uint8_t from[][4] = {{224, 0, 0, 1}, {0, 0, 0, 0}, {255, 255, 255, 255}};

	for (unsigned i = 0; i < 3; i++) {
		p.from.peer = sctp_addr_v4(from[i]);
		peer_send_data(&p, 4);
		peer_send_init(&p);
		peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
		peer_expect_nothing(&p);
	}
}

/* rows: 9260-8.5.1-02 9260-8.5.1-03 9260-12.3-03 9260-8.4-15 */
Test(blue, tag_0_is_for_a_lone_init)
{
	p.stack_tag = 0;
	for (int known = 0; known < 2; known++) {
		if (known)
			peer_connect(&p);
		p.stack_tag = 0;
		for (unsigned type = 0; type < 256; type++)
			if (type != SCTP_INIT)
				peer_send_chunk(&p, (uint8_t)type, 0,
						"\0\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0", 16);
		peer_begin(&p);
		peer_end_chunk(&p, peer_begin_init(&p, SCTP_INIT));
		peer_put_data(&p, 1, 0, 0, 7, 4);
		peer_send(&p);
		peer_expect_nothing(&p);
		cr_assert_eq(p.down, 0);
	}
}

/* rows: 9260-1.5.6-03 9260-8.4-01 9260-A-07 */
Test(blue, a_wrong_checksum_is_never_answered)
{
	struct sctp_stats st;

	for (int known = 0; known < 2; known++) {
		if (known)
			peer_connect(&p);
		for (unsigned type = 0; type < 256; type++) {
			peer_begin(&p);
			peer_put_plain(&p, (uint8_t)type);
			p.out[8] ^= 1;
			peer_send_raw(&p);
		}
		peer_expect_nothing(&p);
	}
	cr_assert_eq(p.down, 0);
	sctp_stats(p.s, &st);
	cr_assert_eq(st.bad_crc, 512);
}

/* rows: 9260-1.5.6-03 */
Test(blue, each_flipped_bit_is_seen)
{
	peer_begin(&p);
	peer_put_data(&p, 1, 0, 0, 7, 4);
	for (unsigned bit = 0; bit < p.w.len * 8; bit++) {
		struct span whole = {p.out, p.w.len};

		sctp_seal(&whole, 1);
		p.out[bit / 8] ^= (uint8_t)(1u << bit % 8);
		peer_send_raw(&p);
		p.out[bit / 8] ^= (uint8_t)(1u << bit % 8);
		peer_expect_nothing(&p);
	}
}

/* rows: 9260-3.1-01 9260-3.1-02 9260-3-04 */
Test(blue, ports_0_and_empty_packets_are_dropped)
{
	p.port = 0;
	peer_send_data(&p, 4);
	peer_send_init(&p);
	p.port = PEER_PORT;
	p.stack_port = 0;
	peer_send_data(&p, 4);
	peer_send_init(&p);
	p.stack_port = PEER_STACK;
	peer_begin(&p);
	peer_send(&p);
	for (uint32_t len = 0; len < SCTP_HEAD + SCTP_CHUNK_HEAD; len++) {
		peer_begin(&p);
		peer_put_plain(&p, SCTP_SHUTDOWN_ACK);
		p.w.len = len;
		peer_send_raw(&p);
	}
	peer_expect_nothing(&p);
}

/* rows: 9260-1.5.7-01 9260-3.1-03 9260-5.1-31 9260-14.2-04 */
Test(blue, associations_of_one_host_differ_by_sctp_ports)
{
	struct sctp_assoc *first;
	uint32_t tag;

	peer_connect(&p);
	first = p.assoc;
	tag = p.stack_tag;
	p.port++;
	p.incoming = 0;
	peer_connect(&p);
	cr_assert_neq(p.assoc, first);
	peer_send_data(&p, 4);
	cr_assert_eq(p.msg.assoc, p.assoc);
	peer_expect(&p, SCTP_SACK);
	p.port--;
	p.stack_tag = tag;
	p.from.udp_port = 1; /* no part of the key */
	p.tsn = PEER_TSN;
	peer_send_data(&p, 4);
	cr_assert_eq(p.msg.assoc, first);
	peer_expect(&p, SCTP_SACK);
	p.port += 7;
	peer_send_data(&p, 4);
	expect_reflected(SCTP_ABORT);
	cr_assert_eq(p.messages, 2);
}

/* ---- tags ---- */

/* rows: 9260-8.5-02 9260-8.5-03 9260-8.5-04 9260-1.5.6-01 9260-3.3.7-08 */
Test(blue, a_wrong_tag_drops_the_packet)
{
	uint32_t right;
	struct sctp_info i;

	peer_connect(&p);
	right = p.stack_tag;
	const uint32_t wrong[] = {right + 1, right - 1, PEER_TAG, ~right};

	p.from.udp_port = 666;
	for (unsigned k = 0; k < 4; k++) {
		p.stack_tag = wrong[k];
		for (unsigned type = 0; type < 256; type++)
			if (type != SCTP_INIT)
				peer_send_chunk(&p, (uint8_t)type, 0,
						"\0\0\3\350\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	}
	peer_expect_nothing(&p);
	cr_assert_eq(p.messages + p.down, 0);
	i = peer_info(&p);
	cr_assert_eq(i.primary.udp_port, PEER_UDP, "a forged packet moved the UDP port");
}

static void send_tagged(uint8_t type, uint32_t tag, uint8_t flags)
{
	peer_begin_tag(&p, tag);
	peer_put(&p, type, flags, NULL, 0);
	peer_send(&p);
}

/* rows: 9260-8.5.1-06 9260-8.5.1-07 9260-3.3.7-08 9260-3.3.7-09 */
Test(blue, abort_is_accepted_with_own_tag_or_reflected)
{
	for (int reflected = 0; reflected < 2; reflected++) {
		peer_bring_to(&p, SCTP_ESTABLISHED);
		send_tagged(SCTP_ABORT, p.stack_tag, SCTP_FLAG_T);
		send_tagged(SCTP_ABORT, PEER_TAG, 0);
		send_tagged(SCTP_ABORT, 0, 0);
		send_tagged(SCTP_ABORT, 0, SCTP_FLAG_T);
		peer_begin(&p);
		peer_put_plain(&p, SCTP_HEARTBEAT_ACK);
		peer_put(&p, SCTP_ABORT, SCTP_FLAG_T, NULL, 0);
		peer_send(&p);
		peer_expect_nothing(&p);
		cr_assert_eq(p.down, 0);
		send_tagged(SCTP_ABORT, reflected ? PEER_TAG : p.stack_tag,
			    reflected ? 0xff : 0xfe);
		cr_assert_eq(p.down, 1);
		cr_assert_eq(p.last_down.end, SCTP_END_ABORTED);
		peer_expect_nothing(&p);
	}
}

/* rows: 9260-8.5.1-06 9260-8.5.1-07 9260-9.1-05 9260-9.1-06 9260-9.1-07 */
Test(blue, abort_behind_other_chunks_has_the_tag_of_its_packet)
{
	for (unsigned s = SCTP_COOKIE_WAIT; s <= SCTP_SHUTDOWN_ACK_SENT; s++)
		for (int reflected = 0; reflected < 2; reflected++) {
			if (reflected && s == SCTP_COOKIE_WAIT)
				continue; /* it knows no tag of the peer */
			peer_bring_to(&p, (enum sctp_state)s);
			peer_begin_tag(&p, reflected ? PEER_TAG : p.stack_tag);
			peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
			peer_put_sack(&p, p.stack_tsn - 1, PEER_RWND, NULL, 0);
			peer_put(&p, SCTP_ABORT, reflected ? SCTP_FLAG_T : 0, NULL, 0);
			peer_send(&p);
			peer_expect_nothing(&p);
			cr_assert_eq(p.down, 1, "state %u, reflected %d", s, reflected);
		}
}

/* rows: 9260-9.1-05 */
Test(blue, abort_behind_data_takes_the_answers_back)
{
	peer_connect(&p);
	peer_begin(&p);
	peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
	peer_put_data(&p, p.tsn, 60000, 0, 7, 4); /* its stream is answered by ERROR */
	peer_put_plain(&p, SCTP_ABORT);
	peer_send(&p);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 1);
}

/* rows: 9260-8.5.1-07 9260-8.5-04 9260-9.1-05 */
Test(blue, a_wrong_abort_drops_the_chunks_before_it)
{
	peer_connect(&p);
	peer_begin(&p);
	peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
	peer_put(&p, SCTP_ABORT, SCTP_FLAG_T, NULL, 0);
	peer_send(&p);
	peer_begin_tag(&p, PEER_TAG);
	peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
	peer_put(&p, SCTP_ABORT, 0, NULL, 0);
	peer_send(&p);
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 0);
}

/* rows: 9260-3.3.10.12-02 9260-9.1-08 9260-9.1-09 */
Test(blue, the_users_reason_counts_wherever_it_stands)
{
	peer_connect(&p);
	peer_send_chunk(&p, SCTP_ABORT, 0, "\0\4\0\4\0\14\0\7why", 11);
	cr_assert_eq(p.last_down.end, SCTP_END_ABORTED);
	cr_assert_eq(p.last_down.cause, SCTP_CAUSE_USER);
	cr_assert_str_eq(p.last_down.text, "why");
}

/* rows: 9260-8.5.1-12 9260-8.5.1-13 9260-3.3.13-03 */
Test(blue, shutdown_complete_is_accepted_with_own_tag_or_reflected)
{
	for (int reflected = 0; reflected < 2; reflected++) {
		peer_bring_to(&p, SCTP_SHUTDOWN_ACK_SENT);
		send_tagged(SCTP_SHUTDOWN_COMPLETE, p.stack_tag, SCTP_FLAG_T);
		send_tagged(SCTP_SHUTDOWN_COMPLETE, PEER_TAG, 0);
		send_tagged(SCTP_SHUTDOWN_COMPLETE, 77, 0);
		cr_assert_eq(p.down, 0);
		peer_advance(&p, PEER_SECOND);
		peer_expect(&p, SCTP_SHUTDOWN_ACK);
		send_tagged(SCTP_SHUTDOWN_COMPLETE, reflected ? PEER_TAG : p.stack_tag,
			    reflected ? 0xff : 0xfe);
		cr_assert_eq(p.down, 1);
		cr_assert_eq(p.last_down.end, SCTP_END_CLOSED);
		peer_expect_nothing(&p);
	}
}

/* rows: 9260-8.5.1-14 */
Test(blue, shutdown_complete_is_ignored_in_other_states)
{
	for (unsigned s = SCTP_COOKIE_WAIT; s < SCTP_SHUTDOWN_ACK_SENT; s++) {
		peer_bring_to(&p, (enum sctp_state)s);
		peer_send_plain(&p, SCTP_SHUTDOWN_COMPLETE);
		peer_expect_nothing(&p);
		cr_assert_eq(p.down, 0, "state %u", s);
		peer_forget(&p);
	}
}

/* rows: 9260-8.5.1-17 */
Test(blue, shutdown_ack_of_an_old_association_does_not_stop_a_handshake)
{
	peer_bring_to(&p, SCTP_COOKIE_WAIT);
	send_tagged(SCTP_SHUTDOWN_ACK, 99, 0);
	peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.head.tag, 99);
	cr_assert_eq(p.chunk[0].flags, SCTP_FLAG_T);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	send_tagged(SCTP_SHUTDOWN_ACK, 98, 0);
	peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.head.tag, 98);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
}

/* rows: 9260-8.5.1-17 9260-8.4-07 */
Test(blue, shutdown_ack_behind_other_chunks_does_not_stop_a_handshake)
{
	for (unsigned s = SCTP_COOKIE_WAIT; s <= SCTP_COOKIE_ECHOED; s++) {
		peer_bring_to(&p, (enum sctp_state)s);
		peer_begin_tag(&p, 99);
		peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
		peer_put_plain(&p, SCTP_SHUTDOWN_ACK);
		peer_send(&p);
		peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
		cr_assert_eq(p.head.tag, 99);
		cr_assert_eq(p.down, 0);
		peer_forget(&p);
	}
}

/* rows: 9260-8.5.1-04 9260-3.3.7-11 9260-3.3.7-02 9260-3.3.10.12-01 */
Test(blue, abort_of_the_user_has_the_peers_tag)
{
	struct sctp_error e;

	peer_connect(&p);
	for (unsigned i = 0; i < 20; i++)
		peer_stack_sends(&p, 0, 1000);
	peer_drain(&p, SCTP_DATA);
	sctp_assoc_abort(p.assoc, "hello");
	peer_poll(&p);
	e = peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_USER);
	cr_assert_eq(p.chunk[0].flags, 0);
	cr_assert_eq(p.chunk[0].len, 13);
	cr_assert_eq(p.head.tag, PEER_TAG);
	cr_assert_eq(e.len, 5);
	cr_assert_arr_eq(e.p, "hello", 5);
	peer_advance(&p, 100 * PEER_SECOND);
	peer_expect_nothing(&p);
}

/* rows: 9260-8.5.1-08 9260-8.5.1-09 9260-3.3.13-01 9260-3.3.13-02 */
Test(blue, shutdown_complete_of_an_association_has_the_peers_tag)
{
	peer_bring_to(&p, SCTP_SHUTDOWN_SENT);
	peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
	peer_expect(&p, SCTP_SHUTDOWN_COMPLETE);
	cr_assert_eq(p.chunk[0].flags, 0);
	cr_assert_eq(p.head.tag, PEER_TAG);
}

/* ---- the UDP port of the peer (RFC 6951) ---- */

Test(blue, the_udp_port_follows_the_peer)
{
	peer_connect(&p);
	p.from.udp_port = 2222;
	peer_send_data(&p, 4);
	peer_expect(&p, SCTP_SACK);
	cr_assert_eq(p.pkt->to.udp_port, 2222);
	peer_stack_sends(&p, 0, 4);
	peer_expect(&p, SCTP_DATA);
	cr_assert_eq(p.pkt->to.udp_port, 2222);
}
