/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: floods of packets of unknown peers cost established associations nothing but time, leave
 * no memory behind, and keep other networks out only as far as the whole budget does. Without
 * memory calls are refused and nothing is lost. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/script.h"
#include "util/network.h"

enum { RATE = 1000, MAX_ASSOCS = 64 };

static struct peer p;
static struct network_table known;
static uint8_t pkt[2048];

static void setup(void)
{
	const struct network_limits limits = {
		.most = {[NETWORK_ASSOCS] = NETWORK_NO_LIMIT, [NETWORK_MEMORY] = NETWORK_NO_LIMIT},
		.all = {[NETWORK_ASSOCS] = MAX_ASSOCS / 2, [NETWORK_MEMORY] = NETWORK_NO_LIMIT},
	};
	struct sctp_config c = peer_config(&p, 1);

	network_table_init(&known, 1, &limits);
	c.networks = &known;
	c.handshakes_per_s = RATE;
	c.max_assocs = MAX_ASSOCS;
	peer_init_cfg(&p, &c);
	peer_connect(&p);
}

static void teardown(void)
{
	peer_deinit(&p);
	network_table_deinit(&known);
}

TestSuite(flood, .init = setup, .fini = teardown);

static struct sctp_flow host(unsigned network, unsigned i)
{
	const uint8_t ip[4] = {172, (uint8_t)(network >> 8), (uint8_t)network,
			       (uint8_t)(1 + i % 250)};

	return (struct sctp_flow){sctp_addr_v4(ip), (uint16_t)(2000 + i % 60000), 0, false};
}

/* A packet with one chunk from there; nothing is taken from the stack. */
static void inject(const struct sctp_flow *from, uint16_t port, uint32_t tag, uint8_t type,
		   const void *value, uint32_t len)
{
	const struct sctp_head head = {port, PEER_STACK, tag};
	struct sctp_writer w = {.p = pkt, .size = sizeof(pkt)};
	struct span whole;
	uint32_t at;

	sctp_put_head(&w, &head);
	at = sctp_begin_chunk(&w, type, 0);
	sctp_put_bytes(&w, value, len);
	sctp_end_chunk(&w, at);
	whole = (struct span){w.p, w.len};
	sctp_seal(&whole, 1);
	sctp_input(p.s, from, w.p, w.len, p.now);
}

static const uint8_t junk[200];

static void inject_init(const struct sctp_flow *from, uint16_t port)
{
	static const uint8_t init[] = {0, 0, 0, 1, 0,    1, 0, 0, 0, 9, 0, 9,
				       0, 0, 0, 1, 0xc0, 6, 0, 8, 0, 0, 0, 1};

	inject(from, port, 0, SCTP_INIT, init, sizeof(init));
}

/* n packets of each kind from these networks in turn. */
static void flood(unsigned n, unsigned networks)
{
	for (unsigned i = 0; i < n; i++) {
		struct sctp_flow from = host(i % networks, i);
		uint16_t port = (uint16_t)(1 + i % 65535);

		inject_init(&from, port);
		inject(&from, port, 7, SCTP_COOKIE_ECHO, junk, sizeof(junk));
		inject(&from, port, 7, SCTP_DATA, "0123456789abcdef", 16);
		inject(&from, port, 7, SCTP_ABORT, "", 0);
	}
}

/* Forged in the name of the peer of the association. */
static void flood_in_its_name(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		inject_init(&p.from, PEER_PORT);
		inject(&p.from, PEER_PORT, i, SCTP_COOKIE_ECHO, junk, sizeof(junk));
		inject(&p.from, PEER_PORT, i, SCTP_ABORT, "", 0);
		inject(&p.from, PEER_PORT, i, SCTP_SHUTDOWN_COMPLETE, "", 0);
	}
}

static void drop_answers(void)
{
	while (sctp_output(p.s, &p.batch, p.now))
		;
}

static struct sctp_stats stats(void)
{
	struct sctp_stats st;

	sctp_stats(p.s, &st);
	return st;
}

