/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: memory that cannot be had costs messages or associations, never correctness; what a
 * burst takes goes back. */
#include <criterion/criterion.h>

#include "sctp/base/stack.h"
#include "tests/sctp/move.h"

enum { SECOND = 1000000 };

static struct net net;

static void setup(void)
{
	net_init(&net, 9, 1);
}

static void teardown(void)
{
	net_deinit(&net);
}

TestSuite(memory, .init = setup, .fini = teardown);

/* Everything that allocates, while each n-th allocation fails. */
static void everything(unsigned n)
{
	net.host[0].fail_every = net.host[1].fail_every = n;
	net.loss = 500;
	net.reorder = 1000;
	if (!net_connect(&net))
		return;
	net_run(&net, net.now + 5 * SECOND);
	if (net.host[0].assoc && net.host[1].assoc) {
		(void)move(&net, 300, 1000, 60 * SECOND);
		for (unsigned i = 0; i < 100 && net.host[1].assoc; i++)
			(void)net_send(&net, 1, 1, i, 1100);
	}
	if (net.host[0].assoc)
		sctp_assoc_shutdown(net.host[0].assoc, net.now);
	net_run(&net, net.now + 600 * (uint64_t)SECOND);
}

/* Another network; the old one checks that everything is back. */
static void restart(uint64_t seed, enum sctp_cc_algo cc)
{
	struct sctp_config cfg[2];

	net_deinit(&net);
	net = (struct net){0};
	for (unsigned h = 0; h < 2; h++) {
		cfg[h] = net_config(&net, h, 1);
		cfg[h].cc = cc;
	}
	net_init_cfg(&net, seed, &cfg[0], &cfg[1]);
}

Test(memory, failing_allocations_leak_nothing)
{
	for (unsigned n = 2; n <= 40; n++) {
		everything(n);
		restart(n, n % 2 ? SCTP_CC_BBR : SCTP_CC_CUBIC);
	}
}

/* A second association is set up, used and shut down, while one allocation of a host fails. True if
 * there are so many. */
static bool fails_once(unsigned host, unsigned nth)
{
	struct sctp_assoc *first[2] = {net.host[0].assoc, net.host[1].assoc};
	struct net_host *h = &net.host[host];
	uint64_t before;

	h->fail_at = h->allocs + nth;
	if (net_connect(&net)) {
		net_run(&net, net.now + 20 * SECOND);
		if (net.host[0].assoc && net.host[0].assoc != first[0]) {
			for (unsigned i = 0; i < 20; i++)
				(void)net_send(&net, 0, 0, i, 1000);
			net_run(&net, net.now + 20 * SECOND);
			if (net.host[0].assoc)
				sctp_assoc_shutdown(net.host[0].assoc, net.now);
			net_run(&net, net.now + 60 * SECOND);
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_leq(net.host[i].down, 1, "the first association ended, too");
		net.host[i].assoc = first[i];
	}
	before = net.host[1].messages;
	cr_assert(move(&net, 50, 1000, 60 * SECOND));
	cr_assert_geq(net.host[1].messages, before + 50);
	return h->allocs >= h->fail_at;
}

static void each_fails(unsigned host, enum sctp_cc_algo cc)
{
	bool more = true;
	unsigned n = 1;

	for (; more; n++) {
		restart(n, cc);
		net_establish(&net);
		more = fails_once(host, n);
		cr_assert_lt(n, 1000);
	}
	cr_assert_gt(n, 3, "host %u: %u", host, n);
}

Test(memory, each_allocation_may_fail_and_others_lose_nothing)
{
	for (unsigned host = 0; host < 2; host++) {
		each_fails(host, SCTP_CC_CUBIC);
		each_fails(host, SCTP_CC_BBR);
	}
}

Test(memory, an_idle_association_is_small)
{
	uint64_t before[2], after;

	for (unsigned h = 0; h < 2; h++)
		before[h] = sctp_memory(net.host[h].s);
	net_establish(&net);
	net_run(&net, net.now + 10 * SECOND);
	for (unsigned h = 0; h < 2; h++) {
		after = sctp_memory(net.host[h].s);
		cr_assert_lt(after - before[h], 8192, "%lu bytes",
			     (unsigned long)(after - before[h]));
	}
}

/* rows: 9260-6.7-05 */
Test(memory, a_burst_gives_its_memory_back)
{
	uint64_t idle[2], most = 0;

	net_establish(&net);
	net_run(&net, net.now + 10 * SECOND);
	for (unsigned h = 0; h < 2; h++)
		idle[h] = sctp_memory(net.host[h].s);
	net.loss = 300;
	net.delay_us = 20000;
	for (unsigned i = 0; i < 230; i++)
		cr_assert_eq(net_send(&net, 0, 0, i, 1100), SCTP_E_OK);
	most = sctp_memory(net.host[0].s);
	cr_assert_gt(most, idle[0] + 250000);
	cr_assert(net_run_until(&net, move_acked_0, net.now + 60 * SECOND));
	net_run(&net, net.now + 10 * SECOND);
	for (unsigned h = 0; h < 2; h++)
		/* One slab may stay. */
		cr_assert_leq(sctp_memory(net.host[h].s), idle[h] + 17 * 16384 + 65536);
}

Test(memory, the_records_of_a_flight_go_with_it)
{
	const struct sctp_pool *pool;

	restart(9, SCTP_CC_BBR);
	net_establish(&net);
	pool = &net.host[0].s->pool;
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 20; i++)
			cr_assert_eq(net_send(&net, 0, 0, i, 1100), SCTP_E_OK);
		net_run(&net, net.now + 1);
		cr_assert_gt(pool->used, 0);
		cr_assert(net_run_until(&net, move_acked_0, net.now + 60 * SECOND));
		net_run(&net, net.now + 10);
		cr_assert_eq(pool->used, 0, "%lu bytes", (unsigned long)pool->used);
	}
}

