/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the handshake of RFC 9260 5.1 in both roles: what INIT, INIT ACK, COOKIE ECHO and COOKIE
 * ACK say, their timers, and what the users learn. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/peer.h"
#include "util/be.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(setup, .init = setup, .fini = teardown);

/* ---- INIT ---- */

/* rows: 9260-3.1-05 9260-3.3.2-24 9260-3.3.2-28 9260-3.3.2-18 9260-5.1-01 9260-5.1-03 9260-5.1-19
 * 9260-5.1.1-01 9260-8.5.1-01 9260-12.3-01 9260-12.3-02 9260-3.3.2-05 9260-3.3.2-06
 * 9260-3.3.2.1.4-01 9260-3.3.2.1.2-08 9260-3-01 */
Test(setup, init_is_alone_and_says_what_was_configured)
{
	const struct sctp_chunk *c;

	peer_stack_connects(&p, 1);
	c = &p.chunk[0];
	cr_assert_eq(p.head.tag, 0);
	cr_assert_eq(p.n, 1);
	cr_assert_neq(p.stack_tag, 0);
	cr_assert_eq(p.stack_rwnd, p.cfg.recv_buffer);
	cr_assert_eq(p.stack_out, p.cfg.streams);
	cr_assert_eq(p.stack_in, p.cfg.streams);
	cr_assert_null(peer_param(c, SCTP_PARAM_HOST_NAME, 0, NULL));
	cr_assert_null(peer_param(c, SCTP_PARAM_ECN, 0, NULL));
	cr_assert_null(peer_param(c, SCTP_PARAM_IPV4, 0, NULL), "one address needs no list");
}

/* rows: 9260-3.3.2-18 9260-3.3.2-24 9260-3.3.2-28 9260-3.3.3-14 9260-3.3.3-20 9260-3.3.3-25 */
Test(setup, smallest_configuration_is_still_valid)
{
	struct sctp_config c = peer_config(&p, 1);

	c.streams = 0;
	c.recv_buffer = 0;
	peer_deinit(&p);
	peer_init_cfg(&p, &c);
	peer_stack_connects(&p, 1);
	cr_assert(p.stack_rwnd >= 1500 && p.stack_out >= 1 && p.stack_in >= 1);
	p.stack_port = PEER_STACK;
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert(p.stack_rwnd >= 1500 && p.stack_out >= 1 && p.stack_in >= 1);
}