/* rows: 9260-12.2.4.1-02 */
Test(flood, packets_of_associations_are_never_refused)
{
	for (unsigned i = 0; i < 50; i++) {
		uint64_t before = p.messages;

		flood(500, 300);
		flood_in_its_name(500);
		drop_answers();
		peer_send_data(&p, 100);
		peer_drain(&p, SCTP_SACK);
		cr_assert_eq(p.messages, before + 1);
		peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
		cr_assert_eq(peer_drain(&p, SCTP_HEARTBEAT_ACK), 1);
		peer_advance(&p, 1000);
	}
	cr_assert_gt(stats().over_budget, 10000);
	cr_assert_eq(p.down, 0);
}

/* Whatever becomes of them, and in whose name they come: a filter before the stack follows them. */
Test(flood, packets_without_the_right_tag_are_counted_by_kind)
{
	enum { N = 5000 };
	struct sctp_flow from = host(1, 1);
	struct sctp_stats before = stats();

	flood(N, 300);
	cr_assert_eq(stats().inits - before.inits, N);
	cr_assert_eq(stats().cookie_echos - before.cookie_echos, N);
	cr_assert_eq(stats().strays - before.strays, 2 * N);
	flood_in_its_name(N);
	cr_assert_eq(stats().inits - before.inits, 2 * N);
	cr_assert_eq(stats().cookie_echos - before.cookie_echos, 2 * N);
	cr_assert_eq(stats().strays - before.strays, 4 * N);
	inject(&from, 9, 7, SCTP_INIT, junk, 16);
	sctp_input(p.s, &from, pkt, 3, p.now);
	cr_assert_eq(stats().strays - before.strays, 4 * N + 2);
	before = stats();
	drop_answers();
	peer_send_data(&p, 100);
	cr_assert_eq(stats().rx_packets - before.rx_packets, 1);
	cr_assert_eq(stats().strays - before.strays, 0);
}

/* rows: 9260-12.2.4.1-01 */
Test(flood, nothing_is_kept_of_it)
{
	uint64_t before = sctp_memory(p.s);

	for (unsigned i = 0; i < 100; i++) {
		flood(1000, 60000);
		drop_answers();
		peer_advance(&p, 1000);
	}
	cr_assert_eq(sctp_memory(p.s), before);
	cr_assert_eq(p.incoming, 1);
}

/* Answers that wait: the association's own find room. */
Test(flood, answers_to_unknown_peers_leave_room_for_those_of_associations)
{
	peer_advance(&p, PEER_SECOND);
	drop_answers();
	cr_assert_not(sctp_wants_output(p.s));
	for (unsigned i = 0; i < 50; i++) {
		struct sctp_flow from = host(i, 1);

		for (unsigned k = 0; k < 20; k++)
			inject(&from, (uint16_t)(1 + k), 7, SCTP_DATA, "0123456789abcdef", 16);
		inject_init(&from, 77);
		p.now += 1000;
	}
	for (unsigned i = 0; i < 2000; i++) {
		struct sctp_flow from = host(i, 1);

		inject_init(&from, 77);
		p.now += 1000;
	}
	cr_assert(sctp_wants_output(p.s));
	cr_assert_gt(stats().dropped_replies, 100);
	peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
	cr_assert_eq(peer_drain(&p, SCTP_HEARTBEAT_ACK), 1);
	cr_assert_not(sctp_wants_output(p.s));
}

/* The handshake of an honest peer from a network of its own. True if it came up at once. */
static bool can_connect(unsigned network)
{
	unsigned before = p.incoming;

	p.from = host(network, 1);
	p.tag = 0x1000 + network;
	peer_send_init(&p);
	while (peer_next(&p))
		if (p.chunk[0].type == SCTP_INIT_ACK && p.head.tag == p.tag)
			peer_learn(&p, &p.chunk[0]);
	flood(500, 1);
	drop_answers();
	peer_send_cookie_echo(&p);
	peer_drain(&p, SCTP_COOKIE_ACK);
	return p.incoming == before + 1;
}

