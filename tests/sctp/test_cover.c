/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a packet that a layer below protects and one in clear text never belong to the same
 * association, and an association that is covered has one address at each end (RFC 8261). */
#include <criterion/criterion.h>

#include "tests/sctp/peer.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 2);
	p.from.covered = true;
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(cover, .init = setup, .fini = teardown);

static uint64_t bad_packets(void)
{
	struct sctp_stats st;

	sctp_stats(p.s, &st);
	return st.bad_packets;
}

static unsigned count_paths(void)
{
	struct sctp_path_info path[SCTP_MAX_PATHS];

	return sctp_assoc_paths(p.assoc, path);
}

/* The peer's ABORT and DATA with the other cover: both are packets out of the blue. */
static void send_the_other_way(void)
{
	uint64_t messages = p.messages;

	p.from.covered = !p.from.covered;
	peer_send_plain(&p, SCTP_ABORT);
	peer_expect_nothing(&p);
	peer_send_data(&p, 100);
	p.tsn--;
	peer_expect(&p, SCTP_ABORT);
	cr_assert_eq(p.pkt->to.covered, p.from.covered, "the answer leaves as the packet came");
	p.from.covered = !p.from.covered;
	cr_assert_eq(p.messages, messages);
	cr_assert_eq(p.down, 0);
}

static void expect_traffic(void)
{
	uint64_t messages = p.messages;

	peer_send_data(&p, 100);
	peer_send_data(&p, 100);
	cr_assert_eq(p.messages, messages + 2);
	peer_expect(&p, SCTP_SACK);
	cr_assert_eq(p.pkt->to.covered, p.from.covered);
}

Test(cover, clear_text_neither_ends_nor_feeds_a_covered_association)
{
	peer_connect(&p);
	send_the_other_way();
	expect_traffic();
}

Test(cover, covered_packet_neither_ends_nor_feeds_one_in_clear_text)
{
	p.from.covered = false;
	peer_connect(&p);
	send_the_other_way();
	expect_traffic();
}

Test(cover, the_side_that_begins_sends_covered_packets_alone)
{
	peer_stack_connects(&p, 1);
	cr_assert(p.pkt->to.covered);
	p.from.covered = false;
	peer_send_init_ack(&p); /* out of the blue */
	peer_expect(&p, SCTP_ABORT);
	cr_assert_not(p.pkt->to.covered);
	p.from.covered = true;
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	cr_assert(p.pkt->to.covered);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
	expect_traffic();
}

/* A cookie is for the flow that its INIT ACK went to. */
Test(cover, cookie_of_a_covered_handshake_is_refused_in_clear_text)
{
	for (int covered = 0; covered < 2; covered++) {
		uint64_t bad = bad_packets();

		p.from.covered = covered;
		peer_send_init(&p);
		peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
		p.from.covered = !covered;
		peer_send_cookie_echo(&p);
		peer_expect_nothing(&p);
		cr_assert_eq(p.incoming, 0);
		cr_assert_eq(bad_packets(), bad + 1);
	}
}

Test(cover, both_kinds_stand_side_by_side_between_the_same_ports)
{
	struct sctp_assoc *covered;

	peer_connect(&p);
	covered = p.assoc;
	p.from.covered = false;
	p.incoming = 0;
	p.tag++;
	p.tsn = PEER_TSN;
	peer_connect(&p);
	cr_assert_neq(p.assoc, covered);
	expect_traffic();
	peer_send_plain(&p, SCTP_ABORT);
	cr_assert_eq(p.down, 1);
	cr_assert(sctp_assoc_free(covered) == NULL);
	peer_poll(&p);
	peer_expect(&p, SCTP_ABORT);
	cr_assert(p.pkt->to.covered);
}

/* ---- one address at each end ---- */

static void send_init_with(const struct sctp_addr *other)
{
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_addr(&p, other);
	peer_end_chunk(&p, at);
	peer_send(&p);
}

Test(cover, addresses_that_a_covered_init_lists_are_left_out)
{
	const struct sctp_addr other = peer_addr(1);

	for (int covered = 0; covered < 2; covered++) {
		uint32_t len;

		p.from.covered = covered;
		send_init_with(&other);
		peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
		cr_assert_eq(peer_param(&p.chunk[0], SCTP_PARAM_IPV4, 0, &len) == NULL, covered,
			     "ours are listed without cover");
		peer_send_cookie_echo(&p);
		cr_assert_eq(count_paths(), covered ? 1 : 2);
		peer_forget(&p);
	}
}

Test(cover, addresses_that_a_covered_init_ack_lists_are_left_out)
{
	const struct sctp_addr other = peer_addr(1);
	uint32_t at;

	peer_stack_connects(&p, 1);
	peer_begin(&p);
	at = peer_begin_init(&p, SCTP_INIT_ACK);
	peer_put_addr(&p, &other);
	peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	cr_assert_eq(count_paths(), 1);
}

Test(cover, connecting_takes_one_address_at_each_end)
{
	const struct sctp_addr peer[] = {peer_addr(0), peer_addr(1)};
	static const uint8_t local[] = {0, 1};

	for (unsigned np = 1; np <= 2; np++)
		for (unsigned nl = 1; nl <= 2; nl++) {
			const struct sctp_connect to = {.peer = peer,
							.npeer = np,
							.port = PEER_PORT,
							.local = local,
							.nlocal = nl,
							.covered_port = PEER_UDP};
			struct sctp_assoc *a = NULL;

			cr_assert_eq(sctp_assoc_connect(p.s, &to, &a),
				     np * nl == 1 ? SCTP_E_OK : SCTP_E_NO_ADDR);
			sctp_assoc_free(a);
		}
	peer_poll(&p);
	peer_drain(&p, SCTP_INIT);
}
