/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: peers leave room for links and handshakes, and the rate of these, to each other and to
 * programs here. */
#include <criterion/criterion.h>
#include <string.h>

#include "llp/dtls/dtls_table.h"
#include "tests/unit/dtls_net.h"

#define SECOND ((uint64_t)1000000)

/* ---- room ---- */

static unsigned handshakes_begun(struct net *n)
{
	struct dtls_stats s;

	dtls_stats(n->end[1].dtls, &s);
	return (unsigned)s.begun;
}

Test(dtls_places, peers_leave_handshakes_to_each_other_and_to_programs_here)
{
	struct net *n = net_plain();
	uint8_t first[NET_PACKET];
	struct dtls_flow to, from = {.ip = {[10] = 0xff, [11] = 0xff, 192, 0, 2}};
	unsigned begun;
	size_t len;

	net_connect(n, 0);
	cr_assert(dtls_output(n->end[0].dtls, &to, first, sizeof(first), &len));
	for (from.port = 1; from.port < 20; from.port++)
		net_begin_from(n, first, len, &from);
	cr_assert_eq(handshakes_begun(n), 1, "an eighth of 8 from one address");
	for (from.ip[15] = 1; from.ip[15] < 40; from.ip[15]++)
		net_begin_from(n, first, len, &from);
	cr_assert_eq(handshakes_begun(n), 6, "three quarters of all");
	for (to.port = 1; to.port < 3; to.port++)
		cr_assert_eq(dtls_connect(n->end[1].dtls, &to, n->now_us), 0);
	net_run(n, 11 * SECOND);
	cr_assert_eq(n->end[0].up, 1, "it did not wait for the end of the others");
	begun = handshakes_begun(n);
	net_begin_from(n, first, len, &from);
	cr_assert_eq(handshakes_begun(n), begun + 1, "they are over after their time");
	net_free(n);
}

enum { LINKS = 80 };

/* A room with many handshakes, so that links are the limit. */
static struct dtls *open_room_with(const struct net *n, unsigned links, unsigned handshakes)
{
	const struct dtls_config cfg = {
		.random = net_random,
		.accept = net_accept_all,
		.max_links = links,
		.max_handshakes = handshakes,
		.resend_us = SECOND,
		.handshake_us = 10 * SECOND,
		.takeover_us = 600 * SECOND,
		.linger_us = 2 * SECOND,
		.idle_us = 300 * SECOND,
	};
	struct dtls *d;

	cr_assert_eq(dtls_open(&cfg, n->end[1].id, n->now_us, &d), 0);
	return d;
}

static struct dtls *open_room(const struct net *n)
{
	return open_room_with(n, LINKS, 100 * LINKS);
}

static unsigned links(const struct dtls *d)
{
	struct dtls_stats s;

	dtls_stats(d, &s);
	return (unsigned)s.links;
}

Test(dtls_places, peers_leave_links_to_each_other_and_to_programs_here)
{
	struct net *n = net_plain();
	struct dtls *d = open_room(n), *before = n->end[1].dtls;
	uint8_t first[NET_PACKET], rest[DTLS_MAX_DATAGRAM];
	struct dtls_flow to, from = {.ip = {[10] = 0xff, [11] = 0xff, 192, 0, 2}};
	struct dtls_event e;
	size_t len, hello_len;

	net_connect(n, 0);
	cr_assert(dtls_output(n->end[0].dtls, &to, first, sizeof(first), &hello_len));
	n->end[1].dtls = d;
	for (from.port = 1; from.port <= LINKS; from.port++)
		net_begin_from(n, first, hello_len, &from);
	cr_assert_eq(links(d), LINKS / 8, "of one address");
	for (unsigned i = 1; i <= 4 * LINKS; i++) {
		from.ip[15] = (uint8_t)i;
		from.port = (uint16_t)i;
		net_begin_from(n, first, hello_len, &from);
	}
	cr_assert_eq(links(d), LINKS - LINKS / 4, "of all");
	for (to.port = 1; to.port <= LINKS / 4; to.port++)
		cr_assert_eq(dtls_connect(d, &to, n->now_us), 0);
	dtls_run(d, n->now_us + 11 * SECOND);
	while (dtls_event(d, &e))
		;
	cr_assert_eq(links(d), 0);
	while (dtls_output(d, &to, rest, sizeof(rest), &len))
		;
	n->now_us += 11 * SECOND;
	net_begin_from(n, first, hello_len, &from);
	cr_assert_eq(links(d), 1, "they are over after their time");
	dtls_close(d);
	n->end[1].dtls = before;
	net_free(n);
}