Test(memory, a_thousand_associations_come_and_go)
{
	static struct sctp_assoc *a[1000];
	struct sctp_config a_cfg, b_cfg;
	uint64_t before, all;

	net_deinit(&net);
	a_cfg = net_config(&net, 0, 1);
	b_cfg = net_config(&net, 1, 1);
	b_cfg.max_assocs = 4000; /* a network may have half of them */
	net_init_cfg(&net, 9, &a_cfg, &b_cfg);
	before = sctp_memory(net.host[0].s);
	for (unsigned i = 0; i < 1000; i++) {
		cr_assert((a[i] = net_connect(&net)) != NULL, "association %u", i);
		net_run(&net, net.now + 10);
	}
	cr_assert_null(net_connect(&net), "max_assocs");
	net_run(&net, net.now + 5 * SECOND);
	cr_assert_eq(net.host[0].up, 1000);
	all = sctp_memory(net.host[0].s) - before;
	cr_assert_lt(all, 8 << 20);
	for (unsigned i = 0; i < 1000; i++)
		sctp_assoc_shutdown(a[i], net.now);
	net_run(&net, net.now + 600 * (uint64_t)SECOND);
	cr_assert_eq(net.host[0].down, 1000);
	cr_assert_eq(net.host[1].down, 1000);
	cr_assert_leq(sctp_memory(net.host[0].s), before + before / 10);
}

/* A heartbeat is due, or the time for its answer has passed: nothing else wakes a stack. */
Test(memory, ten_thousand_idle_associations_wake_for_heartbeats_alone)
{
	enum { ASSOCS = 10000, MINUTE = 60 * SECOND };
	struct sctp_config a_cfg, b_cfg;
	uint64_t until, sent, wakes = 0;

	net_deinit(&net);
	a_cfg = net_config(&net, 0, 1);
	b_cfg = net_config(&net, 1, 1);
	a_cfg.max_assocs = ASSOCS;
	b_cfg.max_assocs = 4 * ASSOCS; /* a network may have half of them */
	a_cfg.max_memory = b_cfg.max_memory = 256 << 20;
	net_init_cfg(&net, 9, &a_cfg, &b_cfg);
	for (unsigned i = 0; i < ASSOCS; i++) {
		cr_assert_not_null(net_connect(&net), "association %u", i);
		net_run(&net, net.now + 10);
	}
	net_run(&net, net.now + MINUTE);
	cr_assert_eq(net.host[0].up, ASSOCS);
	for (until = net.now + MINUTE, sent = net.sent;;) {
		uint64_t at[2] = {sctp_expiry(net.host[0].s), sctp_expiry(net.host[1].s)};
		uint64_t next = at[0] < at[1] ? at[0] : at[1];

		if (next > until)
			break;
		net_run(&net, next);
		wakes++;
	}
	sent = net.sent - sent;
	cr_assert_eq(net.host[0].down + net.host[1].down, 0);
	/* In a minute each end sends two heartbeats, three at most, and answers the other's. */
	cr_assert_leq(sent, 2 * 2 * 3 * ASSOCS);
	cr_assert_leq(wakes, sent);
}