/* rows: 9260-3.3.2-02 9260-3.2.1-15 */
Test(setup, init_has_each_parameter_once)
{
	struct sctp_cursor at;
	struct sctp_chunk param;
	uint8_t seen[65536] = {0};

	peer_stack_connects(&p, 1);
	at = (struct sctp_cursor){p.chunk[0].p + 20, p.chunk[0].p + p.chunk[0].len};
	while (sctp_chunk_next(&at, &param) == SCTP_NEXT_OK) {
		cr_assert_eq(seen[be_get16(param.p)]++, 0);
		cr_assert_neq(be_get16(param.p), 65535);
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void expect_all_differ(uint32_t *v, unsigned n)
{
	uint32_t all_or = 0, all_and = UINT32_MAX;

	for (unsigned i = 0; i < n; i++) {
		all_or |= v[i];
		all_and &= v[i];
	}
	cr_assert_eq(all_or, UINT32_MAX, "a bit is never set");
	cr_assert_eq(all_and, 0, "a bit is always set");
	qsort(v, n, sizeof(*v), compare);
	for (unsigned i = 1; i < n; i++)
		cr_assert_neq(v[i], v[i - 1]);
}

/* rows: 9260-3.3.2-32 9260-5.1-02 9260-5.3.1-01 9260-5.3.1-03 */
Test(setup, tags_and_tsns_of_the_initiator_are_random)
{
	static uint32_t tag[1000], tsn[1000];

	for (unsigned i = 0; i < 1000; i++) {
		peer_stack_connects(&p, 1);
		cr_assert_neq(p.stack_tag, 0);
		tag[i] = p.stack_tag;
		tsn[i] = p.stack_tsn;
		p.assoc = sctp_assoc_free(p.assoc);
	}
	expect_all_differ(tag, 1000);
	expect_all_differ(tsn, 1000);
}

/* rows: 9260-3.3.3-29 9260-5.1-07 9260-5.3.1-01 */
Test(setup, tags_and_tsns_of_the_responder_are_random)
{
	static uint32_t tag[1000], tsn[1000];

	for (unsigned i = 0; i < 1000; i++) {
		peer_send_init(&p);
		peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
		cr_assert_neq(p.stack_tag, 0);
		tag[i] = p.stack_tag;
		tsn[i] = p.stack_tsn;
	}
	expect_all_differ(tag, 1000);
	expect_all_differ(tsn, 1000);
}

/* rows: 9260-3.3.2-16 9260-3.3.3-10 */
Test(setup, a_tag_is_never_0)
{
	p.zeros = 1000;
	peer_stack_connects(&p, 1);
	cr_assert_neq(p.stack_tag, 0);
	p.stack_port = PEER_STACK;
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert_neq(p.stack_tag, 0);
}

/* ---- the initiator ---- */

/* rows: 9260-3.1-04 9260-3.3.3-09 9260-3.3.3-31 9260-5.1-10 9260-5.1-12 9260-5.1-18 9260-5.1.4-01
 * 9260-8.5-01 9260-8.5.1-15 9260-3.2.2-05 9260-5.1-17 9260-3.3.2-15 9260-4-05 9260-4-06 */
Test(setup, initiator_answers_init_ack_at_once)
{
	peer_stack_connects(&p, 1);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	cr_assert_eq(p.pkt->at_us, p.now);
	cr_assert_eq(p.head.tag, p.tag);
	cr_assert_eq(p.up, 0);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.up, 1);
	/* Nothing of the handshake is sent later. */
	peer_advance(&p, 20 * PEER_SECOND);
	peer_expect_nothing(&p);
	cr_assert_eq(peer_stack_sends(&p, 0, 1), SCTP_E_OK);
	peer_expect(&p, SCTP_DATA);
	cr_assert_eq(p.head.tag, p.tag);
}

/* rows: 9260-3.3.11-04 9260-3.3.11-01 9260-5.1.3-06 9260-3.3.3-30 */
Test(setup, initiator_returns_the_exact_cookie)
{
	static const uint32_t lens[] = {1, 5, 100, 1300, 4000, 8000};
	static uint8_t cookie[8000];

	for (unsigned i = 0; i < sizeof(cookie); i++)
		cookie[i] = (uint8_t)(i * 7 + 1);
	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		const struct sctp_chunk *c;
		uint32_t at;

		peer_stack_connects(&p, 1);
		peer_begin(&p);
		at = peer_begin_init(&p, SCTP_INIT_ACK);
		peer_put_param(&p, SCTP_PARAM_COOKIE, cookie, lens[i]);
		peer_end_chunk(&p, at);
		peer_send(&p);
		c = peer_expect(&p, SCTP_COOKIE_ECHO);
		cr_assert_eq(c->len, 4 + lens[i]);
		cr_assert_arr_eq(c->p + 4, cookie, lens[i]);
		p.assoc = sctp_assoc_free(p.assoc);
		peer_poll(&p);
		peer_drain(&p, SCTP_ABORT);
	}
}

/* Takes repetitions until the association ends: the delay doubles up to RTO.Max. */
static void expect_repetitions(uint8_t type, unsigned count)
{
	static uint8_t first[SCTP_MAX_PACKET];
	uint32_t len = p.pkt->len;
	uint64_t last = p.pkt->at_us, gap = PEER_SECOND;

	memcpy(first, p.pkt->data, len);
	peer_advance(&p, 1000ull * PEER_SECOND);
	for (unsigned i = 0; i < count; i++) {
		peer_expect(&p, type);
		cr_assert_eq(p.pkt->at_us - last, gap, "repetition %u after %lu us", i,
			     (unsigned long)(p.pkt->at_us - last));
		cr_assert_eq(p.pkt->len, len);
		cr_assert_arr_eq(p.pkt->data, first, len);
		last = p.pkt->at_us;
		gap = gap * 2 > 60 * PEER_SECOND ? 60 * PEER_SECOND : gap * 2;
	}
	peer_expect_nothing(&p);
	cr_assert_eq(p.down, 1);
	cr_assert_eq(p.last_down.end, SCTP_END_NO_ANSWER);
}

