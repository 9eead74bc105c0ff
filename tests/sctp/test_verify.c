/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: RFC 9260 5.4: addresses that a peer only lists get nothing but heartbeats until they
 * answer. */
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

TestSuite(verify, .init = setup, .fini = teardown);

/* An association as listener; the peer lists peer_addr(1) to peer_addr(n). */
static void connect_listing(unsigned n)
{
	uint32_t at;

	peer_begin_tag(&p, 0);
	at = peer_begin_init(&p, SCTP_INIT);
	for (unsigned i = 1; i <= n; i++) {
		const struct sctp_addr a = peer_addr(i);

		peer_put_addr(&p, &a);
	}
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_learn(&p, peer_expect(&p, SCTP_INIT_ACK));
	peer_expect_nothing(&p);
	peer_send_cookie_echo(&p);
	peer_expect(&p, SCTP_COOKIE_ACK);
}

static unsigned last_byte(void)
{
	return p.pkt->to.peer.ip[14];
}

/* rows: 9260-5.4-02 9260-5.4-03 9260-5.4-04 9260-5.4-05 9260-5.4-06 9260-5.4-12 9260-5.4-14
 * 9260-3.3.5-02 9260-3.3.5-05 */
Test(verify, a_listed_address_is_confirmed_by_its_answer)
{
	connect_listing(1);
	cr_assert_eq(peer_path_state(&p, 0), SCTP_PATH_ACTIVE);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_UNCONFIRMED);
	peer_advance(&p, PEER_SECOND / 2);
	p.path_events = 0;
	peer_answer_heartbeat(&p);
	cr_assert_eq(last_byte(), 1);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_ACTIVE);
	cr_assert_eq(p.path_events, 1);
	cr_assert_eq(p.last_path.state, SCTP_PATH_ACTIVE);
	peer_advance(&p, 20 * PEER_SECOND);
	peer_expect_nothing(&p);
}

/* rows: 9260-5.4-05 9260-3.3.5-05 9260-3.3.5-06 */
Test(verify, a_changed_answer_confirms_nothing)
{
	uint8_t info[64];
	uint32_t len;

	connect_listing(1);
	peer_advance(&p, PEER_SECOND / 2);
	peer_expect(&p, SCTP_HEARTBEAT);
	len = p.chunk[0].len - 4;
	memcpy(info, p.chunk[0].p + 4, len);
	p.from.peer = peer_addr(1);
	for (unsigned bit = 0; bit < 12 * 8; bit++) { /* header and nonce */
		info[bit / 8] ^= (uint8_t)(1u << bit % 8);
		peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, info, len);
		info[bit / 8] ^= (uint8_t)(1u << bit % 8);
		cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_UNCONFIRMED, "bit %u", bit);
	}
	for (uint32_t n = 0; n < len; n++)
		peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, info, n);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_UNCONFIRMED);
	peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, info, len);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_ACTIVE);
}

/* rows: 9260-5.4-05 */
Test(verify, an_answer_for_another_path_confirms_that_one_only)
{
	connect_listing(2);
	peer_advance(&p, 5 * PEER_SECOND);
	while (peer_next(&p))
		if (last_byte() == 1)
			break;
	cr_assert_eq(last_byte(), 1);
	p.from.peer = peer_addr(2);
	peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4, p.chunk[0].len - 4);
	cr_assert_eq(peer_path_state(&p, 2), SCTP_PATH_UNCONFIRMED);
}

