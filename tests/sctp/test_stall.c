/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: no association stays without progress and without a reason: data that a path no longer
 * takes arrives as IP fragments, or on another path, or both ends learn the reason within 10 s. */
#include <criterion/criterion.h>

#include "tests/sctp/move.h"

enum { SECOND = 1000000, WITHIN = 10 * SECOND };

static struct net net;
static bool fragments_pass;
static uint32_t largest; /* DATA, IP packet, not in fragments */
static uint32_t first_probe;

static bool narrow(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
		   uint32_t len)
{
	const uint32_t *takes = n->filter_user;
	unsigned subnet = b->to.peer.ip[14];

	if (p[12] == 0 && !b->fragment && len + 28 > largest)
		largest = len + 28;
	if (from == 0 && b->probe && !first_probe)
		first_probe = len + 28;
	return len + 28 <= takes[subnet] || (b->fragment && fragments_pass);
}

/* What the path of each subnet takes. */
static uint32_t takes[2];

static void begin(unsigned addrs, uint32_t size)
{
	net_init(&net, 7, addrs);
	net.delay_us = 1000;
	net.filter = narrow;
	net.filter_user = takes;
	takes[0] = takes[1] = size;
	fragments_pass = false;
	largest = first_probe = 0;
}

static void teardown(void)
{
	net_deinit(&net);
}

TestSuite(stall, .fini = teardown);

static uint32_t message(void)
{
	struct sctp_info i;

	sctp_assoc_info(net.host[0].assoc, &i);
	return i.max_message;
}

static uint32_t mtu(void)
{
	struct sctp_info i;

	sctp_assoc_info(net.host[0].assoc, &i);
	return i.mtu;
}

static bool both_down(struct net *n)
{
	return n->host[0].down && n->host[1].down;
}

static bool arrived(struct net *n)
{
	return n->host[1].messages == 100;
}

/* rows: 9260-6.10-01 */
Test(stall, a_path_of_700_carries_data_from_the_start)
{
	static const uint32_t size[] = {600, 700, 1000, 1300, 1500, 9000};

	for (unsigned i = 0; i < sizeof(size) / sizeof(*size); i++) {
		uint64_t at;

		begin(1, size[i]);
		cr_assert_not_null(net_connect(&net));
		at = net.now;
		while (!net.host[0].up)
			net_run(&net, net.now + 100);
		for (unsigned k = 0; k < 100; k++)
			cr_assert_eq(net_send(&net, 0, 0, k, message()), SCTP_E_OK);
		cr_assert(net_run_until(&net, arrived, at + 2 * SECOND), "%u", size[i]);
		net_run(&net, net.now + 30 * SECOND);
		cr_assert_leq(mtu(), size[i]);
		cr_assert_leq(size[i] - mtu(), 20);
		cr_assert_leq(largest, size[i], "no size is used before it was seen to pass");
		if (i + 1 < sizeof(size) / sizeof(*size))
			net_deinit(&net);
	}
}

/* Data is in flight when the path becomes narrow. */
static void shrink(uint32_t size)
{
	net_establish(&net);
	net_run(&net, net.now + 30 * SECOND);
	cr_assert(move_queue(&net, 50, message(), 60 * SECOND));
	takes[0] = size;
}

Test(stall, both_ends_get_the_reason)
{
	uint64_t at;

	begin(1, 1500);
	shrink(1300);
	at = net.now;
	cr_assert(net_run_until(&net, both_down, at + WITHIN));
	cr_assert_eq(net.host[0].last_down.end, SCTP_END_STALLED);
	cr_assert_str_eq(net.host[0].last_down.text,
			 "packets of 1496 bytes no longer arrive, those of 1292 bytes do");
	cr_assert_eq(net.host[1].last_down.end, SCTP_END_ABORTED);
	cr_assert_str_eq(net.host[1].last_down.text, net.host[0].last_down.text);
	cr_assert_leq(net.host[0].resized, 12, "the size does not go up and down");
}

/* rows: 9260-7.3-01 */
Test(stall, the_next_association_begins_with_what_passed)
{
	begin(1, 1500);
	shrink(1300);
	cr_assert(net_run_until(&net, both_down, net.now + WITHIN));
	net.host[0].up = net.host[1].incoming = 0;
	first_probe = 0;
	net_establish(&net);
	cr_assert(first_probe <= 1300 && first_probe > 1260, "%u", first_probe);
	cr_assert_eq(mtu(), first_probe, "known after one round trip");
	cr_assert(move(&net, 100, message(), 2 * SECOND));
	net_run(&net, net.now + 700 * (uint64_t)SECOND);
	takes[0] = 1500;
	net_run(&net, net.now + 700 * (uint64_t)SECOND);
	cr_assert_gt(mtu(), 1480, "what is larger is searched as usual");
}

