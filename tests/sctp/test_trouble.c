/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a transfer survives a path that begins to drop large packets and TSNs that wrap; a peer
 * that is gone is noticed. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "sctp/wire/chunk.h"
#include "tests/sctp/move.h"

enum { SECOND = 1000000 };

static struct net net;

static void setup(void)
{
	net_init(&net, 5, 1);
}

static void teardown(void)
{
	net_deinit(&net);
}

TestSuite(trouble, .init = setup, .fini = teardown);

static uint32_t mtu(unsigned host)
{
	struct sctp_info i;

	sctp_assoc_info(net.host[host].assoc, &i);
	return i.mtu;
}

static bool fragmented_passes(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
			      uint32_t len)
{
	(void)from;
	(void)p;
	return len + 28 <= 1400 || b->fragment || n->now < *(uint64_t *)n->filter_user;
}

/* rows: 9260-7.3-01 9260-6.9-09 */
Test(trouble, large_packets_that_vanish_in_the_middle_of_a_transfer)
{
	static const uint32_t size[] = {100, 1000, 8000};

	for (unsigned i = 0; i < 3; i++) {
		uint64_t at, fall = UINT64_MAX;

		net.delay_us = 5000;
		net.mtu = 9000;
		net.rate = 100000;
		net.filter = fragmented_passes;
		net.filter_user = &fall;
		net_establish(&net);
		net_run(&net, net.now + 10 * SECOND);
		cr_assert_gt(mtu(0), 8900);
		cr_assert(move_queue(&net, 3000000 / size[i], size[i], 60 * SECOND));
		at = fall = net.now;
		cr_assert(move(&net, 100, size[i] < 1000 ? size[i] : 1000, 60 * SECOND),
			  "size %u: %lu messages, down %u, end %u, mtu %u", size[i],
			  (unsigned long)net.host[1].messages, net.host[0].down,
			  net.host[0].last_down.end, net.host[0].assoc ? mtu(0) : 0);
		cr_assert_lt(net.now - at, 2 * SECOND, "size %u: %lu ms", size[i],
			     (unsigned long)(net.now - at) / 1000);
		if (getenv("V"))
			printf("size %u: %lu ms\n", size[i], (unsigned long)(net.now - at) / 1000);
		cr_assert_eq(net.host[1].messages, 3000000 / size[i] + 100);
		cr_assert_eq(net.host[0].down, 0);
		cr_assert_leq(mtu(0), 1400);
		net_deinit(&net);
		net_init(&net, 6 + i, 1);
	}
}

static void all_high(void *user, void *ret, size_t len)
{
	static const uint32_t v = 0xfffffff0;

	(void)user;
	if (len == sizeof(v))
		memcpy(ret, &v, sizeof(v));
	else
		memset(ret, 0x5a, len);
}

/* rows: 9260-6.1-31 */
Test(trouble, tsns_wrap)
{
	struct sctp_config c[2] = {net_config(&net, 0, 1), net_config(&net, 1, 1)};

	net_deinit(&net);
	memset(&net, 0, sizeof(net));
	for (unsigned i = 0; i < 2; i++) {
		c[i].random = all_high;
		c[i].mem.user = &net.host[i];
	}
	net_init_cfg(&net, 1, &c[0], &c[1]);
	net_establish(&net);
	net.loss = 1000;
	net.reorder = 500;
	net.dup = 500;
	cr_assert(move(&net, 1000, 600, 600 * (uint64_t)SECOND));
	cr_assert_eq(net.host[1].messages, 1000);
	cr_assert_eq(net.host[1].sum, 999 * 500);
}

/* ---- ICMP: the last packet of host 0 is quoted ---- */

static uint8_t quoted[64];
static struct sctp_flow quoted_to;

static bool quote(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
		  uint32_t len)
{
	(void)n;
	if (from == 0) {
		memcpy(quoted, p, len < sizeof(quoted) ? len : sizeof(quoted));
		quoted_to = b->to;
	}
	return true;
}

static void icmp(enum sctp_icmp what, uint32_t size)
{
	sctp_icmp(net.host[0].s, &quoted_to, what, size, quoted, sizeof(quoted), net.now);
	net_run(&net, net.now + 1000);
}

Test(trouble, an_unreachable_host_is_remembered_until_it_answers)
{
	struct sctp_info info;

	net.filter = quote;
	net_establish(&net);
	net_send(&net, 0, 0, 1, 100);
	net_run(&net, net.now + 10);
	sctp_icmp(net.host[0].s, &quoted_to, SCTP_ICMP_UNREACHABLE, 0, quoted, sizeof(quoted),
		  net.now);
	sctp_assoc_info(net.host[0].assoc, &info);
	cr_assert(info.unreachable);
	net_send(&net, 0, 0, 1, 100);
	net_run(&net, net.now + 1000000);
	sctp_assoc_info(net.host[0].assoc, &info);
	cr_assert_not(info.unreachable);
	cr_assert_eq(net.host[0].down, 0);
}

/* rows: 9260-10-12 9260-10-07 9260-10-05 */
Test(trouble, port_unreachable_ends_an_association_at_once)
{
	uint64_t at;

	net.filter = quote;
	net_establish(&net);
	net_send(&net, 0, 0, 1, 100);
	net_run(&net, net.now + 10);
	at = net.now;
	icmp(SCTP_ICMP_PORT_UNREACHABLE, 0);
	cr_assert_eq(net.host[0].down, 1);
	cr_assert_eq(net.host[0].last_down.end, SCTP_END_UNREACHABLE);
	cr_assert_leq(net.now - at, 1000);
}

