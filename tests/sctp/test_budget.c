/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: work for unknown peers is limited in all, and a network that asks too much leaves half
 * of it to the others (sctp/base/budget.h). */
#include <criterion/criterion.h>

#include "sctp/base/budget.h"

enum { RATE = 10000, SECOND = 1000000 };

static struct sctp_budget b;
static const uint64_t key[2] = {1, 2};

static void setup(void)
{
	sctp_budget_init(&b, RATE, key, 0);
}

TestSuite(budget, .init = setup);

static struct sctp_addr v4(unsigned a, unsigned b1, unsigned c, unsigned d)
{
	const uint8_t ip[4] = {(uint8_t)a, (uint8_t)b1, (uint8_t)c, (uint8_t)d};

	return sctp_addr_v4(ip);
}

static bool ask(enum sctp_work work, struct sctp_addr from, uint64_t now)
{
	return sctp_budget_take(&b, work, &from, now) == SCTP_BUDGET_OK;
}

/* Asks n times per millisecond, from addresses of that many networks in turn, for some seconds.
 * Returns how often that was granted in the last one. */
static unsigned flood(unsigned n, unsigned networks, unsigned seconds, uint64_t *now)
{
	unsigned granted = 0, turn = 0;

	for (unsigned ms = 0; ms < seconds * 1000; ms++, *now += 1000) {
		if (ms == (seconds - 1) * 1000)
			granted = 0;
		for (unsigned i = 0; i < n; i++, turn++)
			granted += ask(SCTP_WORK_INIT,
				       v4(10 + turn % networks / 256, turn % networks % 256, 0,
					  turn % 250),
				       *now);
	}
	return granted;
}

Test(budget, a_lone_network_may_use_all_of_it)
{
	uint64_t now = SECOND;
	unsigned n = 0;

	for (unsigned i = 0; i < 490; i++)
		cr_assert(ask(SCTP_WORK_INIT, v4(10, 0, 0, 1), now), "at once: %u", i);
	for (unsigned ms = 0; ms < 10000; ms++, now += 1000)
		for (unsigned i = 0; i < 20; i++)
			n += ask(SCTP_WORK_INIT, v4(10, 0, 0, 1), now);
	cr_assert(n >= 10 * RATE * 99 / 100 && n <= 10 * RATE + RATE * SCTP_BUDGET_SAVE_MS / 1000,
		  "%u", n);
}

Test(budget, a_thousand_peers_may_begin_at_once)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 1000; i++)
		n += ask(SCTP_WORK_INIT, v4(10, i / 250, i % 250, 1), SECOND);
	cr_assert_eq(n, 1000);
}

Test(budget, all_networks_together_get_the_rate)
{
	uint64_t now = SECOND;
	unsigned n = flood(1000, 10000, 3, &now);

	cr_assert(n >= RATE * 99 / 100 && n <= RATE * 101 / 100, "%u", n);
}

/* An honest peer that asks a few times each second, while others flood: how often of 1,000. */
static unsigned honest(unsigned flooders)
{
	uint64_t now = SECOND;
	unsigned n = 0;

	flood(1000, flooders, 3, &now);
	for (unsigned i = 0; i < 100; i++) {
		flood(1000, flooders, 1, &now);
		for (unsigned k = 0; k < 10; k++)
			n += ask(SCTP_WORK_INIT, v4(192, 0, 2, k), now);
	}
	return n;
}

Test(budget, a_few_networks_that_flood_do_not_keep_others_out)
{
	unsigned n = honest(1);

	cr_assert_geq(n, 990, "%u of 1000", n);
	setup();
	n = honest(100);
	/* Of 4,096 entries 100 are used up: who shares one now does not a little later. */
	cr_assert_geq(n, 900, "%u of 1000", n);
}

Test(budget, many_networks_do_no_more_harm_than_the_whole_rate)
{
	/* 1,000 packets a millisecond: the rate serves one in a hundred. */
	unsigned n = honest(20000);

	cr_assert_geq(n, 3, "%u of 1000", n);
}

Test(budget, one_kind_of_work_leaves_the_others_theirs)
{
	uint64_t now = SECOND;

	flood(1000, 10000, 3, &now);
	for (unsigned i = 0; i < 100; i++) {
		cr_assert(ask(SCTP_WORK_COOKIE, v4(192, 0, 2, 1), now));
		cr_assert(ask(SCTP_WORK_KNOWN, v4(192, 0, 2, 1), now));
		cr_assert(ask(SCTP_WORK_BLUE, v4(192, 0, 2, 1), now));
	}
}

static uint64_t network(struct sctp_addr a)
{
	return sctp_budget_network(key, &a, 0);
}

static struct sctp_addr v6(uint8_t prefix, uint8_t host)
{
	return (struct sctp_addr){
		.ip = {0x20, 1, 0xd, 0xb8, 0, 0, 0, prefix, 0, 0, 0, 0, 0, 0, 0, host}};
}

Test(budget, a_network_is_a_24_or_a_64)
{
	cr_assert_eq(network(v4(10, 1, 2, 3)), network(v4(10, 1, 2, 250)));
	cr_assert_neq(network(v4(10, 1, 2, 3)), network(v4(10, 1, 3, 3)));
	cr_assert_eq(network(v6(1, 1)), network(v6(1, 2)));
	cr_assert_neq(network(v6(1, 1)), network(v6(2, 1)));
}

Test(budget, the_lowest_rate_serves_one_a_second)
{
	unsigned n = 0;

	sctp_budget_init(&b, 1, key, 77);
	for (uint64_t now = 77; now < 77 + 100 * (uint64_t)SECOND; now += 10000)
		n += ask(SCTP_WORK_INIT, v4(10, 0, 0, 1), now);
	cr_assert(n >= 99 && n <= 101, "%u", n);
}
