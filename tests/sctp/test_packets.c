/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: packets have the sizes and the order that section 6.9 and 6.10 of RFC 9260 ask for, and
 * a wrong checksum makes a packet that never was (6.8). */
#include "tests/sctp/script.h"

static struct peer p;

static void setup(void)
{
	peer_init(&p, 1);
	peer_accept(&p);
}

static void teardown(void)
{
	peer_deinit(&p);
}

TestSuite(packets, .init = setup, .fini = teardown);

static uint32_t next_random(void)
{
	static uint64_t seed = 1;

	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33);
}

static uint32_t have; /* TSNs that the peer has: one bit each above cum */
static uint32_t cum;
static uint64_t above;

static void arrive(uint32_t tsn)
{
	uint32_t d = tsn - cum;

	if (d == 0 || d > 60)
		return;
	above |= UINT64_C(1) << d;
	while (above & 2) {
		above >>= 1;
		cum++;
	}
}

static void answer(void)
{
	uint16_t gap[64];
	unsigned n = 0;

	for (uint16_t i = 2; i < 61; i++) {
		if (!(above >> i & 1))
			continue;
		if (n && gap[2 * n - 1] == i - 1)
			gap[2 * n - 1] = i;
		else
			gap[2 * n] = gap[2 * n + 1] = i, n++;
	}
	peer_begin(&p);
	peer_put_sack(&p, cum, 100000, gap, n);
	if (next_random() % 3 == 0)
		peer_put_data(&p, p.tsn++, 0, 0, 7, next_random() % 100 + 1);
	peer_send(&p);
}

/* rows: 9260-6-13 9260-6.10-01 9260-6.10-03 9260-6.10-04 9260-6.10-05 9260-6.10-06 9260-6.10-10 */
/* rows: 9260-6.8-01 9260-6.8-02 9260-6.8-03 9260-6.8-04 9260-6.5-09 9260-6.6-08 9260-6.1-22 */
/* rows: 9260-6.9-11 9260-6-15 */
Test(packets, a_long_run_with_losses_keeps_all_rules)
{
	cum = p.stack_tsn - 1;
	have = 0;
	for (unsigned i = 0; i < 4000; i++) {
		for (unsigned k = next_random() % 4; k; k--)
			(void)peer_stack_sends(&p, 0, next_random() % SCRIPT_FULL + 1);
		if (next_random() % 8 == 0)
			peer_advance(&p, next_random() % 2000000);
		while (peer_next(&p)) {
			script_check_packet(&p, SCRIPT_BASE);
			if (peer_find(&p, SCTP_HEARTBEAT))
				have++;
			if (next_random() % 10 == 0)
				continue;
			for (unsigned k = 0; k < p.n; k++)
				if (p.chunk[k].type == SCTP_DATA)
					arrive(be_get32(p.chunk[k].p + 4));
		}
		if (next_random() % 3)
			answer();
		cr_assert_eq(p.down, 0);
	}
	cr_assert_gt(cum - p.stack_tsn, 2000u);
	sctp_assoc_shutdown(p.assoc, p.now);
	for (unsigned i = 0; i < 2000 && !p.down; i++) {
		peer_advance(&p, 100000);
		while (peer_next(&p)) {
			script_check_packet(&p, SCRIPT_BASE);
			for (unsigned k = 0; k < p.n; k++)
				if (p.chunk[k].type == SCTP_DATA)
					arrive(be_get32(p.chunk[k].p + 4));
			if (peer_find(&p, SCTP_SHUTDOWN)) {
				peer_send_plain(&p, SCTP_SHUTDOWN_ACK);
				break;
			}
		}
		if (!p.down)
			answer();
	}
	cr_assert_eq(p.last_down.end, SCTP_END_CLOSED);
}

/* rows: 9260-6.9-04 9260-6.9-05 9260-6.9-07 9260-6.9-10 */
Test(packets, a_message_that_does_not_fit_is_refused)
{
	cr_assert_eq(peer_info(&p).max_message, SCRIPT_FULL);
	cr_assert_eq(peer_info(&p).mtu, SCRIPT_BASE + 28);
	cr_assert_eq(peer_stack_sends(&p, 0, SCRIPT_FULL + 1), SCTP_E_TOO_LONG);
	cr_assert_eq(peer_info(&p).unacked, 0);
	peer_expect_nothing(&p);
	cr_assert_eq(peer_stack_sends(&p, 0, SCRIPT_FULL), SCTP_E_OK);
	script_data(&p, p.stack_tsn);
	cr_assert_eq(p.pkt->len, SCRIPT_BASE);
}

/* rows: 9260-6.9-11 */
Test(packets, a_sack_that_does_not_fit_goes_alone)
{
	peer_send_data(&p, 10);
	peer_expect(&p, SCTP_SACK);
	peer_send_data(&p, 10);
	peer_begin(&p);
	peer_put_data(&p, p.tsn++, 0, 0, 7, 10);
	p.now += 1;
	script_queue(&p, 1, SCRIPT_FULL);
	peer_send(&p);
	for (unsigned n = 0; peer_next(&p); n++) {
		script_check_packet(&p, SCRIPT_BASE);
		cr_assert_eq(p.n, 1);
		cr_assert_lt(n, 2);
	}
}

