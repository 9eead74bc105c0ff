/* SPDX-License-Identifier: BSD-2-Clause */
/* Links of DTLS: they come up over bad networks, refuse, take over, and cost no memory before. */
#include <criterion/criterion.h>

#include <string.h>

#include "llp/dtls/dtls_cookie.h"
#include "tests/unit/dtls_net.h"

#define SECOND ((uint64_t)1000000)

/* Packets arrive in both directions. */
static void carries_packets(struct net *n)
{
	for (unsigned from = 0; from < 2; from++) {
		unsigned before = n->end[!from].received;

		cr_assert(net_send(n, from, 4711 + from));
		net_run(n, SECOND / 10);
		cr_assert_eq(n->end[!from].received, before + 1);
		cr_assert_eq(n->end[!from].last, 4711 + from);
		cr_assert_eq(n->end[!from].wrong, 0);
	}
}

Test(dtls, two_ends_come_up_and_see_the_certificate_of_each_other)
{
	struct net *n = net_plain();

	net_connect(n, 0);
	cr_assert(net_until_up(n, SECOND));
	net_run(n, SECOND);
	carries_packets(n);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(n->end[i].up, 1);
		cr_assert_eq(n->end[i].down, 0);
		cr_assert(n->end[i].seen.has_cert);
		cr_assert_arr_eq(n->end[i].seen.fingerprint, n->end[!i].id->fingerprint,
				 DTLS_FINGERPRINT);
		cr_assert_str_eq(n->end[i].seen.names, "");
	}
	net_free(n);
}

Test(dtls, handshake_survives_the_loss_of_each_datagram)
{
	unsigned lost = 1, all = 1;

	for (; lost <= all; lost++) {
		struct net *n = net_plain();

		n->lost = lost;
		net_connect(n, 0);
		cr_assert(net_until_up(n, 3 * SECOND), "datagram %u was lost: %s", lost,
			  n->end[0].reason);
		if (lost == 1)
			all = n->sent;
		n->lost = 0;
		net_run(n, SECOND);
		carries_packets(n);
		net_free(n);
	}
	cr_assert_geq(all, 6);
}

Test(dtls, handshake_survives_losses_duplicates_and_reordering)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct net *n = net_plain();

		n->seed = seed * 7919;
		n->loses = 15;
		n->doubles = n->delays = 30;
		net_connect(n, seed % 2);
		cr_assert(net_until_up(n, 10 * SECOND), "seed %u: %s", seed, n->end[0].reason);
		n->loses = 0;
		net_run(n, SECOND);
		n->doubles = n->delays = 0;
		carries_packets(n);
		cr_assert_eq(n->end[0].down + n->end[1].down, 0);
		net_free(n);
	}
}

Test(dtls, ends_that_begin_at_once_have_one_link)
{
	for (unsigned i = 0; i < 10; i++) {
		struct net *n = net_plain();

		net_connect(n, 0);
		net_connect(n, 1);
		cr_assert(net_until_up(n, 5 * SECOND));
		net_run(n, 20 * SECOND);
		carries_packets(n);
		for (unsigned k = 0; k < 2; k++) {
			cr_assert_eq(n->end[k].up, 1);
			cr_assert_eq(n->end[k].down, 0);
		}
		net_free(n);
	}
}

Test(dtls, peer_that_is_refused_and_the_one_that_refuses_learn_why)
{
	for (unsigned who = 0; who < 2; who++) {
		struct net *n = net_plain();

		n->end[who].refuses = "no rule of peers names this certificate";
		net_connect(n, 0);
		net_run(n, 2 * SECOND);
		cr_assert(!net_send(n, who, 1));
		cr_assert_str_eq(n->end[who].reason, n->end[who].refuses);
		cr_assert_eq(n->end[who].refused, 0);
		cr_assert_eq(n->end[!who].down, 1);
		cr_assert_eq(n->end[!who].refused, 1);
		cr_assert(strstr(n->end[!who].reason, "access denied"), "%s", n->end[!who].reason);
		cr_assert_eq(n->end[0].received + n->end[1].received, 0);
		net_free(n);
	}
}

