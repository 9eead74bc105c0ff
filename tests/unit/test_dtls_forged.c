/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: datagrams that somebody else sends during a handshake delay it and do not end it, and an
 * end that does not go on with its new keys costs the other one nothing. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/dtls_net.h"
#include "util/be.h"

#define SECOND ((uint64_t)1000000)

static struct dtls_stats stats_of(const struct net *n, unsigned i)
{
	struct dtls_stats s;

	dtls_stats(n->end[i].dtls, &s);
	return s;
}

/* ---- datagrams of somebody else ---- */

enum { BODY = 60, MESSAGE = 12, FORGED = DTLS_HEAD + MESSAGE + BODY };

enum { SERVER_HELLO = 2, CERTIFICATE = 11, HELLO_DONE = 14, KEY_EXCHANGE = 16, FINISHED = 20 };

static void inject(struct net *n, unsigned to, const uint8_t *from, size_t len)
{
	uint8_t p[FORGED];
	struct span at = {p, len}, packet;

	memcpy(p, from, len);
	cr_assert_not(dtls_input(n->end[to].dtls, &n->end[to].peer, &at, n->now_us, &packet));
}

/* A message as the next one of the peer. */
static void forge(struct net *n, unsigned to, uint8_t type, uint8_t number)
{
	/* Version, random, no session, ECDHE-ECDSA-AES128-GCM-SHA256, no compression. */
	static const uint8_t hello[] = {0xfe, 0xfd, [35] = 0xc0, 0x2b, 0};
	const struct dtls_head h = {DTLS_HANDSHAKE, 0, 7, MESSAGE + BODY};
	uint8_t p[FORGED] = {0}, *m = p + DTLS_HEAD;
	uint8_t len = type == SERVER_HELLO ? sizeof(hello) : BODY;
	struct dtls_head cut = h;

	cut.len = MESSAGE + len;
	dtls_head_put(p, &cut);
	m[0] = type;
	m[3] = m[11] = len;
	m[5] = number;
	memcpy(m + MESSAGE, hello, sizeof(hello));
	inject(n, to, p, DTLS_HEAD + cut.len);
}

/* A ServerHello of somebody else is as good as the server's own, until a signature shows that. */
Test(dtls_forged, message_of_a_handshake_delays_it, .timeout = 120)
{
	static const uint8_t type[] = {SERVER_HELLO, CERTIFICATE, HELLO_DONE, KEY_EXCHANGE,
				       FINISHED};

	for (unsigned who = 0; who < 2; who++)
		for (unsigned i = 0; i < sizeof(type); i++)
			for (uint8_t number = 0; number < 6; number++) {
				struct net *n = net_plain();

				net_connect(n, 0);
				for (unsigned k = 0; k < 20; k++) {
					forge(n, who, type[i], number);
					net_run(n, NET_DELAY_US / 2);
				}
				cr_assert(net_until_up(n, 9 * SECOND),
					  "end %u, message %u, number %u: %s", who, type[i], number,
					  n->end[0].reason);
				net_run(n, SECOND);
				net_carry(n);
				net_free(n);
			}
}

Test(dtls_forged, client_that_begins_again_does_so_with_its_pre_shared_key)
{
	const char *hex = "000102030405060708090a0b0c0d0e0f";

	for (uint8_t number = 0; number < 3; number++) {
		struct net *n = net_new(net_psk(hex), net_psk(hex), false);

		net_connect(n, 0);
		for (unsigned k = 0; k < 20; k++) {
			forge(n, 0, SERVER_HELLO, number);
			net_run(n, NET_DELAY_US / 2);
		}
		cr_assert(net_until_up(n, 9 * SECOND), "number %u: %s", number, n->end[0].reason);
		for (unsigned i = 0; i < 2; i++)
			cr_assert_eq(n->end[i].seen.psk, &n->end[i].id->psk[0]);
		net_run(n, SECOND);
		net_carry(n);
		net_free(n);
	}
}

Test(dtls_forged, messages_without_an_end_leave_nothing_behind_and_are_in_the_reason)
{
	struct net *n = net_plain();

	net_connect(n, 0);
	for (unsigned k = 0; k < 4000 && !n->end[0].down; k++) {
		forge(n, 0, SERVER_HELLO, 1);
		forge(n, 0, HELLO_DONE, 2);
		net_run(n, NET_DELAY_US / 4);
	}
	cr_assert_eq(n->end[0].down, 1);
	cr_assert_eq(n->end[0].up, 0);
	cr_assert(strstr(n->end[0].reason, "not completed in 10000 ms; the last try: "), "%s",
		  n->end[0].reason);
	cr_assert_eq(stats_of(n, 0).links, 0);
	cr_assert_eq(stats_of(n, 0).handshakes, 0);
	net_connect(n, 0);
	cr_assert(net_until_up(n, 9 * SECOND));
	net_free(n);
}

/* ---- an end that does not go on ---- */

/* Until the server of the handshake that end 0 has begun has both Finished. */
static void run_until_the_server_is_done(struct net *n)
{
	uint64_t before = stats_of(n, 1).up;

	while (stats_of(n, 1).up == before)
		net_run(n, NET_DELAY_US / 10);
}