/* rows: 9260-6.9-09 */
Test(stall, fragments_that_pass_carry_on)
{
	uint64_t at;

	begin(1, 9000);
	fragments_pass = true;
	shrink(600);
	at = net.now;
	cr_assert(net_run_until(&net, move_acked_0, at + 2 * SECOND));
	cr_assert_eq(net.host[0].down, 0);
	net_run(&net, net.now + 30 * SECOND);
	cr_assert_leq(mtu(), 600);
	cr_assert(move(&net, 100, message(), 2 * SECOND));
}

Test(stall, what_is_too_long_for_a_path_takes_another)
{
	begin(2, 1500);
	shrink(700);
	cr_assert(net_run_until(&net, move_acked_0, net.now + WITHIN));
	cr_assert_eq(net.host[0].down, 0);
	net_run(&net, net.now + 30 * SECOND);
	cr_assert(move(&net, 100, message(), 2 * SECOND));
	cr_assert_eq(net.host[0].down, 0);
}

Test(stall, an_outage_has_the_usual_limits)
{
	uint64_t at;

	begin(1, 1500);
	shrink(0);
	at = net.now;
	net_run(&net, at + 2 * WITHIN);
	cr_assert_eq(net.host[0].down, 0);
	takes[0] = 1500;
	cr_assert(net_run_until(&net, move_acked_0, at + 60 * (uint64_t)SECOND));
	cr_assert_eq(net.host[0].down, 0);
	cr_assert_gt(mtu(), 1480, "nothing arrived: the size is as good as before");
}

/* The TSN of the first DATA chunk, which a SACK may precede; NULL: there is none. */
static const uint8_t *first_tsn(const uint8_t *p, uint32_t len)
{
	uint32_t at = 12;

	if (p[at] == 3)
		at += (uint32_t)p[at + 2] << 8 | p[at + 3];
	return at < len && p[at] == 0 ? p + at + 4 : NULL;
}

/* It overtakes; the one that does not arrive holds up nothing but itself. */
static bool no_first(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
		     uint32_t len)
{
	const uint8_t *found = from == 0 ? first_tsn(p, len) : NULL;
	static uint8_t tsn[4];

	(void)b;
	if (!found)
		return true;
	if (*(bool *)n->filter_user) {
		memcpy(tsn, found, 4);
		*(bool *)n->filter_user = false;
	}
	return memcmp(tsn, found, 4) != 0;
}

Test(stall, one_chunk_that_never_arrives_ends_it_whatever_else_does)
{
	bool first = true;
	uint64_t at;

	begin(1, 1500);
	net_establish(&net);
	net_run(&net, net.now + 30 * SECOND);
	net.filter = no_first;
	net.filter_user = &first;
	at = net.now;
	while (!net.host[0].down && net.now < at + 3600 * (uint64_t)SECOND) {
		net_send(&net, 0, 0, 1, 100);
		net_run(&net, net.now + SECOND);
	}
	cr_assert_eq(net.host[0].down, 1);
	cr_assert_eq(net.host[0].last_down.end, SCTP_END_STALLED);
	cr_assert_str_eq(net.host[0].last_down.text, "packets of 156 bytes no longer arrive");
	cr_assert_gt(net.now - at, WITHIN, "nothing says that the size is the reason");
}

/* Packets of the peer come a little slower than SACKs for them are delayed, so that one is always
 * due. */
Test(stall, the_size_is_that_of_the_packet_with_its_sack)
{
	enum { SLOWER = 210000, IN_A_SECOND = 5 };
	bool first = true;
	uint64_t at;

	begin(1, 1500);
	net_establish(&net);
	net_run(&net, net.now + 30 * SECOND);
	net.filter = no_first;
	net.filter_user = &first;
	at = net.now;
	for (unsigned i = 0; !net.host[0].down && net.now < at + 3600 * (uint64_t)SECOND; i++) {
		net_send(&net, 1, 0, 1, 100);
		net_run(&net, net.now + SLOWER);
		if (i % IN_A_SECOND == 0)
			net_send(&net, 0, 0, 1, 100);
	}
	cr_assert_eq(net.host[0].down, 1);
	cr_assert_eq(net.host[0].last_down.end, SCTP_END_STALLED);
	cr_assert_str_eq(net.host[0].last_down.text, "packets of 172 bytes no longer arrive");
}
