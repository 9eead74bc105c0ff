/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: RFC 9260 5.1.5 and 5.2.6: which COOKIE ECHO makes an association, which is silently
 * dropped, which is answered by Stale Cookie, and what the initiator makes of that. */
#include <criterion/criterion.h>
#include <string.h>

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

TestSuite(cookie_echo, .init = setup, .fini = teardown);

static void get_cookie(void)
{
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
}

/* rows: 9260-4-17 9260-5.1.3-02 9260-5.1.5-01 9260-5.1.5-03 9260-5.1-27 9260-8.4-06 */
Test(cookie_echo, each_changed_bit_makes_it_invalid)
{
	uint64_t memory;

	get_cookie();
	memory = sctp_memory(p.s);
	for (unsigned bit = 0; bit < p.cookie_len * 8; bit++) {
		p.cookie[bit / 8] ^= (uint8_t)(1u << bit % 8);
		peer_begin(&p);
		peer_put_cookie_echo(&p);
		peer_put_data(&p, PEER_TSN, 0, 0, 7, 4);
		peer_send(&p);
		peer_expect_nothing(&p);
		p.cookie[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	cr_assert_eq(p.incoming, 0);
	cr_assert_eq(p.messages, 0);
	cr_assert_eq(sctp_memory(p.s), memory);
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
}

/* rows: 9260-5.1.5-03 9260-3.2-14 */
Test(cookie_echo, of_another_length_is_invalid)
{
	uint32_t len;

	get_cookie();
	len = p.cookie_len;
	for (p.cookie_len = 0; p.cookie_len < len + 64; p.cookie_len++) {
		if (p.cookie_len == len)
			continue;
		peer_send_cookie_echo(&p);
		peer_expect_nothing(&p);
	}
	cr_assert_eq(p.incoming, 0);
}

/* rows: 9260-5.1.5-04 9260-5.1.3-04 9260-8.5.1-16 9260-5.2.4-02 */
Test(cookie_echo, with_other_ports_or_tag_is_dropped)
{
	get_cookie();
	p.port++;
	peer_send_cookie_echo(&p);
	p.port--;
	p.stack_port++;
	peer_send_cookie_echo(&p);
	p.stack_port--;
	p.stack_tag++;
	peer_send_cookie_echo(&p);
	peer_expect_nothing(&p);
	cr_assert_eq(p.incoming, 0);
	p.stack_tag--;
	peer_send_cookie_echo(&p);
	cr_assert_eq(p.incoming, 1);
}

/* rows: 9260-16-07 9260-5.1.3-03 9260-5.1.3-09 */
Test(cookie_echo, of_59_seconds_is_valid)
{
	get_cookie();
	peer_advance(&p, 59 * PEER_SECOND);
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.incoming, 1);
}

/* rows: 9260-4-18 9260-5.1.5-05 9260-5.1.5-06 9260-16-07 9260-3.3.10.3-01 9260-3.3.10.3-02
 * 9260-5.1.3-03 */
Test(cookie_echo, of_61_seconds_is_stale)
{
	struct sctp_error e;

	get_cookie();
	peer_advance(&p, 61 * PEER_SECOND);
	peer_begin(&p);
	peer_put_cookie_echo(&p);
	peer_put_data(&p, PEER_TSN, 0, 0, 7, 4);
	peer_send(&p);
	e = peer_expect_cause(&p, SCTP_ERROR, SCTP_CAUSE_STALE_COOKIE);
	cr_assert_eq(p.head.tag, PEER_TAG);
	cr_assert(sctp_addr_equal(&p.pkt->to.peer, &p.from.peer));
	cr_assert_eq(e.len, 4);
	cr_assert_eq(be_get32(e.p), PEER_SECOND);
	cr_assert_eq(p.incoming, 0);
	cr_assert_eq(p.messages, 0);
}

/* rows: 9260-5.1.5-02 9260-5.1.3-09 9260-5.1.3-10 9260-5.1.5-13 */
Test(cookie_echo, of_a_key_that_is_gone_is_dropped)
{
	get_cookie();
	for (unsigned i = 0; i < 4; i++) {
		peer_advance(&p, 61 * PEER_SECOND);
		peer_send_init(&p);
		peer_expect(&p, SCTP_INIT_ACK);
	}
	peer_send_cookie_echo(&p);
	peer_expect_nothing(&p);
	cr_assert_eq(p.incoming, 0);
}

/* rows: 9260-5.1.5-15 9260-5.4-02 9260-5.4-16 9260-5.4-17 9260-5.4-18 */
Test(cookie_echo, may_come_from_another_listed_address)
{
	const struct sctp_addr other = peer_addr(1);
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_addr(&p, &other);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	p.from.peer = other;
	p.from.udp_port = 777;
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.pkt->to.peer.ip[14], 0, "the confirmed address is the first one");
	cr_assert_eq(p.pkt->to.udp_port, PEER_UDP);
	cr_assert_eq(p.incoming, 1);
	cr_assert_eq(peer_path_state(&p, 0), SCTP_PATH_ACTIVE);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_UNCONFIRMED);
}

