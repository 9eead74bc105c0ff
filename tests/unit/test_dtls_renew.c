/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a link that is up keeps its keys until others work at both ends, and nobody who can only
 * send or repeat datagrams takes them from programs. */
#include <criterion/criterion.h>
#include <string.h>

#include "llp/dtls/dtls_cookie.h"
#include "llp/dtls/dtls_record.h"
#include "tests/unit/dtls_net.h"

#define SECOND ((uint64_t)1000000)

/* What was sealed before and meanwhile arrives, and so does all after it. */
Test(dtls_renew, link_is_renewed_while_packets_go_on)
{
	struct net *n = net_plain();
	struct dtls_stats s;

	net_connect(n, 0);
	cr_assert(net_until_up(n, SECOND));
	net_carry(n);
	for (unsigned who = 0; who < 2; who++) {
		unsigned before = n->end[!who].received;

		for (unsigned i = 0; i < 50; i++) {
			if (i == 20 || i == 21)
				cr_assert_eq(
					dtls_renew(n->end[who].dtls, &n->end[who].peer, n->now_us),
					0);
			cr_assert(net_send(n, who, i));
			net_run(n, NET_DELAY_US / 4);
		}
		net_run(n, SECOND);
		cr_assert_eq(n->end[!who].received, before + 50);
		cr_assert_eq(n->end[who].up, 2, "an event, also of two calls");
		dtls_stats(n->end[who].dtls, &s);
		cr_assert_eq(s.takeovers, 1 + who);
		net_carry(n);
	}
	cr_assert_eq(n->end[0].down + n->end[1].down, 0);
	net_free(n);
}

Test(dtls_renew, link_that_cannot_be_renewed_is_as_before)
{
	for (unsigned who = 0; who < 2; who++) {
		struct net *n = net_plain();

		net_connect(n, 0);
		cr_assert(net_until_up(n, SECOND));
		net_carry(n);
		n->end[!who].refuses = "another certificate";
		cr_assert_eq(dtls_renew(n->end[who].dtls, &n->end[who].peer, n->now_us), 0);
		net_run(n, 2 * SECOND);
		cr_assert_eq(n->end[who].down, 1, "who has asked learns it");
		cr_assert_eq(n->end[who].refused, 1);
		cr_assert_eq(n->end[!who].down, 0);
		net_carry(n);
		net_free(n);
	}
}

/* ---- datagrams of somebody else ---- */

static struct {
	size_t len;
	uint8_t p[NET_PACKET];
} hello;

enum { TYPE = DTLS_HEAD, CLIENT_HELLO = 1 };

static void keep_hello(struct net *n, unsigned number, uint8_t *p, size_t len)
{
	(void)n, (void)number;
	if (hello.len || p[0] != DTLS_HANDSHAKE || p[TYPE] != CLIENT_HELLO)
		return;
	hello.len = len;
	memcpy(hello.p, p, len);
}

static void inject(struct net *n, unsigned to, const uint8_t *from, size_t len)
{
	uint8_t p[NET_PACKET];
	struct span at = {p, len}, packet;

	memcpy(p, from, len);
	cr_assert_not(dtls_input(n->end[to].dtls, &n->end[to].peer, &at, n->now_us, &packet));
}

/* The client seals with the new keys, and the server does not know that yet. Somebody who sees and
 * sends datagrams repeats its hello, or sends another one and the cookie for that. */
static void repeat_hello(bool change)
{
	struct net *n = net_linked();

	hello.len = 0;
	n->meddles = keep_hello;
	net_renew(n, 0);
	while (n->end[0].up < 2)
		net_run(n, NET_DELAY_US / 10);
	n->meddles = NULL;
	hello.p[NET_RANDOM_AT] ^= change;
	net_begin_from(n, hello.p, hello.len, &n->end[1].peer);
	net_carry(n);
	net_run(n, 20 * SECOND);
	net_carry(n);
	cr_assert_eq(n->end[0].down + n->end[1].down, 0);
	net_free(n);
}

Test(dtls_renew, repeated_hello_takes_no_keys)
{
	repeat_hello(false);
}

Test(dtls_renew, hello_of_somebody_else_takes_no_keys)
{
	repeat_hello(true);
}

static uint64_t begun_by(const struct net *n, unsigned who)
{
	struct dtls_stats s;

	dtls_stats(n->end[who].dtls, &s);
	return s.begun;
}

/* Nor does one of a handshake that is over cost another one. */
Test(dtls_renew, hello_of_the_link_that_is_up_begins_no_handshake)
{
	struct net *n = net_plain();

	hello.len = 0;
	n->meddles = keep_hello;
	net_connect(n, 0);
	cr_assert(net_until_up(n, SECOND));
	n->meddles = NULL;
	net_carry(n);
	net_begin_from(n, hello.p, hello.len, &n->end[1].peer);
	cr_assert_eq(begun_by(n, 1), 1);
	net_free(n);
}