Test(dtls, certificate_that_is_expired_or_not_valid_yet_is_refused)
{
	static const struct {
		long from, to;
		const char *sentence;
	} rows[] = {{60, 3600, "not valid yet"}, {-3600, -60, "expired"}};

	for (unsigned i = 0; i < 4; i++) {
		bool who = i % 2;
		struct dtls_identity *bad = net_identity(rows[i / 2].from, rows[i / 2].to),
				     *good = net_identity(-60, 3600);
		struct net *n = net_new(who ? good : bad, who ? bad : good, false);

		net_connect(n, 0);
		net_run(n, 2 * SECOND);
		cr_assert_eq(n->end[!who].up, 0);
		cr_assert(strstr(n->end[!who].reason, rows[i / 2].sentence), "%s",
			  n->end[!who].reason);
		net_free(n);
	}
}

Test(dtls, pre_shared_key_is_enough_if_it_is_the_same)
{
	const char *hex = "000102030405060708090a0b0c0d0e0f";
	struct net *n = net_new(net_psk(hex), net_psk(hex), false);

	net_connect(n, 0);
	cr_assert(net_until_up(n, 5 * SECOND), "%s", n->end[0].reason);
	net_run(n, SECOND);
	carries_packets(n);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_not(n->end[i].seen.has_cert);
		cr_assert_eq(n->end[i].seen.psk, &n->end[i].id->psk[0]);
	}
	net_free(n);
}

/* The key has its name in it, so the end that is asked knows at once. */
Test(dtls, another_pre_shared_key_is_refused_with_a_reason_at_both_ends)
{
	struct net *n = net_new(net_psk("000102030405060708090a0b0c0d0e0f"),
				net_psk("ff0102030405060708090a0b0c0d0e0f"), false);

	net_connect(n, 0);
	net_run(n, 20 * SECOND);
	cr_assert_eq(n->end[0].up + n->end[1].up, 0);
	cr_assert(strstr(n->end[1].reason, "psk identity not found"), "%s", n->end[1].reason);
	cr_assert(strstr(n->end[0].reason, "the peer sent alert 115"), "%s", n->end[0].reason);
	net_free(n);
}

Test(dtls, end_with_a_certificate_and_one_with_a_pre_shared_key_have_no_link)
{
	for (unsigned who = 0; who < 2; who++) {
		struct net *n = net_new(net_psk("000102030405060708090a0b0c0d0e0f"),
					net_identity(-60, 3600), false);

		net_connect(n, who);
		net_run(n, 20 * SECOND);
		cr_assert_eq(n->end[0].up + n->end[1].up, 0);
		cr_assert(*n->end[who].reason);
		net_free(n);
	}
}

/* ---- before the peer is known ---- */

/* A hello of a client, as it leaves. */
static size_t first_hello(uint8_t *p, size_t size)
{
	struct net *n = net_plain();
	struct dtls_flow to;
	size_t len = 0;

	net_connect(n, 0);
	cr_assert(dtls_output(n->end[0].dtls, &to, p, size, &len));
	net_free(n);
	return len;
}

Test(dtls, hellos_of_unknown_peers_make_no_state_and_short_answers)
{
	static uint8_t hello[DTLS_MAX_DATAGRAM], answer[DTLS_MAX_DATAGRAM];
	size_t len = first_hello(hello, sizeof(hello)), n, total = 0;
	struct net *net = net_plain();
	struct dtls *d = net->end[1].dtls;
	struct dtls_stats s;

	for (uint32_t i = 0; i < 100000; i++) {
		struct dtls_flow from = {.port = (uint16_t)i, .scope = i}, to;
		struct span at = {hello, len}, packet;

		cr_assert(!dtls_input(d, &from, &at, net->now_us, &packet));
		while (dtls_output(d, &to, answer, sizeof(answer), &n)) {
			cr_assert_arr_eq(&to, &from, sizeof(to));
			total += n;
		}
	}
	dtls_stats(d, &s);
	cr_assert_eq(s.links, 0);
	cr_assert_eq(s.begun, 0);
	cr_assert_eq(s.asked, 100000);
	cr_assert_leq(total, 3 * 100000 * len);
	cr_assert_eq(total, 100000 * (size_t)DTLS_VERIFY_REQUEST);
	net_connect(net, 0);
	cr_assert(net_until_up(net, SECOND));
	net_free(net);
}

