/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: an association closes on both sides whatever the network does, after all messages were
 * delivered (RFC 9260 9.2). */
#include <criterion/criterion.h>

#include "tests/sctp/move.h"

enum { SECOND = 1000000 };

static struct net net;

static void setup(void)
{
	net_init(&net, 3, 1);
	net_establish(&net);
}

static void teardown(void)
{
	net_deinit(&net);
}

TestSuite(shutdown, .init = setup, .fini = teardown);

static bool both_down(struct net *n)
{
	return n->host[0].down && n->host[1].down;
}

static void send_from(unsigned host, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		cr_assert_eq(net_send(&net, host, 1, i, 800), SCTP_E_OK);
}

static void expect_closed(void)
{
	for (unsigned h = 0; h < 2; h++)
		cr_assert_eq(net.host[h].last_down.end, SCTP_END_CLOSED, "host %u: %u", h,
			     net.host[h].last_down.end);
}

/* rows: 9260-9-03 9260-9-04 9260-9.2-01 9260-9.2-02 9260-9.2-32 9260-9.2-33 */
Test(shutdown, what_is_queued_on_both_sides_is_delivered)
{
	send_from(0, 300);
	send_from(1, 300);
	sctp_assoc_shutdown(net.host[0].assoc, net.now);
	cr_assert_eq(net_send(&net, 0, 1, 0, 100), SCTP_E_DOWN);
	cr_assert(net_run_until(&net, both_down, net.now + 10 * SECOND));
	expect_closed();
	cr_assert_eq(net.host[0].messages, 300);
	cr_assert_eq(net.host[1].messages, 300);
}

/* rows: 9260-9.2-39 9260-9.2-40 */
Test(shutdown, both_sides_at_once)
{
	uint64_t begin = net.now;

	sctp_assoc_shutdown(net.host[0].assoc, net.now);
	sctp_assoc_shutdown(net.host[1].assoc, net.now);
	cr_assert(net_run_until(&net, both_down, net.now + SECOND));
	expect_closed();
	cr_assert_lt(net.now - begin, 10 * net.delay_us, "without a timeout");
}

/* rows: 9260-9.2-03 9260-9.2-16 */
Test(shutdown, under_loss_from_either_side_or_both)
{
	static const unsigned loss[] = {500, 2000, 4000};

	for (unsigned i = 0; i < 9; i++) {
		net.loss = 0;
		if (i)
			net_init(&net, 100 + i, 1), net_establish(&net);
		net.loss = loss[i / 3];
		send_from(0, 100);
		send_from(1, 100);
		if (i % 3 != 1)
			sctp_assoc_shutdown(net.host[0].assoc, net.now);
		if (i % 3 != 0)
			sctp_assoc_shutdown(net.host[1].assoc, net.now);
		cr_assert(net_run_until(&net, both_down, net.now + 900 * (uint64_t)SECOND),
			  "round %u", i);
		cr_assert_eq(net.host[0].messages, 100);
		cr_assert_eq(net.host[1].messages, 100);
		if (i < 8)
			net_deinit(&net);
	}
}

static unsigned lost_type;

static bool lose_first(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
		       uint32_t len)
{
	(void)n;
	(void)from;
	(void)b;
	(void)len;
	if (p[12] != lost_type)
		return true;
	lost_type = 255;
	return false;
}

/* rows: 9260-9.2-06 9260-9.2-25 */
Test(shutdown, each_of_its_packets_may_be_lost)
{
	for (unsigned type = 7; type <= 14; type = type == 7 ? 8 : type + 6) {
		lost_type = type;
		net.filter = lose_first;
		sctp_assoc_shutdown(net.host[0].assoc, net.now);
		cr_assert(net_run_until(&net, both_down, net.now + 10 * SECOND), "type %u", type);
		expect_closed();
		cr_assert_eq(lost_type, 255);
		net_deinit(&net);
		net_init(&net, type, 1);
		net_establish(&net);
	}
}

/* rows: 9260-9.2-09 9260-9.2-10 9260-9.2-11 */
Test(shutdown, a_silent_peer_is_given_up)
{
	net.loss = 10000;
	sctp_assoc_shutdown(net.host[0].assoc, net.now);
	net_run(&net, net.now + 3600 * (uint64_t)SECOND);
	cr_assert_eq(net.host[0].down, 1);
	cr_assert_eq(net.host[0].last_down.end, SCTP_END_TIMEOUT);
}