/* rows: 9260-4-04 9260-4-19 9260-4-20 9260-4-21 9260-5.1-21 9260-5.1.6-01 9260-5.1.6-02
 * 9260-5.1.6-03 9260-16-10 9260-3.1-05 */
Test(setup, init_is_repeated_8_times)
{
	peer_stack_connects(&p, 1);
	expect_repetitions(SCTP_INIT, 8);
}

/* rows: 9260-4-22 9260-4-23 9260-4-24 9260-5.1-21 9260-5.1.4-03 9260-5.1.4-04 9260-5.1.4-05
 * 9260-5.1.6-01 9260-5.1.6-03 */
Test(setup, cookie_echo_is_repeated_8_times)
{
	peer_stack_connects(&p, 1);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	expect_repetitions(SCTP_COOKIE_ECHO, 8);
}

/* rows: 9260-5.1-13 9260-5-01 9260-3.3.11-02 9260-3.3.11-03 */
Test(setup, nothing_but_cookie_echo_goes_out_before_cookie_ack)
{
	peer_stack_connects(&p, 1);
	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_DOWN);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	cr_assert_eq(peer_stack_sends(&p, 0, 10), SCTP_E_DOWN);
	/* A peer that has COOKIE ECHO may begin to talk; COOKIE ACK was lost. */
	peer_send_data(&p, 10);
	peer_send_chunk(&p, 0xc1, 0, NULL, 0);
	peer_advance(&p, 10 * PEER_SECOND);
	cr_assert_eq(peer_drain(&p, SCTP_COOKIE_ECHO), 3);
	cr_assert_eq(p.messages, 0);
}

static bool all_cookie_echo(void)
{
	while (peer_next(&p))
		if (p.chunk[0].type != SCTP_COOKIE_ECHO)
			return false;
	return true;
}

/* rows: 9260-5.1-13 */
Test(setup, no_chunk_is_answered_before_cookie_ack)
{
	peer_stack_connects(&p, 1);
	peer_send_init_ack(&p);
	for (unsigned type = 0; type < 256; type++) {
		if (type == SCTP_INIT || type == SCTP_ABORT || type == SCTP_COOKIE_ACK ||
		    type == SCTP_SHUTDOWN_ACK || type == SCTP_COOKIE_ECHO || type == SCTP_HEARTBEAT)
			continue;
		peer_send_chunk(&p, (uint8_t)type, 0, "\0\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0", 16);
		cr_assert(all_cookie_echo(), "chunk %u is answered", type);
	}
}

/* ---- the responder ---- */

/* rows: 9260-4-02 9260-4-03 9260-5.1-04 9260-5.1-05 9260-5.1-06 9260-5.1-07 9260-5.1-08 9260-5.1-14
 * 9260-5.1-16 9260-5.1.2-11 9260-5.1.3-01 9260-5.1.5-07 9260-5.1.5-08 9260-3.3.2-10 9260-8.4-04
 * 9260-8.4-06 9260-8.5.1-02 9260-3.3.3-04 9260-3.3.3.1-01 9260-3.3.2-15 9260-12.2.4.2-01 */