/* ---- rate ---- */

/* Eight addresses use up the rate, and the later ones begin one handshake each. */
enum { BEGINNERS = 20, LATER = BEGINNERS - 8, AT_ONCE = 100 * LINKS };

static struct flood {
	struct net *n;
	struct dtls *before;
	uint8_t hello[NET_PACKET];
	size_t len;
	unsigned number;
} flood;

/* End 1 is a room with many handshakes, and end 0 has a link to it if it is wanted. */
static void flood_begin_at(struct dtls *(*open)(const struct net *n), bool linked)
{
	struct net *n = net_plain();
	struct dtls_flow to;

	flood = (struct flood){.n = n, .before = n->end[1].dtls};
	n->end[1].dtls = open(n);
	net_connect(n, 0);
	if (linked) {
		cr_assert(net_until_up(n, SECOND));
		net_renew(n, 0);
	}
	cr_assert(dtls_output(n->end[0].dtls, &to, flood.hello, sizeof(flood.hello), &flood.len));
}

static void flood_begin(bool linked)
{
	flood_begin_at(open_room, linked);
}

static void flood_end(void)
{
	dtls_close(flood.n->end[1].dtls);
	flood.n->end[1].dtls = flood.before;
	net_free(flood.n);
}

/* How many handshakes begin if this peer shows cookies for so many hellos. */
static unsigned flood_from(struct dtls_flow *from, unsigned hellos)
{
	unsigned before = handshakes_begun(flood.n);

	for (unsigned i = 0; i < hellos; i++) {
		flood.number++;
		memcpy(flood.hello + NET_RANDOM_AT, &flood.number, sizeof(flood.number));
		net_begin_from(flood.n, flood.hello, flood.len, from);
	}
	return handshakes_begun(flood.n) - before;
}

static struct dtls_flow beginner(unsigned i)
{
	return (struct dtls_flow){.ip = {[10] = 0xff, [11] = 0xff, 192, 0, 2, (uint8_t)i},
				  .port = 1};
}

/* Of many addresses, each of which begins another handshake with each hello. */
static unsigned flood_from_many(unsigned hellos)
{
	unsigned begun = 0;

	for (unsigned i = 0; i < BEGINNERS; i++) {
		struct dtls_flow from = beginner(i);

		begun += flood_from(&from, hellos);
	}
	return begun;
}

static void around(unsigned got, unsigned want)
{
	cr_assert_geq(got, want - 1);
	cr_assert_leq(got, want + 1);
}

Test(dtls_places, handshakes_that_peers_begin_have_a_rate)
{
	flood_begin(false);
	around(flood_from_many(AT_ONCE / 8), AT_ONCE + LATER);
	flood.n->now_us += SECOND;
	around(flood_from_many(400), 2000 - LATER);
	flood_end();
}

Test(dtls_places, one_address_leaves_the_rate_to_others)
{
	struct dtls_flow one = beginner(1), other = beginner(2);

	flood_begin(false);
	around(flood_from(&one, AT_ONCE), AT_ONCE / 8);
	flood.n->now_us += SECOND;
	around(flood_from(&one, AT_ONCE), 250);
	cr_assert_eq(flood_from(&other, 10), 10);
	flood_end();
}

