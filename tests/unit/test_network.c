/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a network of peers gets its limit, and no more than three quarters of the rest, so that
 * another one always finds some; none that is in use is forgotten. */
#include <criterion/criterion.h>
#include <string.h>

#include "util/network.h"

enum { ALL = 1000, MOST = 500 };

static struct network_table t;
static struct network_limits limits;
static unsigned heard;

static void count_refusal(void *user, struct network *n, enum network_kind kind)
{
	cr_assert_eq(user, &heard);
	cr_assert_gt(n->refused[kind], 0);
	heard++;
}

static void setup(void)
{
	for (unsigned i = 0; i < NETWORK_KINDS; i++) {
		limits.most[i] = MOST;
		limits.all[i] = ALL;
	}
	heard = 0;
	network_table_init(&t, 77, &limits);
	t.on_refusal = count_refusal;
	t.user = &heard;
}

static void teardown(void)
{
	network_table_deinit(&t);
}

TestSuite(network, .init = setup, .fini = teardown);

static const uint8_t *v4(unsigned a, unsigned b, unsigned c, unsigned d)
{
	static uint8_t ip[16];

	memset(ip, 0, sizeof(ip));
	memcpy(ip + 10,
	       (const uint8_t[]){0xff, 0xff, (uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d}, 6);
	return ip;
}

static const uint8_t *v6(unsigned net, unsigned host)
{
	static uint8_t ip[16];

	memset(ip, 0, sizeof(ip));
	memcpy(ip,
	       (const uint8_t[]){0x20, 0x01, 0x0d, 0xb8, 0, 0, (uint8_t)(net >> 8), (uint8_t)net},
	       8);
	ip[14] = (uint8_t)(host >> 8);
	ip[15] = (uint8_t)host;
	return ip;
}

/* Charges one after the other; returns how many were granted. */
static unsigned take_all(struct network *n)
{
	unsigned got = 0;

	while (network_charge(n, NETWORK_ASSOCS, 1))
		got++;
	return got;
}

Test(network, is_a_24_or_a_64)
{
	struct network *a = network_hold(&t, v4(192, 0, 2, 1)), *b = network_hold(&t, v6(1, 1));

	cr_assert_eq(network_hold(&t, v4(192, 0, 2, 255)), a);
	cr_assert_neq(network_hold(&t, v4(192, 0, 3, 1)), a);
	cr_assert_eq(network_hold(&t, v6(1, 2)), b);
	cr_assert_neq(network_hold(&t, v6(2, 1)), b);
	cr_assert(network_is_v4(a));
	cr_assert_not(network_is_v4(b));
}

Test(network, one_alone_gets_what_its_limit_says)
{
	struct network *n = network_hold(&t, v4(10, 0, 0, 1));

	cr_assert_eq(take_all(n), MOST);
	cr_assert_eq(n->refused[NETWORK_ASSOCS], 1);
	cr_assert_eq(heard, 1);
	network_release(n, NETWORK_ASSOCS, 1);
	cr_assert_eq(take_all(n), 1);
	cr_assert_eq(n->used[NETWORK_EARLY], 0, "kinds are apart");
}

Test(network, greedy_ones_leave_some_to_the_next)
{
	uint64_t left = ALL;

	limits.most[NETWORK_ASSOCS] = NETWORK_NO_LIMIT;
	network_table_set_limits(&t, &limits);
	for (unsigned i = 0; i < 4; i++) {
		unsigned got = take_all(network_hold(&t, v6(i, 1)));

		cr_assert_eq(got, left - left / 4, "network %u gets %u of %u", i, got,
			     (unsigned)left);
		left -= got;
	}
	cr_assert_gt(left, 0);
	cr_assert(network_table_may(&t, v6(99, 1), NETWORK_ASSOCS));
}

Test(network, the_longest_prefix_that_names_the_kind_counts)
{
	limits.nrules = 3;
	limits.rule[0] = (struct network_rule){.bits = 96 + 8, .has = {[NETWORK_ASSOCS] = true}};
	memcpy(limits.rule[0].ip, v4(10, 0, 0, 0), 16);
	limits.rule[0].most[NETWORK_ASSOCS] = 8;
	limits.rule[1] = limits.rule[0];
	limits.rule[1].bits = 96 + 16;
	limits.rule[1].most[NETWORK_ASSOCS] = 0;
	limits.rule[2] = (struct network_rule){.bits = 96 + 24, .has = {[NETWORK_EARLY] = true}};
	memcpy(limits.rule[2].ip, v4(10, 0, 0, 0), 16);
	limits.rule[2].most[NETWORK_EARLY] = 3;
	network_table_set_limits(&t, &limits);
	cr_assert_not(network_table_may(&t, v4(10, 0, 0, 1), NETWORK_ASSOCS));
	cr_assert(network_table_may(&t, v4(10, 1, 0, 1), NETWORK_ASSOCS));
	cr_assert_eq(take_all(network_hold(&t, v4(10, 1, 0, 1))), 8);
	cr_assert_eq(take_all(network_hold(&t, v4(11, 0, 0, 1))), MOST);
	cr_assert_eq(network_limit(network_hold(&t, v4(10, 0, 0, 9)), NETWORK_EARLY), 3);
	cr_assert_eq(network_limit(network_hold(&t, v4(10, 0, 1, 9)), NETWORK_EARLY), MOST);
}

Test(network, an_ipv6_prefix_has_no_ipv4_address)
{
	limits.nrules = 1;
	limits.rule[0] = (struct network_rule){.bits = 0, .has = {[NETWORK_ASSOCS] = true}};
	limits.rule[0].most[NETWORK_ASSOCS] = 3;
	network_table_set_limits(&t, &limits);
	cr_assert_eq(network_limit(network_hold(&t, v6(1, 1)), NETWORK_ASSOCS), 3);
	cr_assert_eq(network_limit(network_hold(&t, v4(10, 0, 0, 1)), NETWORK_ASSOCS), MOST);
}

Test(network, other_limits_take_nothing_away)
{
	struct network *n = network_hold(&t, v4(10, 0, 0, 1));

	take_all(n);
	limits.most[NETWORK_ASSOCS] = 3;
	network_table_set_limits(&t, &limits);
	cr_assert_eq(n->used[NETWORK_ASSOCS], MOST);
	cr_assert_eq(take_all(n), 0);
	network_release(n, NETWORK_ASSOCS, MOST);
	cr_assert_eq(take_all(n), 3);
}

Test(network, requests_beyond_the_rate_are_refused)
{
	struct network *n = network_hold(&t, v4(10, 0, 0, 1));
	unsigned got = 0;

	limits.most[NETWORK_RATE] = 10;
	network_table_set_limits(&t, &limits);
	for (unsigned ms = 5000; ms < 15000; ms++)
		got += network_request(n, ms);
	cr_assert(got >= 100 && got <= 110, "%u in 10 s", got);
	cr_assert_eq(n->refused[NETWORK_RATE], 10000 - got);
	limits.most[NETWORK_RATE] = 0;
	network_table_set_limits(&t, &limits);
	cr_assert_not(network_request(n, 1000000));
}

Test(network, what_is_held_stays_and_the_rest_is_bounded)
{
	struct network *held = network_hold(&t, v6(9999, 1)),
		       *worth = network_hold(&t, v6(9998, 1));

	network_charge(held, NETWORK_ASSOCS, 7);
	worth->keep_ms = 1000;
	network_drop(worth);
	for (unsigned i = 0; i < 9000; i++)
		network_drop(network_hold(&t, v6(i, 1)));
	cr_assert_leq(t.all.used, NETWORK_KEPT + 1);
	cr_assert_eq(network_hold(&t, v6(9999, 2)), held);
	cr_assert_eq(held->used[NETWORK_ASSOCS], 7);
	cr_assert_eq(network_hold(&t, v6(9998, 2))->keep_ms, 1000,
		     "what is to be kept was forgotten");
}

Test(network, none_is_granted_everything)
{
	uint64_t has = 0;

	cr_assert(network_charge(NULL, NETWORK_EARLY, 5));
	network_release(NULL, NETWORK_EARLY, 5);
	network_set(NULL, NETWORK_EARLY, &has, 9);
	cr_assert_eq(has, 9);
	cr_assert(network_request(NULL, 0));
	network_drop(NULL);
}