/* rows: 9260-6.10-07 9260-6.10-08 */
Test(packets, chunks_are_handled_in_their_order)
{
	script_queue(&p, 1, 10);
	peer_expect(&p, SCTP_DATA);
	peer_begin(&p);
	peer_put_sack(&p, p.stack_tsn, 100000, NULL, 0);
	for (unsigned i = 0; i < 8; i++)
		peer_put_data(&p, p.tsn++, 0, 0, 7, 1 + i);
	peer_put(&p, SCTP_SHUTDOWN, 0, (const uint8_t[]){0, 0, 0, 0}, 4);
	be_put32(p.out + p.w.len - 4, p.stack_tsn);
	peer_send(&p);
	cr_assert_eq(p.messages, 8);
	cr_assert_geq(peer_drain(&p, SCTP_SHUTDOWN_ACK), 1);
}

/* rows: 9260-6.10-09 */
Test(packets, a_partial_chunk_is_dropped)
{
	for (unsigned cut = 1; cut < 60; cut++) {
		uint64_t before = p.messages;

		peer_begin(&p);
		peer_put_data(&p, p.tsn++, 0, 0, 7, 20);
		peer_put_data(&p, p.tsn, 0, 0, 7, 44);
		p.w.len -= cut;
		peer_send(&p);
		cr_assert_eq(p.messages, before + 1, "cut %u", cut);
		peer_drain(&p, SCTP_SACK);
	}
	cr_assert_eq(p.down, 0);
}

/* rows: 9260-6.8-05 9260-6.8-06 9260-6.8-07 */
Test(packets, a_wrong_bit_anywhere_makes_a_packet_vanish)
{
	static uint8_t copy[200];
	uint32_t len;

	script_queue(&p, 1, 10);
	peer_expect(&p, SCTP_DATA);
	peer_begin(&p);
	peer_put_sack(&p, p.stack_tsn, 100000, NULL, 0);
	peer_put_data(&p, p.tsn, 0, 0, 7 | SCTP_DATA_I, 33);
	peer_put(&p, SCTP_HEARTBEAT, 0, "\0\1\0\10abcd", 8);
	sctp_seal(&(struct span){p.out, p.w.len}, 1);
	len = p.w.len;
	memcpy(copy, p.out, len);
	for (unsigned bit = 0; bit < 8 * len; bit++) {
		memcpy(p.out, copy, len);
		p.w.len = len;
		p.out[bit / 8] ^= (uint8_t)(1u << bit % 8);
		peer_send_raw(&p);
		peer_expect_nothing(&p);
		cr_assert_eq(p.messages, 0);
		cr_assert_eq(p.acked, 0);
	}
	memcpy(p.out, copy, len);
	peer_send_raw(&p);
	cr_assert_eq(p.messages, 1);
	cr_assert_eq(p.acked, 1);
}

/* ---- RFC 8899, RFC 4820 ---- */

/* rows: 9260-7.3-01 */
Test(packets, probes_are_heartbeats_with_padding)
{
	unsigned n = 0;

	p.keep_probes = true;
	for (unsigned i = 0; i < 3000 && peer_info(&p).mtu < 8990; i++) {
		peer_advance(&p, 10000);
		while (peer_next(&p)) {
			if (!p.pkt->probe)
				continue;
			n++;
			cr_assert_eq(p.chunk[0].type, SCTP_HEARTBEAT);
			cr_assert_eq(p.chunk[1].type, SCTP_PAD);
			cr_assert_eq(p.n, 2);
			if (p.pkt->len <= 9000 - 28)
				peer_send_chunk(&p, SCTP_HEARTBEAT_ACK, 0, p.chunk[0].p + 4,
						p.chunk[0].len - 4);
		}
	}
	cr_assert(peer_info(&p).mtu > 8980 && peer_info(&p).mtu <= 9000, "%u", peer_info(&p).mtu);
	cr_assert_eq(peer_info(&p).max_message, peer_info(&p).mtu - 28 - 28);
	cr_assert_lt(n, 60);
	cr_assert_eq(peer_path_state(&p, 0), SCTP_PATH_ACTIVE, "lost probes are no errors");
}

/* ---- IPv6 ---- */

static void begin_v6(void)
{
	struct sctp_config c = peer_config(&p, 1);

	peer_deinit(&p);
	c.local[0] = (struct sctp_addr){.ip = {0xfd, [15] = 1}};
	peer_init_cfg(&p, &c);
	p.from.peer = (struct sctp_addr){.ip = {0xfd, [15] = 2}};
	peer_connect(&p);
	sctp_assoc_set_route_mtu(p.assoc, &p.from.peer, 1500, p.now);
}

/* Linux would send it whole, and a router would drop it. */
/* rows: 9260-6.9-09 */
Test(packets, what_ip_has_to_fragment_exceeds_the_route_over_ipv6)
{
	struct sctp_flow to;

	begin_v6();
	to = p.from;
	cr_assert_eq(peer_stack_sends(&p, 0, SCRIPT_FULL), SCTP_E_OK);
	peer_poll(&p);
	script_data(&p, p.stack_tsn);
	cr_assert_eq(p.pkt->len, SCRIPT_BASE);
	sctp_too_big(p.s, &to, 1280 - 100, p.now);
	peer_advance(&p, PEER_SECOND);
	script_data(&p, p.stack_tsn);
	cr_assert_eq(p.pkt->len, 1500 - 48 + 4, "%u bytes", p.pkt->len);
	cr_assert_eq(p.chunk[1].type, SCTP_PAD);
}