Test(dtls, cookie_is_good_for_its_flow_and_hello_and_for_a_while)
{
	uint8_t p[DTLS_MAX_DATAGRAM], ask[DTLS_VERIFY_REQUEST];
	size_t len = first_hello(p, sizeof(p));
	struct net *n = net_plain();
	struct dtls_flow flow = {.port = 7}, other = {.port = 8};
	struct dtls_hello h;
	struct dtls_cookies c;

	dtls_cookies_init(&c, net_random, NULL, 0);
	cr_assert(dtls_hello_get(p, len, &h));
	cr_assert_null(h.cookie);
	cr_assert(!dtls_cookies_accept(&c, &flow, &h, 0));
	dtls_cookies_ask(&c, &flow, &h, 0, ask);
	h.cookie = ask + DTLS_VERIFY_REQUEST - DTLS_COOKIE;
	h.cookie_len = DTLS_COOKIE;
	cr_assert(dtls_cookies_accept(&c, &flow, &h, DTLS_COOKIE_US));
	cr_assert(!dtls_cookies_accept(&c, &other, &h, DTLS_COOKIE_US));
	h.random[0] ^= 1;
	cr_assert(!dtls_cookies_accept(&c, &flow, &h, DTLS_COOKIE_US));
	h.random[0] ^= 1;
	h.cookie_len--;
	cr_assert(!dtls_cookies_accept(&c, &flow, &h, DTLS_COOKIE_US));
	h.cookie_len++;
	cr_assert(!dtls_cookies_accept(&c, &flow, &h, 2 * DTLS_COOKIE_US));
	net_free(n);
}

Test(dtls, handshakes_and_links_are_bounded)
{
	struct net *n = net_plain();
	struct dtls_stats s;
	unsigned begun = 0;

	for (unsigned i = 0; i < 100; i++) {
		struct dtls_flow to = {.port = (uint16_t)(i + 1)};

		begun += dtls_connect(n->end[0].dtls, &to, n->now_us) == 0;
	}
	dtls_stats(n->end[0].dtls, &s);
	cr_assert_eq(begun, 8);
	cr_assert_eq(s.handshakes, 8);
	cr_assert_eq(s.links, 8);
	net_run(n, 30 * SECOND);
	dtls_stats(n->end[0].dtls, &s);
	cr_assert_eq(s.links, 0);
	cr_assert_eq(s.failed, 8);
	cr_assert(strstr(n->end[0].reason, "not completed in 10000 ms"), "%s", n->end[0].reason);
	net_free(n);
}

/* ---- takeover ---- */

Test(dtls, thousand_takeovers_under_load_lose_no_packet_and_no_link)
{
	struct net *n = net_plain();
	struct dtls_stats s;
	unsigned sent = 0;

	net_connect(n, 0);
	cr_assert(net_until_up(n, SECOND));
	n->delays = 30;
	dtls_stats(n->end[0].dtls, &s);
	for (unsigned i = 0; i < 100000 && s.takeovers < 1000; i++) {
		/* Ten minutes pass in big steps, in which packets flow, and slowly around the
		 * takeover. */
		for (unsigned k = 0; k < 20; k++, sent++) {
			cr_assert(net_send(n, 0, sent) && net_send(n, 1, sent));
			net_run(n, k < 2 ? 300 * SECOND : SECOND / 10);
		}
		dtls_stats(n->end[0].dtls, &s);
	}
	net_run(n, SECOND);
	cr_assert_geq(s.takeovers, 1000);
	cr_assert_eq(n->end[0].received, sent);
	cr_assert_eq(n->end[1].received, sent);
	cr_assert_eq(n->end[0].down + n->end[1].down, 0);
	cr_assert_eq(n->end[0].up + n->end[1].up, 2);
	net_free(n);
}

