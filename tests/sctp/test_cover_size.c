/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: covered packets, with the bytes of their cover, fit into the path MTU, into a record,
 * and, as a batch, into one UDP payload. */
#include <criterion/criterion.h>

#include "tests/sctp/move.h"

enum { SECOND = 1000000, HEADERS = 28 };

static struct net net;
static uint32_t longest, longest_batch;

static bool measure(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
		    uint32_t len)
{
	uint32_t batch = b->len + b->packets * NET_COVER;

	(void)n;
	(void)from;
	(void)p;
	cr_assert(b->to.covered);
	longest = len > longest ? len : longest;
	longest_batch = batch > longest_batch ? batch : longest_batch;
	return true;
}

static void start(uint32_t mtu)
{
	struct sctp_config a, b;

	memset(&net, 0, sizeof(net));
	a = net_config(&net, 0, 1);
	b = net_config(&net, 1, 1);
	a.send_buffer = b.recv_buffer = b.recv_first = 4 << 20;
	net_init_cfg(&net, 1, &a, &b);
	net.covered = true;
	net.mtu = mtu;
	net.filter = measure;
	longest = longest_batch = 0;
}

static struct sctp_info info(unsigned host)
{
	struct sctp_info i;

	sctp_assoc_info(net.host[host].assoc, &i);
	return i;
}

static void set_route_mtu(uint32_t mtu)
{
	const struct sctp_addr peer = sctp_addr_v4((const uint8_t[]){10, 0, 0, 2});

	sctp_assoc_set_route_mtu(net.host[0].assoc, &peer, mtu, net.now);
}

Test(cover_size, packet_with_its_cover_fills_the_route)
{
	start(1500);
	net_establish(&net);
	set_route_mtu(1500);
	net_run(&net, net.now + SECOND);
	cr_assert_leq(info(0).mtu, 1500);
	cr_assert_gt(info(0).mtu, 1500 - 4);
	net_deinit(&net);
}

Test(cover_size, route_of_the_longest_packets_gives_a_record)
{
	start(0);
	net_establish(&net);
	set_route_mtu(65535);
	net_run(&net, net.now + SECOND);
	cr_assert_eq(info(0).mtu, 16384 + NET_COVER + HEADERS);
	cr_assert_eq(longest, 16384);
	net_deinit(&net);
}

Test(cover_size, batch_with_its_covers_is_one_udp_payload)
{
	static const uint32_t routes[] = {1280, 1500, 9000, 65535};

	for (unsigned i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		start(routes[i]);
		net_establish(&net);
		set_route_mtu(routes[i]);
		net_run(&net, net.now + SECOND);
		for (unsigned k = 0; k < 4000; k++) {
			if (net_send(&net, 0, 0, k, info(0).max_message) != SCTP_E_OK)
				net_run(&net, net.now + 1000);
		}
		net_run(&net, net.now + 10 * SECOND);
		cr_assert_gt(net.host[1].messages, 0);
		cr_assert_leq(longest_batch, SCTP_MAX_PACKET, "route of %u bytes", routes[i]);
		cr_assert_gt(longest_batch, 49000, "route of %u bytes: %u", routes[i],
			     longest_batch);
		net_deinit(&net);
	}
}
