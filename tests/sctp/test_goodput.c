/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: over a link of 100 Mbit/s and 20 ms that loses packets, two stacks reach the goodput
 * that Linux's TCP (CUBIC) reaches there, and the association survives. scripts/goodput has
 * measured it: the numbers below. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/sctp/net.h"

enum {
	SECOND = 1000000,
	RTT_US = 20000,
	RATE = 12150,     /* bytes per ms that remain for SCTP */
	QUEUE_US = 20400, /* of the bottleneck: 170 packets */
	DELAYED = 4,      /* packets that a SACK waits for, as in the daemon */
};

static struct net net;

/* Bursts: of the packets with data that come within 100 ms, twice a second. */
static struct {
	unsigned size, left;
	uint64_t next_us, end_us;
} burst;

static bool survives(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
		     uint32_t len)
{
	(void)b;
	(void)p;
	if (burst.size == 0 || from != 0 || len < 1000)
		return true;
	if (n->now >= burst.next_us) {
		burst.next_us = n->now + SECOND / 2;
		burst.end_us = n->now + SECOND / 10;
		burst.left = burst.size;
	}
	if (burst.left == 0 || n->now >= burst.end_us)
		return true;
	burst.left--;
	return false;
}

/* Every second packet with data is lost. */
static bool is_even(struct net *n, unsigned from, const struct sctp_batch *b, uint8_t *p,
		    uint32_t len)
{
	static unsigned i;

	(void)n;
	(void)b;
	(void)p;
	return from != 0 || len < 1000 || ++i % 2 == 0;
}

static void set_up_rtt(uint64_t seed, unsigned sack_packets, uint64_t rtt_us)
{
	struct sctp_config cfg[2];

	memset(&net, 0, sizeof(net));
	net.seed = seed;
	for (unsigned i = 0; i < 2; i++) {
		cfg[i] = net_config(&net, i, 1);
		cfg[i].send_buffer = cfg[i].recv_buffer = 2 << 20;
		cfg[i].sack_packets = sack_packets;
		cfg[i].rto_max_us = 5 * SECOND;
	}
	net.delay_us = rtt_us / 2;
	net_init_cfg(&net, seed, &cfg[0], &cfg[1]);
	net.rate = RATE;
	net.queue_us = QUEUE_US;
	net.mtu = 1500;
	net.filter = survives;
	net_establish(&net);
}

static void set_up(uint64_t seed, unsigned sack_packets)
{
	set_up_rtt(seed, sack_packets, RTT_US);
}

/* There always is something to send. */
static void run(uint64_t us)
{
	uint64_t end = net.now + us;
	struct sctp_info i;

	while (net.now < end) {
		cr_assert(net.host[0].assoc, "the association ended");
		sctp_assoc_info(net.host[0].assoc, &i);
		while (net_send(&net, 0, 0, 0, i.max_message) == SCTP_E_OK)
			;
		net_run(&net, net.now + 1000);
	}
}

/* MB/s, after the first seconds. loss: of 10,000 packets in both directions. */
static double goodput(unsigned loss, unsigned size, unsigned sack_packets, unsigned seconds)
{
	double sum = 0;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		uint64_t before;

		set_up(seed, sack_packets);
		net.loss = loss;
		burst.size = size;
		burst.next_us = net.now + SECOND / 4;
		run(5 * SECOND);
		before = net.host[1].bytes;
		run((uint64_t)seconds * SECOND);
		sum += (double)(net.host[1].bytes - before) / seconds / 1e6 / 3;
		net_deinit(&net);
	}
	return sum;
}

Test(goodput, random_loss_costs_no_more_than_tcp)
{
	static const struct {
		unsigned loss;
		double tcp;
	} row[] = {{10, 3.27}, {100, 1.04}, {500, 0.33}};

	for (unsigned i = 0; i < 3; i++) {
		double ours = goodput(row[i].loss, 0, DELAYED, 100);

		cr_log_info("loss %u: %.3f MB/s", row[i].loss, ours);
		cr_assert_geq(ours, row[i].tcp, "loss of %u in 10,000: %.3f MB/s, TCP %.3f",
			      row[i].loss, ours, row[i].tcp);
	}
}

Test(goodput, bursts_cost_no_more_than_tcp)
{
	static const struct {
		unsigned size;
		double tcp;
	} row[] = {{1, 2.24}, {16, 0.86}, {64, 0.81}, {256, 0.74}};

	for (unsigned i = 0; i < 4; i++) {
		double ours = goodput(0, row[i].size, DELAYED, 30);

		cr_log_info("bursts of %u: %.3f MB/s", row[i].size, ours);
		cr_assert_geq(ours, row[i].tcp, "bursts of %u: %.3f MB/s, TCP %.3f", row[i].size,
			      ours, row[i].tcp);
	}
}

/* One packet in 20 overtakes the queue of the bottleneck. It must not shorten SRTT, which limits
 * how long later ones are waited for. */
Test(goodput, reordering_costs_nothing)
{
	struct sctp_info i;
	uint64_t before;
	double rate;

	set_up(1, DELAYED);
	net.queue_us = 3 * QUEUE_US;
	net.overtake = 500;
	run(10 * SECOND);
	sctp_assoc_info(net.host[0].assoc, &i);
	cr_log_info("SRTT %u us with %u bytes in flight", i.srtt_us, i.cwnd);
	cr_assert_gt(i.cwnd, 400000, "there is no queue");
	cr_assert_geq((uint64_t)i.srtt_us * RATE / 1000, i.cwnd * UINT64_C(8) / 10,
		      "SRTT is %u us with %u bytes in flight", i.srtt_us, i.cwnd);
	before = net.host[1].bytes;
	run(30 * SECOND);
	rate = (double)(net.host[1].bytes - before) / 30e3;
	net_deinit(&net);
	cr_log_info("%.0f of %d bytes per ms", rate, RATE);
	cr_assert_geq(rate, 0.975 * RATE);
}

/* What a SACK waits for while the window is full would be missing from it. */
Test(goodput, delayed_acknowledgements_cost_nothing_in_a_small_window)
{
	double each = goodput(100, 0, 1, 60), delayed = goodput(100, 0, DELAYED, 60);

	cr_log_info("each %.3f MB/s, delayed %.3f MB/s", each, delayed);
	cr_assert_geq(delayed, 0.96 * each, "each %.3f MB/s, delayed %.3f MB/s", each, delayed);
}

/* A SACK has no room for so many gaps: it does not report the chunks behind them. They are not
 * repeated before another one does. */
Test(goodput, more_gaps_than_a_sack_lists_cost_no_needless_repetition)
{
	struct sctp_stats sender, receiver;

	set_up_rtt(1, DELAYED, 10 * RTT_US);
	net.rate = 0;
	run(3 * SECOND);
	net.filter = is_even;
	run(9 * SECOND / 50);
	net.filter = NULL;
	run(3 * SECOND);
	sctp_stats(net.host[0].s, &sender);
	sctp_stats(net.host[1].s, &receiver);
	cr_assert_gt(sender.retransmits, 400);
	cr_assert_eq(sender.timeouts, 0);
	cr_assert_eq(receiver.duplicates, 0);
	net_deinit(&net);
}