Test(flood, one_network_that_floods_does_not_keep_others_out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 1000; i++) {
		flood(5, 1);
		drop_answers();
		p.now += 1000;
	}
	for (unsigned i = 0; i < 20; i++) {
		peer_advance(&p, 100000);
		flood(500, 1);
		drop_answers();
		n += can_connect(1000 + i);
	}
	cr_assert_eq(n, 20, "%u", n);
	cr_assert_gt(stats().over_share, 1000);
}

/* Opens n associations from one network; returns how many came up. */
static unsigned open_many(unsigned network, unsigned n)
{
	unsigned before = p.incoming, taken;

	for (unsigned i = 0; i < n; i++) {
		p.from = host(network, i);
		p.tag = 0x20000 + i;
		peer_advance(&p, 100000);
		peer_send_init(&p);
		while (peer_next(&p))
			if (p.chunk[0].type == SCTP_INIT_ACK)
				peer_learn(&p, &p.chunk[0]);
		taken = p.incoming;
		peer_send_cookie_echo(&p);
		while (peer_next(&p))
			;
		if (p.incoming > taken)
			cr_assert(network_charge(network_hold(&known, p.from.peer.ip),
						 NETWORK_ASSOCS, 1));
	}
	return p.incoming - before;
}

/* rows: 9260-12.2.4.3-01 */
Test(flood, one_network_cannot_take_all_associations)
{
	/* Each gets three quarters of the rest of half. */
	cr_assert_eq(open_many(1, 100), 24);
	cr_assert_geq(stats().refused_handshakes, 60);
	cr_assert_eq(open_many(2, 100), 6);
	cr_assert_eq(open_many(3, 100), 2);
	cr_assert_eq(open_many(4, 1), 0);
	cr_assert_eq(known.used[NETWORK_ASSOCS], MAX_ASSOCS / 2, "the rest is ours");
}

Test(flood, what_has_ended_may_be_opened_again)
{
	const struct sctp_flow from = host(1, 0);

	cr_assert_eq(open_many(1, 100), 24);
	while (p.incoming != p.down)
		peer_advance(&p, 60 * (uint64_t)PEER_SECOND);
	network_release(network_hold(&known, from.peer.ip), NETWORK_ASSOCS, 24);
	p.down = p.incoming = 0;
	cr_assert_eq(open_many(1, 100), 24);
}

/* ---- no memory at all ---- */

/* Every call says so, and what exists goes on when there is some again. */
Test(flood, without_memory_calls_are_refused_and_nothing_is_lost)
{
	const uint8_t local = 0;
	const struct sctp_addr peer = peer_addr(0);
	const struct sctp_connect to = {
		.peer = &peer, .npeer = 1, .port = 77, .local = &local, .nlocal = 1};
	struct sctp_listener *l;
	struct sctp_assoc *a, *mine = p.assoc;
	uint64_t before = sctp_memory(p.s);

	p.no_memory = true;
	cr_assert_eq(sctp_listen(p.s, &local, 1, false, 77, NULL, &l), SCTP_E_MEMORY);
	cr_assert_eq(sctp_assoc_connect(p.s, &to, &a), SCTP_E_MEMORY);
	cr_assert_eq(peer_stack_sends(&p, 0, 1000), SCTP_E_MEMORY);
	cr_assert_eq(open_many(1, 3), 0);
	cr_assert_eq(stats().refused_handshakes, 3);
	p.from = (struct sctp_flow){peer_addr(0), PEER_UDP, 0, false};
	p.tag = PEER_TAG;
	p.assoc = mine;
	cr_assert_eq(sctp_memory(p.s), before);
	p.no_memory = false;
	cr_assert_eq(open_many(1, 3), 3);
	p.assoc = mine;
	peer_advance(&p, PEER_SECOND);
	cr_assert_eq(peer_stack_sends(&p, 0, 1000), SCTP_E_OK);
	cr_assert_eq(peer_drain(&p, SCTP_DATA), 1);
	cr_assert_eq(p.down, 0);
	cr_assert_eq(p.writable, 1);
}