/* rows: 9260-10-06 9260-10-08 */
Test(trouble, forged_icmp_changes_nothing)
{
	struct sctp_info before, after;
	struct sctp_stats st;

	net.filter = quote;
	net_establish(&net);
	net_run(&net, net.now + 5 * SECOND);
	net_send(&net, 0, 0, 1, 100);
	net_run(&net, net.now + SECOND);
	sctp_assoc_info(net.host[0].assoc, &before);
	for (unsigned i = 0; i < 1000000; i++) {
		uint64_t tag = net_random(&net);

		memcpy(quoted + 4, &tag, 4);
		sctp_icmp(net.host[0].s, &quoted_to,
			  i % 2 ? SCTP_ICMP_TOO_BIG : SCTP_ICMP_PORT_UNREACHABLE, 1300, quoted,
			  sizeof(quoted), net.now);
	}
	sctp_icmp(net.host[0].s, &quoted_to, SCTP_ICMP_PORT_UNREACHABLE, 0, quoted, 11, net.now);
	net_run(&net, net.now + 1000);
	sctp_assoc_info(net.host[0].assoc, &after);
	cr_assert_eq(after.mtu, before.mtu);
	cr_assert_eq(after.cwnd, before.cwnd);
	cr_assert_eq(after.rto_us, before.rto_us);
	cr_assert_eq(net.host[0].down, 0);
	sctp_stats(net.host[0].s, &st);
	cr_assert_eq(st.icmp_ignored, 1000001);
}

/* rows: 9260-10-13 */
Test(trouble, port_unreachable_refuses_a_connection)
{
	net.filter = quote;
	net_connect(&net);
	net_run(&net, net.now + 10);
	icmp(SCTP_ICMP_PORT_UNREACHABLE, 0);
	cr_assert_eq(net.host[0].down, 1);
	cr_assert_eq(net.host[0].last_down.end, SCTP_END_UNREACHABLE);
}

/* rows: 9260-10-09 9260-10-10 */
Test(trouble, a_quoted_init_needs_our_tag_and_the_right_state)
{
	uint8_t init[64];

	net.filter = quote;
	net_connect(&net);
	net_run(&net, net.now + 10);
	net.filter = NULL;
	memcpy(init, quoted, sizeof(init));
	quoted[16] ^= 1;
	icmp(SCTP_ICMP_PORT_UNREACHABLE, 0);
	quoted[16] = init[16];
	quoted[12] = 2;
	icmp(SCTP_ICMP_PORT_UNREACHABLE, 0);
	sctp_icmp(net.host[0].s, &quoted_to, SCTP_ICMP_PORT_UNREACHABLE, 0, init, 19, net.now);
	net_run(&net, net.now + SECOND);
	cr_assert_eq(net.host[0].up, 1);
	memcpy(quoted, init, sizeof(init));
	icmp(SCTP_ICMP_PORT_UNREACHABLE, 0);
	cr_assert_eq(net.host[0].down, 0, "not in ESTABLISHED");
}

/* rows: 9260-10-14 9260-10-01 9260-10-02 9260-10-04 */
Test(trouble, an_unreachable_host_is_left_to_the_timers)
{
	net.filter = quote;
	net_establish(&net);
	net_send(&net, 0, 0, 1, 100);
	net_run(&net, net.now + 10);
	icmp(SCTP_ICMP_UNREACHABLE, 0);
	cr_assert(net_run_until(&net, move_acked_0, net.now + SECOND));
	cr_assert_eq(net.host[0].down, 0);
}

/* rows: 9260-10-11 */
Test(trouble, too_big_lowers_the_path_mtu)
{
	net.filter = quote;
	net_establish(&net);
	net_run(&net, net.now + 5 * SECOND);
	cr_assert_gt(mtu(0), 60000);
	net_send(&net, 0, 0, 1, 100);
	net_run(&net, net.now + SECOND);
	net.mtu = 1400;
	icmp(SCTP_ICMP_TOO_BIG, 1400);
	net_run(&net, net.now + SECOND);
	cr_assert(mtu(0) <= 1400 && mtu(0) > 1380, "%u", mtu(0));
	icmp(SCTP_ICMP_TOO_BIG, 500);
	icmp(SCTP_ICMP_TOO_BIG, 9000);
	net_run(&net, net.now + SECOND);
	cr_assert(mtu(0) > 1380, "%u", mtu(0));
}

/* A peer that was killed answers with nothing but ICMP; the other one goes on by itself. */
Test(trouble, a_silent_peer_is_noticed_without_data)
{
	net_establish(&net);
	net.loss = 10000;
	net_run(&net, net.now + 7200 * (uint64_t)SECOND);
	cr_assert_eq(net.host[0].last_down.end, SCTP_END_TIMEOUT);
	cr_assert_eq(net.host[1].last_down.end, SCTP_END_TIMEOUT);
}

/* TSNs in either half of their space give samples. */
Test(trouble, the_round_trip_is_measured_again_at_any_tsn)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct sctp_info i;

		net_deinit(&net);
		memset(&net, 0, sizeof(net));
		net_init(&net, seed, 1);
		net.delay_us = 10000;
		net_establish(&net);
		net_run(&net, net.now + SECOND);
		net.delay_us = 100000;
		for (unsigned k = 0; k < 40; k++) {
			cr_assert_eq(net_send(&net, 0, 0, k, 1000), SCTP_E_OK);
			net_run(&net, net.now + SECOND / 2);
		}
		sctp_assoc_info(net.host[0].assoc, &i);
		cr_assert_geq(i.srtt_us, 150000, "seed %lu: SRTT is %u us", (unsigned long)seed,
			      i.srtt_us);
	}
}