/* rows: 9260-5.4-01 9260-5.4-13 9260-5.4-19 9260-5.4-20 9260-5.4-21 9260-5.4-22 */
Test(verify, cookie_echo_goes_to_confirmed_addresses_only)
{
	const struct sctp_addr listed = peer_addr(4);
	bool second = false;
	uint32_t at;

	peer_stack_connects(&p, 2);
	peer_begin(&p);
	at = peer_begin_init(&p, SCTP_INIT_ACK);
	peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	for (unsigned i = 0; i < 2; i++) {
		const struct sctp_addr a = peer_addr(i);

		peer_put_addr(&p, &a);
	}
	peer_put_addr(&p, &listed);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_advance(&p, 10 * PEER_SECOND);
	while (peer_next(&p)) {
		cr_assert_eq(p.chunk[0].type, SCTP_COOKIE_ECHO);
		cr_assert_neq(last_byte(), 4);
		second |= last_byte() == 1;
	}
	cr_assert(second, "the second address was not tried");
	peer_send_plain(&p, SCTP_COOKIE_ACK);
	cr_assert_eq(peer_path_state(&p, 0), SCTP_PATH_ACTIVE);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_ACTIVE);
	cr_assert_eq(peer_path_state(&p, 4), SCTP_PATH_UNCONFIRMED);
}

/* rows: 9260-5.1-23 9260-5.4-01 */
Test(verify, init_is_tried_at_all_named_addresses)
{
	unsigned seen = 0;

	peer_stack_connects(&p, 3);
	peer_advance(&p, 10 * PEER_SECOND);
	while (peer_next(&p))
		seen |= 1u << last_byte();
	cr_assert_eq(seen, 7);
	p.from.peer = peer_addr(1);
	peer_send_init_ack(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	cr_assert_eq(last_byte(), 1);
}

/* rows: 9260-5.1-22 */
Test(verify, each_named_address_has_a_back_off_of_its_own)
{
	static const unsigned seconds[2][4] = {{0, 2, 6, 14}, {1, 4, 10, 22}};
	unsigned n[2] = {0, 0};
	uint64_t begin = p.now;

	peer_stack_connects(&p, 2); /* takes the first INIT */
	n[0] = 1;
	peer_advance(&p, 25 * PEER_SECOND);
	while (peer_next(&p)) {
		unsigned to = last_byte();

		cr_assert_eq(p.chunk[0].type, SCTP_INIT);
		cr_assert(to < 2 && n[to] < 4);
		cr_assert_eq(p.pkt->at_us - begin, seconds[to][n[to]] * (uint64_t)PEER_SECOND,
			     "INIT %u to address %u", n[to], to);
		n[to]++;
	}
	cr_assert(n[0] == 4 && n[1] == 4, "%u and %u", n[0], n[1]);
}

/* rows: 9260-5.4-13 9260-5.4-10 9260-5.4-14 9260-5.4-15 9260-3.3.6-02 9260-5.4-09 */
Test(verify, an_unconfirmed_host_gets_heartbeats_only)
{
	unsigned others = 0;

	connect_listing(1);
	for (unsigned i = 0; i < 5; i++)
		peer_stack_sends(&p, 0, 1000);
	/* The peer's own address goes silent: T3, failover, the end. Meanwhile the other host
	 * "sends".
	 */
	for (unsigned i = 0; i < 20; i++) {
		peer_advance(&p, 3 * PEER_SECOND);
		p.from.peer = peer_addr(1);
		peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
		peer_send_data(&p, 4);
		peer_send_chunk(&p, 0xc1, 0, NULL, 0);
	}
	peer_advance(&p, 600ull * PEER_SECOND);
	while (peer_next(&p)) {
		if (last_byte() == 0) {
			others++;
			continue;
		}
		for (unsigned i = 0; i < p.n; i++)
			cr_assert(p.chunk[i].type == SCTP_HEARTBEAT ||
					  p.chunk[i].type == SCTP_HEARTBEAT_ACK,
				  "chunk %u to an unconfirmed address", p.chunk[i].type);
	}
	cr_assert_gt(others, 0);
}

/* rows: 9260-5.4-10 */
Test(verify, dead_listed_addresses_do_not_end_an_association)
{
	connect_listing(5);
	for (unsigned i = 0; i < 200; i++) {
		peer_advance(&p, 5 * PEER_SECOND);
		while (peer_next(&p)) {
			if (last_byte() != 0)
				continue;
			peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4,
					p.chunk[0].len - 4);
		}
	}
	cr_assert_eq(p.down, 0);
}

