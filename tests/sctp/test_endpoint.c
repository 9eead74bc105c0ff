/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: what RFC 9260 says of endpoints, their ports and addresses, and of each packet. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/peer.h"
#include "util/be.h"
#include "util/crc32c.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 2);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(endpoint, .init = setup, .fini = teardown);

/* As listener; the peer lists its second address, which answers. */
static void connect_two(void)
{
	const struct sctp_addr second = peer_addr(1);
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_addr(&p, &second);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	peer_advance(&p, PEER_SECOND / 2);
	peer_answer_heartbeat(&p);
	peer_expect_nothing(&p);
}

/* rows: 9260-1.3-01 */
Test(endpoint, two_connects_are_two_pairs_of_endpoints)
{
	uint16_t port;

	peer_stack_connects(&p, 1);
	port = p.stack_port;
	peer_stack_connects(&p, 1);
	cr_assert_neq(p.stack_port, port);
}

/* rows: 9260-1.3-03 */
Test(endpoint, a_port_has_one_listener)
{
	struct sctp_listener *l = NULL;

	cr_assert_eq(sctp_listen(p.s, (const uint8_t[]){1}, 1, false, PEER_STACK, NULL, &l),
		     SCTP_E_IN_USE);
	cr_assert_eq(sctp_listen(p.s, (const uint8_t[]){1}, 1, false, PEER_STACK + 1, NULL, &l),
		     SCTP_E_OK);
}

/* rows: 9260-1.3-02 9260-1.3-04 9260-3.3.2.1.2-04 9260-14.2-04 9260-3.3.5-01 */
Test(endpoint, all_addresses_have_one_port)
{
	unsigned seen = 0;

	connect_two();
	p.from = (struct sctp_flow){peer_addr(1), 4321, 1, false};
	peer_send_data(&p, 4);
	cr_assert_eq(p.messages, 1);
	peer_expect(&p, SCTP_SACK);
	cr_assert_eq(p.head.src, PEER_STACK);
	cr_assert_eq(p.pkt->to.local, 1);
	cr_assert_eq(p.pkt->to.udp_port, 4321);
	peer_advance(&p, 35 * PEER_SECOND);
	while (peer_next(&p)) {
		cr_assert_eq(p.head.src, PEER_STACK);
		cr_assert_eq(p.head.dst, PEER_PORT);
		cr_assert_not_null(peer_find(&p, SCTP_HEARTBEAT));
		seen |= 1u << p.pkt->to.peer.ip[14];
	}
	cr_assert_eq(seen, 3);
}

/* rows: 9260-3.3.5-04 */
Test(endpoint, heartbeat_ack_counts_for_the_path_that_it_names)
{
	const struct sctp_addr second = peer_addr(1);
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_addr(&p, &second);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	peer_advance(&p, PEER_SECOND / 2);
	peer_expect(&p, SCTP_HEARTBEAT);
	cr_assert(sctp_addr_equal(&p.pkt->to.peer, &second));
	peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4, p.chunk[0].len - 4);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_ACTIVE);
}

/* rows: 9260-1.5.4-01 9260-1.5.3-01 */
Test(endpoint, a_chunk_is_repeated_as_it_was)
{
	uint8_t first[64];
	uint32_t len;

	peer_connect(&p);
	peer_stack_sends(&p, 3, 40);
	len = peer_expect(&p, SCTP_DATA)->len;
	memcpy(first, p.chunk[0].p, len);
	peer_advance(&p, 2 * PEER_SECOND);
	do
		cr_assert(peer_next(&p));
	while (!peer_find(&p, SCTP_DATA));
	cr_assert_eq(peer_find(&p, SCTP_DATA)->len, len);
	cr_assert_arr_eq(peer_find(&p, SCTP_DATA)->p + 4, first + 4, len - 4);
}

/* rows: 6951-5.6-01 */
Test(endpoint, a_message_leaves_room_for_udp)
{
	struct sctp_info i;

	peer_connect(&p);
	i = peer_info(&p);
	cr_assert_eq(i.max_message, i.mtu - 20 - 8 - SCTP_HEAD - SCTP_DATA_HEAD);
}

/* rows: 9260-1.6-06 */
Test(endpoint, the_largest_window_is_large)
{
	p.rwnd = UINT32_MAX;
	peer_connect(&p);
	cr_assert_eq(peer_info(&p).peer_rwnd, UINT32_MAX);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(peer_stack_sends(&p, 0, 1000), SCTP_E_OK);
	cr_assert_eq(peer_drain(&p, SCTP_DATA), 3);
}

/* What the fake peer checks of each packet that it takes: peer.c. */
/* rows: 9260-1.5.6-02 9260-3-02 9260-3.2-03 9260-3.2-08 9260-3.2-15 9260-3.2-16 9260-3.2-17
 * 9260-3.3.7-03 9260-3.3.7-04 9260-3-01 9260-3-04 */
