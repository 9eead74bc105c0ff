/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: associations with one peer share batches as long as their packets have one length, so
 * that many of them cost few system calls; each packet is what it would be alone. */
#include <criterion/criterion.h>

#include "tests/sctp/net.h"

enum { ASSOCS = 10 };

static struct net n;
static struct sctp_assoc *assoc[ASSOCS];

static void setup(void)
{
	net_init(&n, 1, 2);
	n.host[1].accept = true;
	net_establish(&n);
	assoc[0] = n.host[0].assoc;
	for (unsigned i = 1; i < ASSOCS; i++)
		assoc[i] = net_connect(&n);
	net_run(&n, n.now + 10000000);
	cr_assert_eq(n.host[0].up, ASSOCS);
}

static void teardown(void)
{
	net_deinit(&n);
}

TestSuite(shared_batch, .init = setup, .fini = teardown);

static void post(unsigned i, uint32_t len)
{
	static uint8_t data[4096];
	struct span s = {data, len};

	cr_assert_eq(sctp_assoc_send(assoc[i], 0, 7, false, &s, 1), 0);
}

/* Of each packet that a host sends: how many are in its batch. */
static struct {
	unsigned host, n;
	unsigned packets[64];
} seen;

static bool count(struct net *net, unsigned from, const struct sctp_batch *b, uint8_t *p,
		  uint32_t len)
{
	(void)net, (void)p, (void)len;
	if (from == seen.host)
		seen.packets[seen.n++] = b->packets;
	return true;
}

/* The batches that a host sends until all has arrived. */
static unsigned count_batches(unsigned host, unsigned *ret_packets)
{
	unsigned batches = 0;

	n.filter = count;
	seen.host = host;
	seen.n = 0;
	net_run(&n, n.now + 20000);
	n.filter = NULL;
	for (unsigned i = 0; i < seen.n; i += seen.packets[i])
		batches++;
	*ret_packets = seen.n;
	return batches;
}

Test(shared_batch, packets_of_equal_length_leave_together)
{
	unsigned packets;

	for (unsigned i = 0; i < ASSOCS; i++)
		post(i, 100);
	cr_assert_eq(count_batches(0, &packets), 1);
	cr_assert_eq(packets, ASSOCS);
	cr_assert_eq(n.host[1].messages, ASSOCS);
}

Test(shared_batch, acknowledgements_leave_together)
{
	unsigned packets;

	for (unsigned i = 0; i < ASSOCS; i++)
		post(i, 100);
	cr_assert_eq(count_batches(1, &packets), 1);
	cr_assert_geq(packets, ASSOCS - 1, "of the first DATA at once, %u", packets);
}

Test(shared_batch, shorter_packet_ends_a_batch_and_a_longer_one_begins_another)
{
	unsigned packets;

	post(0, 100);
	post(1, 100);
	post(2, 40);
	post(3, 100);
	post(4, 300);
	post(5, 300);
	cr_assert_eq(count_batches(0, &packets), 3);
	cr_assert_eq(packets, 6);
	cr_assert_eq(n.host[1].messages, 6);
}

Test(shared_batch, association_with_more_than_a_packet_is_not_cut_to_the_size_of_others)
{
	unsigned packets;

	post(0, 100);
	for (unsigned i = 0; i < 5; i++)
		post(1, 100);
	cr_assert_eq(count_batches(0, &packets), 2);
	cr_assert_eq(packets, 2, "five chunks are one packet");
}

/* Packets of assoc[1] that are longer vanish, unless IP fragments them. */
static bool is_narrow(struct net *net, unsigned from, const struct sctp_batch *b, uint8_t *p,
		      uint32_t len)
{
	struct sctp_info info;

	(void)net;
	sctp_assoc_info(assoc[1], &info);
	return from == 1 || p[0] << 8 != (info.local_port & 0xff00) ||
	       p[1] != (info.local_port & 0xff) || len <= 600 || b->fragment;
}

Test(shared_batch, packet_is_not_longer_than_the_path_of_its_association_takes)
{
	unsigned packets;

	n.filter = is_narrow;
	for (unsigned i = 0; i < 20; i++)
		post(1, 1000);
	net_run(&n, n.now + 120000000);
	post(0, 1000);
	post(1, 400);
	post(1, 400);
	cr_assert_eq(count_batches(0, &packets), 2);
	cr_assert_eq(packets, 3, "two chunks of 400 bytes are two packets for that path");
	cr_assert_eq(seen.packets[0], 1, "which are shorter than those of the other one");
}

static bool lose(struct net *net, unsigned from, const struct sctp_batch *b, uint8_t *p,
		 uint32_t len)
{
	static unsigned sent;

	(void)net, (void)b, (void)p, (void)len;
	return from == 1 || ++sent % 3;
}

Test(shared_batch, every_message_arrives_though_packets_of_batches_are_lost)
{
	n.filter = lose;
	for (unsigned round = 0; round < 50; round++) {
		for (unsigned i = 0; i < ASSOCS; i++)
			post(i, 100 + round % 7 * (i % 3) * 100);
		net_run(&n, n.now + 1000);
	}
	net_run(&n, n.now + 60000000);
	cr_assert_eq(n.host[1].messages, 50 * ASSOCS);
	cr_assert_eq(n.host[0].down + n.host[1].down, 0);
}