Test(dtls_places, eight_addresses_leave_one_handshake_a_second_to_each_other_one)
{
	struct dtls_flow other = beginner(BEGINNERS);

	flood_begin(false);
	around(flood_from_many(AT_ONCE / 8), AT_ONCE + LATER);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(flood_from(&other, 10), 1);
		flood.n->now_us += SECOND + SECOND / 100;
		around(flood_from_many(400), 2020);
	}
	flood_end();
}

Test(dtls_places, peer_of_a_link_gets_other_keys_whatever_others_begin)
{
	flood_begin(true);
	around(flood_from_many(AT_ONCE / 8), AT_ONCE + LATER);
	cr_assert_eq(flood_from(&flood.n->end[1].peer, 10), 10);
	around(flood_from(&flood.n->end[1].peer, AT_ONCE), AT_ONCE / 8 - 10);
	flood_end();
}

/* ---- places ---- */

enum { PLACES = 256, OF_PEERS = PLACES - PLACES / 4, HOSTS = 6 };

static struct dtls *open_places(const struct net *n)
{
	return open_room_with(n, 16 * PLACES, PLACES);
}

static unsigned half_open(void)
{
	struct dtls_stats s;

	dtls_stats(flood.n->end[1].dtls, &s);
	return (unsigned)s.handshakes;
}

/* From the i-th address, by as many ports. */
static unsigned begin_by_ports(unsigned i, unsigned ports)
{
	struct dtls_flow from = beginner(i);
	unsigned begun = 0;

	for (from.port = 1; from.port <= ports; from.port++)
		begun += flood_from(&from, 1);
	return begun;
}

/* They show cookies, and none goes on. */
Test(dtls_places, few_addresses_leave_places_to_others)
{
	struct dtls_flow here = {.port = 1};

	flood_begin_at(open_places, false);
	for (unsigned i = 0; i < HOSTS; i++)
		cr_assert_eq(begin_by_ports(i, PLACES / 8), PLACES / 8);
	cr_assert_eq(half_open(), OF_PEERS);
	around(begin_by_ports(HOSTS, PLACES / 8), OF_PEERS / (HOSTS + 1));
	cr_assert_eq(half_open(), OF_PEERS);
	for (; here.port <= PLACES / 4; here.port++)
		cr_assert_eq(dtls_connect(flood.n->end[1].dtls, &here, flood.n->now_us), 0);
	flood_end();
}

/* Peers may have three quarters of all; while programs have the others, a quarter is left to them.
 */
Test(dtls_places, programs_here_leave_handshakes_to_peers)
{
	struct dtls_flow here = {.port = 1};

	flood_begin_at(open_places, false);
	for (; here.port <= OF_PEERS; here.port++)
		cr_assert_eq(dtls_connect(flood.n->end[1].dtls, &here, flood.n->now_us), 0);
	cr_assert_eq(begin_by_ports(1, PLACES / 8), PLACES / 8);
	cr_assert_eq(begin_by_ports(2, PLACES / 8), PLACES / 8);
	cr_assert_eq(half_open(), PLACES);
	around(begin_by_ports(3, PLACES / 8), PLACES / 4 / 3);
	cr_assert_eq(half_open(), PLACES);
	flood_end();
}

/* Eight addresses have the same number of places. */
static void take_all_places(void)
{
	for (unsigned i = 0; i < 8; i++)
		cr_assert_eq(begin_by_ports(i, OF_PEERS / 8), OF_PEERS / 8);
}

static unsigned begin_one_more(unsigned port)
{
	struct dtls_flow from = beginner(0);

	from.port = (uint16_t)(1000 + port);
	return flood_from(&from, 1);
}

Test(dtls_places, handshake_that_does_not_go_on_has_its_place_for_a_second)
{
	flood_begin_at(open_places, false);
	take_all_places();
	cr_assert_eq(begin_one_more(0), 0);
	flood.n->now_us += SECOND - 1;
	cr_assert_eq(begin_one_more(0), 0);
	flood.n->now_us += 1;
	cr_assert_eq(begin_one_more(0), 1);
	cr_assert_eq(half_open(), OF_PEERS);
	flood_end();
}