Test(dtls_renew, alert_in_clear_text_ends_no_handshake)
{
	static const uint8_t alert[] = {DTLS_ALERT, 0xfe, 0xfd, [10] = 5, [12] = 2, 2, 40};

	for (unsigned who = 0; who < 2; who++) {
		struct net *n = net_plain();

		net_connect(n, 0);
		for (unsigned i = 0; i < 100 && !n->end[who].up; i++) {
			inject(n, who, alert, sizeof(alert));
			net_run(n, NET_DELAY_US / 2);
		}
		net_run(n, SECOND);
		net_carry(n);
		cr_assert_eq(n->end[0].down + n->end[1].down, 0);
		net_free(n);
	}
}

/* What the peer says in clear text is in the reason, after the time of a handshake. */
Test(dtls_renew, alert_in_clear_text_is_in_the_reason_when_the_time_is_over)
{
	static const uint8_t alert[] = {DTLS_ALERT, 0xfe, 0xfd, [10] = 5, [12] = 2, 2, 40};
	struct net *n = net_plain();

	n->loses = 100;
	net_connect(n, 0);
	inject(n, 0, alert, sizeof(alert));
	net_run(n, 11 * SECOND);
	cr_assert_eq(n->end[0].down, 1);
	cr_assert(strstr(n->end[0].reason, "in 10000 ms; the peer sent alert 40"), "%s",
		  n->end[0].reason);
	net_free(n);
}

/* ---- a client that is gone ---- */

static unsigned ups(struct net *n)
{
	struct dtls_stats s;

	dtls_stats(n->end[1].dtls, &s);
	return (unsigned)s.up;
}

/* The server has new keys, and the client restarts before it knows that: they are never proven. */
static struct net *leave_unproven(void)
{
	struct net *n = net_linked();

	net_renew(n, 0);
	for (unsigned i = 0; ups(n) < 2; i++) {
		cr_assert_lt(i, 100);
		net_run(n, NET_DELAY_US / 10);
	}
	cr_assert_eq(n->end[0].up, 1);
	net_restart(n, 0);
	return n;
}

Test(dtls_renew, keys_that_are_never_proven_do_not_keep_us_from_others)
{
	for (unsigned hint = 0; hint < 2; hint++) {
		struct net *n = leave_unproven();
		unsigned before = n->end[1].up;

		if (hint)
			cr_assert(net_send(n, 1, 1));
		else
			net_renew(n, 1);
		net_run(n, SECOND);
		cr_assert_gt(n->end[1].up, before, "%s", hint ? "by a hint" : "by a renewal");
		net_carry(n);
		net_free(n);
	}
}

/* ---- a link that ends ---- */

static uint64_t takeovers(const struct net *n, unsigned i)
{
	struct dtls_stats s;

	dtls_stats(n->end[i].dtls, &s);
	return s.takeovers;
}

/* It closes a connection that was taken over, and the one that seals: the events of the second one
 * were not fetched before the first one arrives. */
Test(dtls_renew, link_that_is_closed_with_all_its_keys_may_begin_again)
{
	struct net *n = net_linked();
	uint8_t p[2][DTLS_MAX_DATAGRAM];
	size_t len[2];
	struct dtls_flow to;
	struct dtls_event e;

	net_renew(n, 0);
	for (unsigned i = 0; takeovers(n, 1) == 0; i++) {
		cr_assert_lt(i, 100);
		net_run(n, NET_DELAY_US / 10);
	}
	n->now_us += 2 * SECOND - NET_DELAY_US / 4;
	dtls_run(n->end[0].dtls, n->now_us);
	dtls_disconnect(n->end[0].dtls, &n->end[0].peer);
	for (unsigned i = 0; i < 2; i++)
		cr_assert(dtls_output(n->end[0].dtls, &to, p[i], sizeof(p[i]), &len[i]));
	for (unsigned i = 2; i-- > 0;)
		inject(n, 1, p[i], len[i]);
	cr_assert(dtls_event(n->end[1].dtls, &e));
	cr_assert(!e.up && e.closed, "%s", e.reason);
	net_free(n);
}

static uint64_t failures(const struct net *n, unsigned i)
{
	struct dtls_stats s;

	dtls_stats(n->end[i].dtls, &s);
	return s.failed;
}

/* The peer refuses new keys, and closes the link before anybody has fetched that. */
Test(dtls_renew, refusal_that_waits_is_reported_whatever_follows)
{
	struct net *n = net_linked();
	uint8_t p[DTLS_MAX_DATAGRAM];
	struct dtls_event e;
	struct dtls_flow to;
	size_t len;

	n->end[1].refuses = "another certificate";
	net_renew(n, 0);
	for (unsigned i = 0; failures(n, 1) == 0; i++) {
		cr_assert_lt(i, 100);
		net_run(n, NET_DELAY_US / 10);
	}
	dtls_disconnect(n->end[1].dtls, &n->end[1].peer);
	cr_assert(dtls_output(n->end[1].dtls, &to, p, sizeof(p), &len));
	net_arrive(n);
	inject(n, 0, p, len);
	while (dtls_event(n->end[0].dtls, &e) && e.up)
		;
	cr_assert(!e.up && e.refused && !e.closed, "%s", e.reason);
	cr_assert(strstr(e.reason, "access denied"), "%s", e.reason);
	cr_assert_not(dtls_is_up(n->end[0].dtls, &n->end[0].peer));
	net_free(n);
}