Test(dtls, takeovers_over_a_bad_network_end_no_link)
{
	struct net *n = net_plain();
	struct dtls_stats s;

	net_connect(n, 0);
	cr_assert(net_until_up(n, SECOND));
	n->loses = 20;
	n->doubles = n->delays = 20;
	for (unsigned i = 0; i < 2000; i++) {
		cr_assert(net_send(n, i % 2, i));
		net_run(n, i % 20 ? SECOND / 5 : 300 * SECOND);
	}
	dtls_stats(n->end[0].dtls, &s);
	cr_assert_geq(s.takeovers, 20);
	cr_assert_eq(n->end[0].down + n->end[1].down, 0);
	n->loses = n->doubles = n->delays = 0;
	net_run(n, 10 * SECOND);
	carries_packets(n);
	net_free(n);
}

Test(dtls, end_that_restarts_gets_a_new_connection)
{
	for (unsigned who = 0; who < 2; who++) {
		struct net *n = net_plain();

		net_connect(n, 0);
		cr_assert(net_until_up(n, SECOND));
		carries_packets(n);
		net_restart(n, who);
		net_connect(n, who);
		cr_assert(net_until_up(n, 5 * SECOND));
		net_run(n, SECOND);
		/* It speaks first: then the other end knows that it has the new keys. */
		cr_assert(net_send(n, who, 1));
		net_run(n, SECOND);
		carries_packets(n);
		net_free(n);
	}
}

/* The other end has the old keys, and speaks first. */
Test(dtls, end_that_did_not_restart_gets_new_keys_when_it_speaks)
{
	for (unsigned who = 0; who < 2; who++) {
		struct net *n = net_plain();

		net_connect(n, 0);
		cr_assert(net_until_up(n, SECOND));
		net_run(n, SECOND);
		net_restart(n, who);
		cr_assert(net_send(n, !who, 1));
		net_run(n, SECOND);
		cr_assert_eq(n->end[who].received, 0);
		cr_assert_eq(n->end[!who].up, 2, "the owner asks its associations");
		cr_assert_eq(n->end[0].down + n->end[1].down, 0);
		carries_packets(n);
		net_free(n);
	}
}

/* An end that begins again as the client has new keys, and the server seals with the old ones until
 * it knows that. */
Test(dtls, client_that_is_silent_is_understood_when_the_server_speaks)
{
	struct net *n = net_plain();

	net_connect(n, 0);
	cr_assert(net_until_up(n, SECOND));
	net_run(n, SECOND);
	net_restart(n, 0);
	net_connect(n, 0);
	net_run(n, SECOND);
	cr_assert(net_send(n, 1, 1));
	net_run(n, SECOND);
	carries_packets(n);
	net_free(n);
}

static void hint(struct net *n)
{
	uint8_t p[25] = {DTLS_HANDSHAKE, 0xfe, 0xfd, [12] = 12};
	struct span at = {p, sizeof(p)}, packet;

	cr_assert_not(dtls_input(n->end[0].dtls, &n->end[0].peer, &at, n->now_us, &packet));
}

/* Anybody can say that the peer lost its keys. */
Test(dtls, forged_hints_cost_one_handshake_in_ten_seconds_and_no_packet)
{
	struct net *n = net_plain();
	struct dtls_stats s;
	unsigned sent = 0;

	net_connect(n, 0);
	cr_assert(net_until_up(n, SECOND));
	net_run(n, SECOND);
	for (; sent < 600; sent++) {
		for (unsigned k = 0; k < 20; k++)
			hint(n);
		cr_assert(net_send(n, 0, sent) && net_send(n, 1, sent));
		net_run(n, SECOND / 10);
	}
	net_run(n, SECOND);
	dtls_stats(n->end[0].dtls, &s);
	cr_assert_leq(s.begun, 1 + 6);
	cr_assert_geq(s.begun, 1 + 5);
	cr_assert_eq(n->end[0].received, sent);
	cr_assert_eq(n->end[1].received, sent);
	cr_assert_eq(n->end[0].down + n->end[1].down, 0);
	net_free(n);
}

Test(dtls, hint_without_a_link_or_in_a_handshake_begins_nothing)
{
	struct net *n = net_plain();
	struct dtls_stats s;

	hint(n);
	net_connect(n, 0);
	hint(n);
	dtls_stats(n->end[0].dtls, &s);
	cr_assert_eq(s.begun, 1);
	net_free(n);
}

