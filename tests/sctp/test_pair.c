/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: two stacks set up an association, move messages over good and bad links, and close it.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/sctp/net.h"

static struct net net;

static void setup(void)
{
	net_init(&net, 1, 1);
}

static void teardown(void)
{
	net_deinit(&net);
}

TestSuite(pair, .init = setup, .fini = teardown);

static bool all_acked(struct net *n)
{
	struct sctp_info i;

	if (!n->host[0].assoc)
		return false;
	sctp_assoc_info(n->host[0].assoc, &i);
	return i.unacked == 0;
}

/* Sends `count` messages of `len` bytes from host 0; false if they did not arrive in time. */
static bool move(struct net *n, unsigned count, uint32_t len, uint64_t limit_us)
{
	uint64_t end = n->now + limit_us;

	for (unsigned i = 0; i < count;) {
		int r = net_send(n, 0, (uint16_t)(i % 100), i, len);

		if (r == SCTP_E_OK) {
			i++;
			continue;
		}
		cr_assert_eq(r, SCTP_E_AGAIN, "message %u: %d", i, r);
		n->host[0].writable = 0;
		for (; n->host[0].writable == 0; net_run(n, n->now + 1000))
			if (n->now > end || n->host[0].down)
				return false;
	}
	return net_run_until(n, all_acked, end);
}

Test(pair, sets_up_and_shuts_down)
{
	net_establish(&net);
	sctp_assoc_shutdown(net.host[0].assoc, net.now);
	net_run(&net, net.now + 1000000);
	cr_assert_eq(net.host[0].down, 1);
	cr_assert_eq(net.host[1].down, 1);
	cr_assert_eq(net.host[0].last_down.end, SCTP_END_CLOSED);
	cr_assert_eq(net.host[1].last_down.end, SCTP_END_CLOSED);
}

Test(pair, moves_messages)
{
	net_establish(&net);
	cr_assert(move(&net, 1000, 1000, 10000000));
	cr_assert_eq(net.host[1].messages, 1000);
	cr_assert_eq(net.host[1].sum, 999 * 500);
}

Test(pair, survives_loss)
{
	static const unsigned loss[] = {10, 100, 500, 2000};

	for (unsigned i = 0; i < 4; i++) {
		uint64_t before = net.now;

		net.loss = 0;
		if (!net.host[0].assoc)
			net_establish(&net);
		net.host[1].messages = 0;
		net.loss = loss[i];
		net.delay_us = 10000;
		cr_assert(move(&net, 2000, 1000, 600000000), "loss %u: %lu messages, down %u",
			  loss[i], (unsigned long)net.host[1].messages, net.host[0].down);
		cr_assert_eq(net.host[1].messages, 2000);
		if (getenv("V"))
			printf("loss %u: %lu ms\n", loss[i],
			       (unsigned long)(net.now - before) / 1000);
	}
}

Test(pair, finds_the_largest_packet)
{
	struct sctp_info i;

	net.mtu = 9000;
	net_establish(&net);
	net_run(&net, net.now + 10000000);
	sctp_assoc_info(net.host[0].assoc, &i);
	cr_assert(i.mtu <= 9000 && i.mtu > 9000 - 32, "%u", i.mtu);
}

/* So that the first loss does not cost RTO.Initial: the probe of the path MTU is measured. */
Test(pair, knows_the_round_trip_before_the_first_data)
{
	struct sctp_info i;

	net.delay_us = 10000;
	net_establish(&net);
	net_run(&net, net.now + 100000);
	sctp_assoc_info(net.host[0].assoc, &i);
	cr_assert_eq(i.srtt_us, 20000, "%u", i.srtt_us);
}