Test(endpoint, every_packet_is_well_formed)
{
	connect_two();
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t at;

		peer_stack_sends(&p, (uint16_t)(i % 10), i * 7 % 1000 + 1);
		p.tsn += i % 3;
		peer_send_data(&p, i + 1);
		peer_send_chunk(&p, (uint8_t)(0xc1 + i % 60), 0, "abc", i % 4);
		if (i % 5 == 0)
			peer_send_sack(&p, p.stack_tsn + peer_info(&p).unacked / 3);
		for (at = 0; peer_next(&p); at = p.pkt->at_us)
			cr_assert(p.pkt->len <= peer_info(&p).mtu - 28 && p.pkt->at_us >= at);
		peer_advance(&p, i * 5000);
		if (!p.assoc)
			break;
	}
	peer_forget(&p);
}

/* rows: 9260-5.1-30 */
Test(endpoint, the_acknowledgement_point_begins_below_the_first_tsn)
{
	peer_connect(&p);
	peer_stack_sends(&p, 0, 4);
	peer_expect(&p, SCTP_DATA);
	peer_begin(&p);
	peer_put_sack(&p, p.stack_tsn - 1, 77777, NULL, 0);
	peer_send(&p);
	cr_assert_eq(peer_info(&p).peer_rwnd, 77777, "it was taken as an old one");
	cr_assert_eq(peer_info(&p).unacked, 1);
}

/* rows: 9260-5.1.3-08 9260-14.1-01 */
Test(endpoint, each_start_draws_another_key)
{
	uint64_t seed = p.seed;

	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_close(&p);
	p.seed = seed + 1;
	peer_open(&p);
	peer_send_cookie_echo(&p);
	peer_expect_nothing(&p);
	cr_assert_eq(p.incoming, 0);
}

/* rows: 9260-11.1-05 */
Test(endpoint, only_an_address_of_the_peer_becomes_primary)
{
	const struct sctp_addr second = peer_addr(1), other = peer_addr(7);
	struct sctp_info i;

	connect_two();
	cr_assert_eq(sctp_assoc_set_primary(p.assoc, &other), SCTP_E_NO_ADDR);
	cr_assert_eq(sctp_assoc_set_primary(p.assoc, &second), SCTP_E_OK);
	i = peer_info(&p);
	cr_assert(sctp_addr_equal(&i.primary.peer, &second));
}

/* rows: 9260-12.4-01 */
Test(endpoint, a_genuine_icmp_message_ends_a_handshake)
{
	const struct sctp_flow to = {peer_addr(0), PEER_UDP, 0, false};

	peer_stack_connects(&p, 1);
	sctp_icmp(p.s, &to, SCTP_ICMP_PORT_UNREACHABLE, 0, p.pkt->data, p.pkt->len, p.now);
	peer_poll(&p);
	cr_assert_eq(p.last_down.end, SCTP_END_UNREACHABLE);
}

/* ---- the checksum ---- */

/* rows: 9260-A-01 9260-A-02 9260-A-03 9260-A-04 9260-A-05 */
Test(endpoint, checksum_of_known_packets)
{
	uint8_t zeros[32] = {0};
	uint8_t pkt[] = {0, 1, 0, 2, 0, 0, 0, 3, 0xcc, 0xcc, 0xcc, 0xcc, 11, 0, 0, 4};
	struct span whole = {pkt, sizeof(pkt)};

	cr_assert_eq(crc32c_extend(0, "123456789", 9), 0xe3069283);
	cr_assert_eq(crc32c_extend(0, zeros, 32), 0x8a9136aa);
	sctp_seal(&whole, 1);
	cr_assert_arr_eq(pkt + 8, ((const uint8_t[]){0xc8, 0x66, 0x09, 0x0e}), 4);
}

/* rows: 9260-A-06 */
Test(endpoint, checksum_does_not_depend_on_how_the_packet_is_cut)
{
	static uint8_t pkt[9000];
	uint8_t sum[4];

	for (unsigned i = 0; i < sizeof(pkt); i++)
		pkt[i] = (uint8_t)(i * 131 >> 3);
	for (uint32_t len = 16; len <= sizeof(pkt); len += len < 300 ? 1 : 97) {
		struct span whole = {pkt, len};

		sctp_seal(&whole, 1);
		memcpy(sum, pkt + 8, 4);
		for (uint32_t cut = 12; cut < len; cut += len < 300 ? 1 : 501) {
			struct span part[2] = {{pkt, cut}, {pkt + cut, len - cut}};

			sctp_seal(part, 2);
			cr_assert_arr_eq(pkt + 8, sum, 4, "length %u, cut at %u", len, cut);
		}
	}
}