Test(setup, responder_answers_at_once_and_keeps_nothing)
{
	uint64_t before = sctp_memory(p.s);

	p.from.udp_port = 12345;
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert_eq(p.pkt->at_us, p.now);
	cr_assert_eq(p.head.tag, p.tag);
	cr_assert_eq(p.pkt->to.udp_port, 12345);
	cr_assert(sctp_addr_equal(&p.pkt->to.peer, &p.from.peer));
	cr_assert_null(peer_param(&p.chunk[0], SCTP_PARAM_HOST_NAME, 0, NULL));
	cr_assert_eq(sctp_memory(p.s), before);
	cr_assert_eq(p.incoming, 0);
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(p.head.tag, p.tag);
	cr_assert_eq(p.pkt->at_us, p.now);
	cr_assert_eq(p.incoming, 1);
}

/* rows: 9260-4-02 9260-5.1-09 9260-12.2.4.1-01 9260-8.4-13 */
Test(setup, a_flood_of_init_leaves_nothing)
{
	uint64_t before = sctp_memory(p.s);
	size_t allocated = p.allocated;

	for (unsigned i = 0; i < 100000; i++) {
		p.from.peer.ip[14] = (uint8_t)(i >> 8);
		p.from.peer.ip[13] = (uint8_t)(i >> 16);
		p.from.peer.ip[12] = 11;
		p.port = (uint16_t)(i % 60000 + 1);
		p.now += 10;
		peer_send_init(&p);
		peer_expect(&p, SCTP_INIT_ACK);
	}
	cr_assert_eq(sctp_memory(p.s), before);
	cr_assert_eq(p.allocated, allocated);
}

/* rows: 9260-3.3.3.1.1-01 9260-5.1-09 9260-5.1.3-05 9260-5.1.5-07 9260-3.3.3-29 9260-5.1.2-05 */
Test(setup, the_cookie_alone_restores_the_association)
{
	struct sctp_path_info path[SCTP_MAX_PATHS];
	struct sctp_addr other = peer_addr(7);
	struct sctp_info i;
	uint32_t at;

	p.in_streams = 7;
	p.rwnd = 54321;
	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	peer_put_addr(&p, &other);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_send_cookie_echo(&p);
	cr_assert_eq(p.incoming, 1);
	i = peer_info(&p);
	cr_assert_eq(i.streams, 7);
	cr_assert_eq(i.peer_rwnd, 54321);
	cr_assert_eq(i.peer_port, PEER_PORT);
	cr_assert_eq(i.local_port, PEER_STACK);
	cr_assert_eq(sctp_assoc_paths(p.assoc, path), 2);
	peer_drain(&p, SCTP_COOKIE_ACK);
	/* The TSNs of INIT and INIT ACK are the first ones. */
	peer_send_data(&p, 4);
	cr_assert_eq(be_get32(peer_expect(&p, SCTP_SACK)->p + 4), PEER_TSN);
	cr_assert_eq(p.messages, 1);
	peer_stack_sends(&p, 0, 4);
	cr_assert_eq(be_get32(peer_expect(&p, SCTP_DATA)->p + 4), p.stack_tsn);
	cr_assert_eq(p.head.tag, p.tag);
}

/* rows: 9260-5.1-28 9260-5.1-29 9260-5.1.5-12 */
Test(setup, first_data_is_acknowledged_at_once_in_both_roles)
{
	for (int role = 0; role < 2; role++) {
		if (role)
			peer_accept(&p);
		else
			peer_connect(&p);
		peer_send_data(&p, 10);
		peer_expect(&p, SCTP_SACK);
		peer_send_data(&p, 10);
		peer_expect_nothing(&p);
		peer_advance(&p, 200000);
		peer_expect(&p, SCTP_SACK);
		peer_send_data(&p, 10);
		peer_send_data(&p, 10);
		peer_expect(&p, SCTP_SACK);
		p.assoc = sctp_assoc_free(p.assoc);
		peer_poll(&p);
		peer_drain(&p, SCTP_ABORT);
		p.tsn = PEER_TSN;
	}
}