/* rows: 9260-5.2.4-23 9260-5.2.4-05 9260-5.2.4-24 9260-12.2.4.1-03 9260-5.1.5-14 */
Test(cookie_echo, that_comes_again_is_acknowledged_again)
{
	peer_connect(&p);
	peer_begin(&p);
	peer_put_cookie_echo(&p);
	peer_put_data(&p, PEER_TSN, 0, 0, 7, 4);
	peer_send(&p);
	cr_assert_eq(peer_drain(&p, SCTP_COOKIE_ACK), 1);
	cr_assert_eq(p.messages, 1);
	/* The COOKIE ACK was lost, and the cookie is old by now: both tags fit. */
	peer_advance(&p, 100 * PEER_SECOND);
	peer_drain(&p, SCTP_HEARTBEAT);
	peer_begin(&p);
	peer_put_cookie_echo(&p);
	peer_put_data(&p, PEER_TSN, 0, 0, 7, 4);
	peer_send(&p);
	cr_assert(peer_next(&p));
	cr_assert_eq(p.chunk[0].type, SCTP_COOKIE_ACK);
	if (p.n == 1)
		peer_expect(&p, SCTP_SACK);
	cr_assert_eq(be_get16(peer_find(&p, SCTP_SACK)->p + 14), 1, "the duplicate is reported");
	cr_assert_eq(p.messages, 1);
	cr_assert_eq(p.incoming, 1);
}

/* rows: 9260-3.2-09 9260-3.3.11-06 9260-3.3.12-03 */
Test(cookie_echo, flags_mean_nothing)
{
	get_cookie();
	peer_send_chunk(&p, SCTP_COOKIE_ECHO, 0xff, p.cookie, p.cookie_len);
	peer_expect(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.chunk[0].len, 4);
}

/* rows: 9260-5.1.3-11 */
Test(cookie_echo, cookie_has_no_tags_of_an_association)
{
	uint32_t own;
	uint8_t tag[4];

	peer_connect(&p);
	own = p.stack_tag;
	p.tag = 4711;
	get_cookie();
	be_put32(tag, own);
	for (uint32_t i = 0; i + 4 <= p.cookie_len; i++)
		cr_assert_neq(memcmp(p.cookie + i, tag, 4), 0);
	be_put32(tag, PEER_TAG);
	for (uint32_t i = 0; i + 4 <= p.cookie_len; i++)
		cr_assert_neq(memcmp(p.cookie + i, tag, 4), 0);
}

/* rows: 9260-3.3.11-05 */
Test(cookie_echo, cookie_with_8_addresses_is_small)
{
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	for (unsigned i = 0; i < 8; i++) {
		const struct sctp_addr a = peer_addr(i);

		peer_put_addr(&p, &a);
	}
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert_lt(p.cookie_len, 400);
	cr_assert_lt(p.pkt->len, 1280 - 48);
}

/* ---- Stale Cookie arrives ---- */