/* It learns only that there is no link, in fewer bytes than it has sent. */
Test(dtls, record_of_an_unknown_peer_makes_no_state_and_a_shorter_answer)
{
	struct net *n = net_plain();
	struct dtls *d = n->end[1].dtls;
	struct dtls_stats s;

	for (size_t len = DTLS_HEAD; len <= 100; len++) {
		uint8_t p[100], answer[DTLS_MAX_DATAGRAM];
		struct dtls_head h = {DTLS_DATA, DTLS_EPOCH, len, len - DTLS_HEAD};
		struct dtls_flow from = {.port = (uint16_t)len}, to;
		struct span at = {p, len}, packet;
		size_t got;

		memset(p, 0, sizeof(p));
		dtls_head_put(p, &h);
		cr_assert_not(dtls_input(d, &from, &at, n->now_us, &packet));
		while (dtls_output(d, &to, answer, sizeof(answer), &got))
			cr_assert_lt(got, len);
	}
	dtls_stats(d, &s);
	cr_assert_eq(s.unknown, 100 - DTLS_OVERHEAD + 1);
	cr_assert_eq(s.links + s.begun, 0);
	net_free(n);
}

Test(dtls, link_that_one_end_closes_is_down_at_the_other)
{
	struct net *n = net_plain();

	net_connect(n, 0);
	cr_assert(net_until_up(n, SECOND));
	net_run(n, SECOND);
	dtls_disconnect(n->end[0].dtls, &n->end[0].peer);
	net_run(n, SECOND);
	cr_assert_eq(n->end[1].down, 1);
	cr_assert_eq(n->end[1].closed, 1, "it may begin again");
	cr_assert_str_eq(n->end[1].reason, "the peer closed the connection");
	cr_assert(!net_send(n, 0, 1) && !net_send(n, 1, 1));
	net_free(n);
}

/* ---- somebody between ---- */

static void flip(struct net *n, unsigned number, uint8_t *p, size_t len)
{
	if (number != n->meddle_number || n->meddle_byte >= len)
		return;
	p[n->meddle_byte] ^= 0x41;
	n->meddled = true;
}

/* Each byte of each datagram is changed once. Then the link comes up without it, or not at all, and
 * no packet differs. */
Test(dtls, changed_byte_of_a_flight_changes_no_packet, .timeout = 300)
{
	struct dtls_identity *a = net_identity(-60, 3600), *b = net_identity(-60, 3600);
	bool more = true;
	unsigned runs = 0;

	for (unsigned number = 1; more; number++) {
		more = false;
		for (unsigned byte = 0;; byte += 1 + runs % 3, runs++) {
			struct net *n = net_new(dtls_identity_use(a), dtls_identity_use(b), false);

			n->meddles = flip;
			n->meddle_number = number;
			n->meddle_byte = byte;
			net_connect(n, 0);
			if (net_until_up(n, 12 * SECOND)) {
				net_run(n, SECOND);
				n->meddles = NULL;
				net_send(n, 0, 5);
				net_run(n, SECOND);
			}
			cr_assert_eq(n->end[0].wrong + n->end[1].wrong, 0);
			if (n->end[0].up && n->end[1].up && !n->end[0].down && !n->end[1].down)
				cr_assert_eq(n->end[1].received, 1);
			more |= n->meddled;
			if (!n->meddled) {
				net_free(n);
				break;
			}
			net_free(n);
		}
	}
	cr_assert_geq(runs, 500);
	dtls_identity_drop(a);
	dtls_identity_drop(b);
}

/* ---- the worker ---- */

Test(dtls, handshakes_in_a_thread_come_up_and_may_be_left_undone)
{
	struct net *n = net_new(net_identity(-60, 3600), net_identity(-60, 3600), true);

	net_connect(n, 0);
	cr_assert(net_until_up(n, 20 * SECOND), "%s", n->end[0].reason);
	net_run(n, SECOND / 100);
	carries_packets(n);
	dtls_disconnect(n->end[0].dtls, &n->end[0].peer);
	net_connect(n, 0); /* and the thread may have begun when all is freed */
	net_free(n);
}