/* No packet has to show the server that its client has the keys. */
Test(dtls_forged, server_knows_that_the_keys_work_before_there_is_a_packet)
{
	for (unsigned lost = 0; lost < 4; lost++) {
		struct net *n = net_linked();

		net_renew(n, 0);
		run_until_the_server_is_done(n);
		n->lost = lost ? n->sent + lost : 0;
		net_run(n, 3 * SECOND);
		n->lost = 0;
		cr_assert_eq(stats_of(n, 0).takeovers, 1);
		cr_assert_eq(stats_of(n, 1).takeovers, 1, "without datagram %u", lost);
		net_carry(n);
		net_free(n);
	}
}

/* How many datagrams the renewal by end 0 has, up to the last flight. */
static unsigned count_datagrams(void)
{
	struct net *n = net_linked();
	unsigned before = n->sent;

	net_renew(n, 0);
	run_until_the_server_is_done(n);
	before = n->sent - before;
	net_free(n);
	return before;
}

/* Whether the client has the last flight or not: until keys have to be replaced nobody says
 * anything. */
Test(dtls_forged, server_whose_client_is_silent_replaces_keys_in_time)
{
	unsigned last = count_datagrams();

	for (unsigned has = 0; has < 2; has++) {
		struct net *n = net_linked();
		unsigned sent;

		n->lost = has ? 0 : n->sent + last;
		net_renew(n, 0);
		run_until_the_server_is_done(n);
		n->loses = 100;
		net_run(n, 30 * SECOND);
		cr_assert_eq(stats_of(n, 0).takeovers, has);
		n->loses = 0;
		sent = n->sent;
		net_carry(n);
		cr_assert_leq(n->sent - sent, 30, "the last flight is sent without end");
		net_run(n, 800 * SECOND);
		net_carry(n);
		cr_assert_geq(stats_of(n, 1).takeovers, 1 + has);
		cr_assert_eq(stats_of(n, 1).handshakes, 0);
		cr_assert_eq(n->end[1].down, 0);
		net_free(n);
	}
}

/* Nobody else would: the client is gone. */
Test(dtls_forged, server_whose_client_stays_silent_begins_the_next_keys)
{
	struct net *n = net_linked();
	uint64_t begun;

	net_renew(n, 0);
	run_until_the_server_is_done(n);
	n->loses = 100;
	begun = stats_of(n, 1).begun;
	net_run(n, 760 * SECOND);
	cr_assert_gt(stats_of(n, 1).begun, begun);
	net_free(n);
}

/* Both renew, and the one whose hello loses hears from the other one, which refuses it. */
Test(dtls_forged, renewal_that_an_alert_ends_is_reported_to_who_has_asked)
{
	unsigned as_server = 0;

	for (unsigned i = 0; i < 30 && as_server < 3; i++) {
		struct net *n = net_linked();

		n->end[0].refuses = "another certificate";
		net_renew(n, 0);
		net_renew(n, 1);
		net_run(n, 2 * SECOND);
		/* End 1 has no new keys yet when it hears no. */
		as_server +=
			strstr(n->end[1].reason, "access denied") && stats_of(n, 1).takeovers == 0;
		cr_assert_eq(n->end[0].down, 1);
		cr_assert_geq(n->end[1].down, 1);
		net_carry(n);
		net_free(n);
	}
	cr_assert_geq(as_server, 3);
}

/* A client that was never answered shows its keys for a record that it cannot open, and not for
 * each. */
Test(dtls_forged, records_that_do_not_open_have_few_answers)
{
	static const uint8_t record[DTLS_OVERHEAD] = {
		DTLS_DATA, 0xfe, 0xfd, 0, DTLS_EPOCH, [12] = DTLS_OVERHEAD - DTLS_HEAD};
	struct net *n = net_plain();
	unsigned before;

	net_connect(n, 0);
	cr_assert(net_until_up(n, SECOND));
	net_run(n, SECOND);
	before = n->sent;
	for (unsigned i = 0; i < 100; i++)
		inject(n, 0, record, sizeof(record));
	net_run(n, 1);
	cr_assert_eq(n->sent, before + 1);
	net_carry(n);
	net_free(n);
}

/* ---- ICMP ---- */

static struct {
	size_t len;
	uint8_t p[NET_PACKET];
} hello;

static void keep_first(struct net *n, unsigned number, uint8_t *p, size_t len)
{
	(void)n, (void)number;
	if (hello.len)
		return;
	hello.len = len;
	memcpy(hello.p, p, len);
}

enum { RANDOM_AT = DTLS_HEAD + MESSAGE + 2, LEAST = RANDOM_AT + 32 };

static void unreachable(struct net *n, bool no_port, size_t len)
{
	dtls_unreachable(n->end[0].dtls, &n->end[0].peer, no_port, hello.p, len);
	net_run(n, 1);
}