static void send_stale(void)
{
	static const uint8_t cause[] = {0, 3, 0, 8, 0, 0, 0, 1};

	peer_send_chunk(&p, SCTP_ERROR, 0, cause, sizeof(cause));
}

/* rows: 9260-5.2.6-01 9260-5.2.6-03 9260-3.3.2.1.3-02 */
Test(cookie_echo, stale_cookie_leads_to_one_more_init)
{
	uint32_t tag;

	peer_stack_connects(&p, 1);
	tag = p.stack_tag;
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	send_stale();
	peer_learn(&p, peer_expect(&p, SCTP_INIT));
	cr_assert_eq(p.stack_tag, tag);
	/* T1-cookie is off: what is repeated is INIT. */
	peer_advance(&p, PEER_SECOND);
	peer_expect(&p, SCTP_INIT);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	send_stale();
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_NO_ANSWER);
	cr_assert_eq(p.last_down.cause, SCTP_CAUSE_STALE_COOKIE);
}

/* rows: 9260-5.2.6-01 9260-5.2.6-02 */
Test(cookie_echo, stale_cookie_is_ignored_in_other_states)
{
	static const enum sctp_state states[] = {SCTP_COOKIE_WAIT,       SCTP_ESTABLISHED,
						 SCTP_SHUTDOWN_PENDING,  SCTP_SHUTDOWN_SENT,
						 SCTP_SHUTDOWN_RECEIVED, SCTP_SHUTDOWN_ACK_SENT};

	for (unsigned i = 0; i < 6; i++) {
		peer_bring_to(&p, states[i]);
		send_stale();
		peer_expect_nothing(&p);
		cr_assert_eq(p.down, 0, "state %u", states[i]);
		peer_forget(&p);
	}
}

/* rows: 9260-5.2.5-01 */
Test(cookie_echo, cookie_ack_is_ignored_in_other_states)
{
	static const enum sctp_state states[] = {SCTP_COOKIE_WAIT,       SCTP_ESTABLISHED,
						 SCTP_SHUTDOWN_PENDING,  SCTP_SHUTDOWN_SENT,
						 SCTP_SHUTDOWN_RECEIVED, SCTP_SHUTDOWN_ACK_SENT};

	for (unsigned i = 0; i < 6; i++) {
		peer_bring_to(&p, states[i]);
		peer_send_plain(&p, SCTP_COOKIE_ACK);
		peer_expect_nothing(&p);
		cr_assert_eq(p.down + p.up, 0, "state %u", states[i]);
		peer_forget(&p);
	}
}

/* ---- a listener that has changed since INIT ACK ---- */

static void listen_again(const uint8_t *local, unsigned n)
{
	p.listener = sctp_unlisten(p.s, p.listener);
	cr_assert_eq(sctp_listen(p.s, local, n, n > 0, PEER_STACK, NULL, &p.listener), SCTP_E_OK);
}

Test(cookie_echo, after_which_the_listener_names_no_addresses)
{
	get_cookie();
	listen_again(NULL, 0);
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.incoming, 1);
	peer_send_data(&p, 4);
	peer_expect(&p, SCTP_SACK);
}

Test(cookie_echo, of_a_peer_that_restarts_while_the_listener_names_no_addresses)
{
	peer_connect(&p);
	listen_again(NULL, 0);
	p.tag = 4711;
	get_cookie();
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.incoming, 2);
}

/* The address that INIT was sent to is gone, and one of the other family has its place. */
Test(cookie_echo, without_an_address_of_ours_for_the_peer_is_refused)
{
	const struct sctp_addr other = {.ip = {0x20, 1, [15] = 1}};

	listen_again(NULL, 0);
	get_cookie();
	sctp_drop_local(p.s, 0);
	sctp_set_local(p.s, 0, &other);
	peer_send_cookie_echo(&p);
	peer_expect_cause(&p, SCTP_ABORT, SCTP_CAUSE_RESOURCE);
	cr_assert_eq(p.incoming, 0);
}