/* The stack begins an association; the peer's INIT ACK lists peer_addr(1) as well. */
static void be_called_and_list(void)
{
	const struct sctp_addr listed = peer_addr(1);
	uint32_t at;

	peer_stack_connects(&p, 1);
	peer_begin(&p);
	at = peer_begin_init(&p, SCTP_INIT_ACK);
	peer_put_param(&p, SCTP_PARAM_COOKIE, "cookie", 6);
	peer_put_addr(&p, &listed);
	peer_end_chunk(&p, at);
	peer_send(&p);
	peer_expect(&p, SCTP_COOKIE_ECHO);
	peer_send_plain(&p, SCTP_COOKIE_ACK);
}

/* Probes of the listed address in that time, the last one at *ret_last_us; the peer's own address
 * answers. slow: each comes a minute after the one before, or later. */
static unsigned probes(unsigned seconds, bool slow, uint64_t *ret_last_us)
{
	unsigned n = 0;

	for (unsigned i = 0; i < seconds; i += 10) {
		peer_advance(&p, 10 * PEER_SECOND);
		while (peer_next(&p)) {
			if (last_byte() == 0) {
				p.from.peer = peer_addr(0);
				peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4,
						p.chunk[0].len - 4);
				continue;
			}
			cr_assert(!slow || p.pkt->at_us - *ret_last_us >= 60ull * PEER_SECOND,
				  "probe after %lu us",
				  (unsigned long)(p.pkt->at_us - *ret_last_us));
			*ret_last_us = p.pkt->at_us;
			n++;
		}
	}
	return n;
}

/* Six probes with a back-off from 1 to 60 seconds end after 123. */
enum { SIX_PROBES = 130, LONG = 1000 };

/* rows: 9260-5.4-08 9260-5.4-09 */
Test(verify, a_dead_address_is_probed_slowly_in_the_end)
{
	uint64_t last = 0;

	be_called_and_list();
	cr_assert_eq(probes(60, false, &last), 6);
	cr_assert_geq(probes(2 * LONG, true, &last), 8);
}

/* The addresses in an INIT may be those of a third host. */
Test(verify, an_address_that_a_caller_lists_is_given_up)
{
	uint64_t last = 0;

	connect_listing(1);
	cr_assert_eq(probes(SIX_PROBES, false, &last), 6);
	cr_assert_eq(probes(100 * LONG, false, &last), 0);
	cr_assert_eq(p.down, 0);
}

Test(verify, an_address_that_speaks_is_probed_again)
{
	uint64_t last = 0;

	connect_listing(1);
	probes(LONG, false, &last);
	/* One packet, one probe: nobody is a target of more than is sent in the name of it. */
	p.from.peer = peer_addr(1);
	peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
	peer_expect(&p, SCTP_HEARTBEAT_ACK);
	cr_assert_eq(probes(LONG, false, &last), 1);
	for (unsigned i = 0; i < 100; i++) {
		p.from.peer = peer_addr(1);
		peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
	}
	cr_assert_eq(peer_drain(&p, SCTP_HEARTBEAT), 1);
	probes(LONG, false, &last);
	p.from.peer = peer_addr(1);
	peer_send_chunk(&p, SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
	peer_expect(&p, SCTP_HEARTBEAT_ACK);
	peer_answer_heartbeat(&p);
	cr_assert_eq(peer_path_state(&p, 1), SCTP_PATH_ACTIVE);
}

/* rows: 9260-5.4-07 9260-5.4-11 9260-16-12 */
Test(verify, one_probe_goes_out_per_rto)
{
	uint64_t last = 0;
	unsigned n = 0;

	connect_listing(8);
	peer_advance(&p, 8 * PEER_SECOND);
	for (; peer_next(&p); n++) {
		cr_assert(n == 0 || p.pkt->at_us >= last + PEER_SECOND, "probe %u after %lu us", n,
			  (unsigned long)(p.pkt->at_us - last));
		last = p.pkt->at_us;
	}
	cr_assert_geq(n, 7);
}