static bool is_another(void *arg, const struct dtls_flow *flow)
{
	(void)arg;
	return memcmp(flow, &flood.n->end[1].peer, sizeof(*flow)) != 0;
}

/* By other ports of the link's address. */
static void begin_beside_the_link(unsigned n)
{
	struct dtls_flow from = flood.n->end[1].peer;

	for (from.port = 1; n > 0; from.port++, n--)
		cr_assert_eq(flood_from(&from, 1), 1);
}

/* It is the oldest one of those with the most. */
Test(dtls_places, handshake_of_a_link_that_is_up_does_not_give_way)
{
	flood_begin_at(open_places, true);
	cr_assert_eq(flood_from(&flood.n->end[1].peer, 1), 1);
	begin_beside_the_link(OF_PEERS / 8 - 1);
	for (unsigned i = 0; i < 7; i++)
		cr_assert_eq(begin_by_ports(i, OF_PEERS / 8), OF_PEERS / 8);
	flood.n->now_us += SECOND;
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(begin_one_more(i), 1);
	cr_assert_eq(half_open(), OF_PEERS);
	cr_assert_not(dtls_flows_beginning(flood.n->end[1].dtls, is_another, NULL));
	flood_end();
}

static void say_hello_request(void)
{
	uint8_t p[25] = {DTLS_HANDSHAKE, 0xfe, 0xfd, [12] = 12};
	struct span at = {p, sizeof(p)}, packet;

	cr_assert_not(dtls_input(flood.n->end[1].dtls, &flood.n->end[1].peer, &at, flood.n->now_us,
				 &packet));
}

/* We begin it, but the peer has said so, and need not go on. */
Test(dtls_places, handshake_after_a_hello_request_is_of_the_share_of_its_address)
{
	flood_begin_at(open_places, true);
	begin_beside_the_link(PLACES / 8);
	say_hello_request();
	cr_assert_eq(half_open(), PLACES / 8);
	flood_end();
	flood_begin_at(open_places, true);
	say_hello_request();
	cr_assert_eq(half_open(), 1);
	begin_beside_the_link(PLACES / 8 - 1);
	cr_assert_eq(begin_by_ports(1, 1), 1);
	say_hello_request();
	cr_assert_eq(half_open(), PLACES / 8 + 1);
	flood_end();
}

/* A table with handshakes of one address, all of links that are up. */
Test(dtls_places, links_that_are_up_give_way_by_number_alone)
{
	enum { HANDSHAKES = 3 };
	static const uint64_t key[2];
	static struct dtls_link link = {.server = true};
	struct dtls_pair *p[HANDSHAKES];
	struct dtls_flow from = beginner(1);
	struct dtls_table t = {0};

	cr_assert_eq(dtls_table_init(&t, PLACES, key), 0);
	for (from.port = 0; from.port < HANDSHAKES; from.port++) {
		p[from.port] = dtls_table_add(&t, &from, true, NULL);
		p[from.port]->now = p[from.port]->next = &link;
		list_add_tail(&t.beginning, &p[from.port]->begins);
		dtls_table_count(&t, p[from.port], true, true, 0);
	}
	cr_expect_eq(dtls_table_evictable(&t, HANDSHAKES - 2, 0), p[0]);
	cr_expect_null(dtls_table_evictable(&t, HANDSHAKES - 1, 10 * SECOND));
	p[1]->now = NULL;
	cr_expect_eq(dtls_table_evictable(&t, HANDSHAKES - 2, 0), p[1], "it has no keys yet");
	p[1]->guest = false;
	cr_expect_eq(dtls_table_evictable(&t, HANDSHAKES - 2, 0), p[0], "it was begun here");
	p[1]->guest = true;
	for (unsigned i = 0; i < HANDSHAKES; i++) {
		p[i]->now = p[i]->next = NULL;
		dtls_table_remove(&t, p[i]);
	}
	dtls_table_deinit(&t);
}
