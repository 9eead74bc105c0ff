/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the send queue follows the network up to its bound. Little of it waits unsent, so that a
 * small message does not wait behind bulk data, and there is room again as soon as some was
 * acknowledged. */
#include <criterion/criterion.h>
#include <string.h>

#include "sctp/base/path.h"
#include "tests/sctp/net.h"

enum {
	MS = 1000,
	SECOND = 1000 * MS,
	KIB = 1024,
	MIB = 1024 * KIB,
	BOUND = 64 * MIB,
	SHORT_BOUND = 2 * MIB,
	LEAD_MS = 2,
	RATE = 12500, /* bytes per ms */
};

static struct net net;

static void set_up(uint64_t rtt_us, uint32_t bound)
{
	struct sctp_config cfg[2];

	memset(&net, 0, sizeof(net));
	for (unsigned i = 0; i < 2; i++) {
		cfg[i] = net_config(&net, i, 1);
		cfg[i].send_buffer = bound;
		cfg[i].recv_buffer = BOUND;
		cfg[i].max_memory = 1 << 30;
	}
	net.delay_us = rtt_us / 2;
	net_init_cfg(&net, 1, &cfg[0], &cfg[1]);
	net.rate = RATE;
	net.queue_us = SECOND;
	net.mtu = 1500;
	net_establish(&net);
}

static struct sctp_assoc *sender(void)
{
	return net.host[0].assoc;
}

static void fill(void)
{
	struct sctp_info i;

	sctp_assoc_info(sender(), &i);
	while (net_send(&net, 0, 0, 0, i.max_message) == SCTP_E_OK)
		;
}

/* A message goes beyond a bound that is nearly reached. */
static void check_bounds(void)
{
	const struct sctp_queue *q = &sender()->tx;
	const struct sctp_path *p = sctp_primary(sender());
	uint64_t lead = p->pacer.rate ? p->pacer.rate * LEAD_MS / 1000 : p->cc.cwnd;
	bool is_long = p->rto.min_rtt_us >= MS;

	cr_assert_leq(q->bytes, is_long ? sender()->s->cfg.send_buffer : SHORT_BOUND);
	if (lead < 4 * p->cc.pmdcs)
		lead = 4 * p->cc.pmdcs;
	if (!is_long || lead > SCTP_MAX_UNSENT)
		lead = SCTP_MAX_UNSENT;
	/* The rate falls while it waits. */
	cr_assert_leq(q->unsent, 4 * lead + p->cc.pmdcs, "%u unsent at %lu bytes a second",
		      q->unsent, (unsigned long)p->pacer.rate);
}

/* There always is something to send. Returns the most bytes that were queued. */
static uint32_t bulk(uint64_t us)
{
	uint64_t end = net.now + us;
	uint32_t most = 0;

	while (net.now < end) {
		fill();
		check_bounds();
		most = sender()->tx.bytes > most ? sender()->tx.bytes : most;
		net_run(&net, net.now + MS / 4);
	}
	return most;
}

Test(send_queue, it_follows_the_congestion_window_of_a_long_path)
{
	uint32_t most;

	set_up(100 * MS, BOUND);
	most = bulk(5 * SECOND);
	cr_log_info("%u queued, cwnd %u", most, sctp_primary(sender())->cc.cwnd);
	cr_expect_gt(most, 2u * SHORT_BOUND);
	cr_expect_geq(net.host[1].bytes, (uint64_t)RATE * 4000);
	net_run(&net, net.now + 5 * SECOND);
	cr_expect_eq(sender()->tx.bytes, 0);
	cr_expect_leq(sctp_memory(net.host[0].s), 4u * MIB, "%lu",
		      (unsigned long)sctp_memory(net.host[0].s));
	net_deinit(&net);
}

Test(send_queue, it_is_bounded_on_a_short_path)
{
	set_up(200, BOUND);
	cr_expect_leq(bulk(2 * SECOND), (uint32_t)SHORT_BOUND);
	cr_expect_geq(net.host[1].bytes, (uint64_t)RATE * 1800);
	net_deinit(&net);
}

/* The bound limits what is in flight, and not half of it. */
Test(send_queue, a_bound_below_the_window_is_used)
{
	unsigned n = 0;
	uint64_t sum = 0;

	set_up(100 * MS, MIB);
	bulk(3 * SECOND);
	for (uint64_t end = net.now + 2 * SECOND; net.now < end; n++) {
		net.host[0].writable = 0;
		fill();
		sum += sender()->flight.payload;
		net_run(&net, net.now + MS / 4);
	}
	cr_log_info("%lu of %d in flight", (unsigned long)(sum / n), MIB);
	cr_expect_geq(sum / n, MIB * UINT64_C(8) / 10);
	net_deinit(&net);
}

/* A small message beside bulk data takes hardly longer than the packets before it in the network.
 */
Test(send_queue, a_small_message_does_not_wait)
{
	uint64_t began, least = UINT64_MAX, most = 0;
	static const uint64_t mark = UINT64_C(1) << 40;

	set_up(20 * MS, BOUND);
	net.queue_us = 20 * MS;
	bulk(5 * SECOND);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t before = net.host[1].sum;

		while (net_send(&net, 0, 1, mark, 8) != SCTP_E_OK)
			net_run(&net, net.now + 100);
		for (began = net.now; net.host[1].sum - before < mark;) {
			fill();
			net_run(&net, net.now + 100);
		}
		most = net.now - began > most ? net.now - began : most;
		least = net.now - began < least ? net.now - began : least;
	}
	cr_log_info("%lu to %lu us", (unsigned long)least, (unsigned long)most);
	/* One way, the queue of the bottleneck, and what may wait unsent. */
	cr_expect_leq(most, (10 + 20 + 2 * LEAD_MS) * (uint64_t)MS);
	net_deinit(&net);
}