/* rows: 9260-5.1.5-11 9260-5.1.5-10 9260-3.3.12-01 9260-3.3.12-02 9260-5.1-15 9260-5.1.5-09 */
Test(setup, data_behind_cookie_echo_is_taken)
{
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_begin(&p);
	peer_put_cookie_echo(&p);
	peer_put_data(&p, PEER_TSN, 0, 0, 7, 10);
	peer_put_data(&p, PEER_TSN + 1, 0, 0, 7, 10);
	peer_send(&p);
	cr_assert_eq(p.messages, 2);
	cr_assert(peer_next(&p));
	cr_assert_eq(p.chunk[0].type, SCTP_COOKIE_ACK);
	if (p.n == 1)
		peer_expect(&p, SCTP_SACK);
	cr_assert_eq(be_get32(peer_find(&p, SCTP_SACK)->p + 4), PEER_TSN + 1);
}

/* rows: 9260-3.3.2-33 9260-14.2-02 9260-3.3.4-04 */
Test(setup, first_tsn_may_be_0_or_the_highest)
{
	static const uint32_t tsns[] = {0, UINT32_MAX, 0x7fffffff, 0x80000000};

	for (unsigned i = 0; i < 4; i++) {
		p.tsn = tsns[i];
		p.incoming = 0;
		peer_connect(&p);
		p.tsn++;
		peer_send_data(&p, 4);
		cr_assert_eq(be_get32(peer_expect(&p, SCTP_SACK)->p + 4), tsns[i] - 1);
		p.tsn = tsns[i];
		peer_send_data(&p, 4);
		peer_advance(&p, 200000);
		cr_assert_eq(be_get32(peer_expect(&p, SCTP_SACK)->p + 4), tsns[i] + 1);
		cr_assert_eq(p.messages, 2 * (i + 1));
		p.assoc = sctp_assoc_free(p.assoc);
		peer_poll(&p);
		peer_drain(&p, SCTP_ABORT);
	}
}

/* ---- streams ---- */

/* rows: 9260-5.1.1-02 9260-5.1.1-03 9260-5.1.1-05 9260-5-03 9260-3.3.3-21 */
Test(setup, streams_are_the_smaller_number_of_both)
{
	p.in_streams = 4;
	peer_connect(&p);
	cr_assert_eq(p.stack_out, 4);
	cr_assert_eq(peer_info(&p).streams, 4);
	cr_assert_eq(peer_stack_sends(&p, 0, 4), SCTP_E_OK);
	cr_assert_eq(peer_stack_sends(&p, 3, 4), SCTP_E_OK);
	cr_assert_neq(peer_stack_sends(&p, 4, 4), SCTP_E_OK);
	cr_assert_eq(peer_drain(&p, SCTP_DATA), 2);
}

/* rows: 9260-5.1.1-02 9260-5.1.1-05 9260-5-03 9260-3.3.10.1-01 */
Test(setup, data_in_a_stream_that_was_not_agreed_is_reported)
{
	struct sctp_error e;

	peer_connect(&p);
	peer_begin(&p);
	peer_put_data(&p, PEER_TSN, PEER_STREAMS - 1, 0, 7, 4);
	peer_send(&p);
	peer_expect(&p, SCTP_SACK);
	cr_assert_eq(p.messages, 1);
	peer_begin(&p);
	peer_put_data(&p, PEER_TSN + 1, PEER_STREAMS, 0, 7, 4);
	peer_send(&p);
	e = peer_expect_cause(&p, SCTP_ERROR, SCTP_CAUSE_STREAM);
	cr_assert_eq(e.len, 4);
	cr_assert_arr_eq(e.p, ((const uint8_t[]){0, PEER_STREAMS, 0, 0}), 4);
	cr_assert_eq(p.messages, 1);
	peer_advance(&p, 200000);
	cr_assert_eq(be_get32(peer_expect(&p, SCTP_SACK)->p + 4), PEER_TSN + 1);
}

/* rows: 9260-3.3.3-21 9260-5.1.1-02 */
Test(setup, init_ack_has_no_more_streams_than_the_peer_takes)
{
	p.in_streams = 1;
	peer_send_init(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	cr_assert_eq(p.stack_out, 1);
}