Test(dtls_forged, message_that_nothing_listens_is_believed_if_it_quotes_the_hello)
{
	struct net *n = net_plain();

	n->meddles = keep_first;
	net_connect(n, 0);
	net_run(n, 1);
	hello.p[RANDOM_AT + 31] ^= 1; /* somebody guesses */
	unreachable(n, true, hello.len);
	hello.p[RANDOM_AT + 31] ^= 1;
	unreachable(n, true, LEAST - 1);
	cr_assert_not(dtls_is_unreachable(n->end[0].dtls, &n->end[0].peer));
	unreachable(n, false, LEAST);
	cr_assert(dtls_is_unreachable(n->end[0].dtls, &n->end[0].peer));
	cr_assert_eq(n->end[0].down, 0, "a host may be reached again soon");
	unreachable(n, true, LEAST);
	cr_assert_eq(n->end[0].down, 1);
	cr_assert(strstr(n->end[0].reason, "nothing listens on UDP port 5004"), "%s",
		  n->end[0].reason);
	net_free(n);
}

Test(dtls_forged, message_about_a_renewal_leaves_the_link_as_it_was)
{
	struct net *n = net_linked();

	hello.len = 0;
	n->meddles = keep_first;
	net_renew(n, 0);
	net_run(n, 1);
	unreachable(n, true, hello.len);
	cr_assert_eq(n->end[0].down, 1);
	cr_assert(dtls_is_up(n->end[0].dtls, &n->end[0].peer));
	unreachable(n, true, hello.len);
	cr_assert_eq(n->end[0].down, 1, "there is no handshake any more");
	net_carry(n);
	net_free(n);
}

static bool is_gone(struct net *n)
{
	return dtls_is_gone(n->end[0].dtls, &n->end[0].peer, n->now_us);
}

Test(dtls_forged, port_is_gone_when_nothing_arrives_for_two_seconds)
{
	struct net *n = net_linked();

	cr_assert_not(is_gone(n));
	net_run(n, 2 * SECOND - 1);
	cr_assert_not(is_gone(n));
	cr_assert(net_send(n, 1, 1));
	net_run(n, SECOND);
	cr_assert_not(is_gone(n), "something has arrived since then");
	net_run(n, 2 * SECOND);
	cr_assert(is_gone(n));
	net_free(n);
}

Test(dtls_forged, quoted_record_shows_its_packet_to_who_has_sealed_it)
{
	enum { PLAIN = 50 };
	struct net *n = net_linked();
	uint8_t plain[PLAIN], wire[PLAIN + DTLS_OVERHEAD], got[sizeof(wire)];
	struct span part = {plain, PLAIN};
	const struct net_end *e = &n->end[0];

	memset(plain, 7, PLAIN);
	cr_assert_eq(dtls_seal(e->dtls, &e->peer, &part, 1, PLAIN, wire), sizeof(wire));
	for (size_t len = 0; len <= sizeof(wire); len++) {
		size_t want = len < DTLS_HEAD + DTLS_NONCE ? 0 : len - DTLS_HEAD - DTLS_NONCE;

		want = want > PLAIN ? PLAIN : want;
		cr_assert_eq(dtls_quoted(e->dtls, &e->peer, 0, wire, len, got), want);
		cr_assert_arr_eq(got, plain, want);
		cr_assert_eq(dtls_quoted(e->dtls, &e->peer, 1, wire, len, got), 0, "no old keys");
		cr_assert_eq(dtls_quoted(e->dtls, &e->peer, 2, wire, len, got), 0);
	}
	cr_assert_eq(dtls_quoted(n->end[1].dtls, &n->end[1].peer, 0, wire, sizeof(wire), got),
		     PLAIN);
	cr_assert_neq(memcmp(got, plain, PLAIN), 0, "with other keys");
	wire[0] = DTLS_ALERT;
	cr_assert_eq(dtls_quoted(e->dtls, &e->peer, 0, wire, sizeof(wire), got), 0);
	wire[0] = DTLS_DATA;
	wire[4] = 2; /* another epoch */
	cr_assert_eq(dtls_quoted(e->dtls, &e->peer, 0, wire, sizeof(wire), got), 0);
	net_carry(n);
	net_free(n);
}

/* ---- datagrams without a record ---- */

/* In the name of anybody: no filter passes them. */
Test(dtls_forged, empty_datagram_is_counted_and_the_end_of_another_one_is_not)
{
	struct net *n = net_linked();
	const struct dtls_flow from[] = {{.port = 7}, n->end[1].peer};

	cr_assert_eq(stats_of(n, 1).unwanted[DTLS_BEGINS_SEALED], 0);
	for (unsigned i = 0; i < 2; i++) {
		uint8_t none = 0;
		struct span at = {&none, 0}, packet;

		cr_assert_not(dtls_input(n->end[1].dtls, &from[i], &at, n->now_us, &packet));
		cr_assert_eq(stats_of(n, 1).unwanted[DTLS_BEGINS_SEALED], i + 1);
		cr_assert_eq(stats_of(n, 1).malformed, i + 1);
	}
	net_carry(n);
	cr_assert_eq(stats_of(n, 1).malformed, 2);
	net_free(n);
}
