/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <sys/resource.h>

#include "daemon/base/acct.h"
#include "daemon/base/config.h"
#include "daemon/base/descriptors.h"

static const struct config_limits limits = {
	.clients = 2,
	.pds = 3,
	.mrs = 4,
	.mr_bytes = 1000,
	.cqs = 5,
	.qps = 6,
	.listeners = 0,
	.srqs = 7,
	.mws = 8,
	.memory = 9000,
};

static struct acct *a;
static char reason[ACCT_REASON_MAX];

static void setup(void)
{
	cr_assert_eq(acct_new(&limits, &a), 0);
}

static void teardown(void)
{
	a = acct_free(a);
}

TestSuite(acct, .init = setup, .fini = teardown);

static int charge(uid_t uid, enum acct_kind kind, uint64_t amount, struct acct_charge *ret)
{
	return acct_charge(a, uid, kind, amount, ret, reason, sizeof(reason));
}

Test(acct, each_kind_has_the_limit_of_its_key)
{
	cr_expect_eq(acct_limit(a, 7, ACCT_CLIENTS), 2);
	cr_expect_eq(acct_limit(a, 7, ACCT_PDS), 3);
	cr_expect_eq(acct_limit(a, 7, ACCT_MRS), 4);
	cr_expect_eq(acct_limit(a, 7, ACCT_MR_BYTES), 1000);
	cr_expect_eq(acct_limit(a, 7, ACCT_CQS), 5);
	cr_expect_eq(acct_limit(a, 7, ACCT_QPS), 6);
	cr_expect_eq(acct_limit(a, 7, ACCT_LISTENERS), 0);
	cr_expect_eq(acct_limit(a, 7, ACCT_SRQS), 7);
	cr_expect_eq(acct_limit(a, 7, ACCT_MWS), 8);
	cr_expect_eq(acct_limit(a, 7, ACCT_MEMORY), 9000);
}

/* rows: 5041-8.3.2-05 */
Test(acct, the_refusal_names_use_limit_and_key)
{
	struct acct_charge c[5] = {0};

	for (int i = 0; i < 4; i++)
		cr_assert_eq(charge(1000, ACCT_MRS, 1, &c[i]), ACCT_E_OK);
	cr_assert_eq(charge(1000, ACCT_MRS, 1, &c[4]), ACCT_E_LIMIT);
	cr_expect_str_eq(reason, "uid 1000 has 4 of 4 memory regions (limits.mrs)");
	cr_expect_null(c[4].user, "a refused charge charges nothing");
	cr_expect_eq(acct_used(a, 1000, ACCT_MRS), 4);
	for (int i = 0; i < 4; i++)
		acct_release(&c[i]);
}

Test(acct, the_refusal_of_an_amount_names_the_amount)
{
	struct acct_charge c = {0}, more = {0};

	cr_assert_eq(charge(7, ACCT_MR_BYTES, 600, &c), ACCT_E_OK);
	cr_assert_eq(charge(7, ACCT_MR_BYTES, 401, &more), ACCT_E_LIMIT);
	cr_expect_str_eq(reason,
			 "uid 7 has 600 of 1000 bytes of registered memory and asks for 401 "
			 "more (limits.mr_bytes)");
	cr_expect_eq(charge(7, ACCT_MR_BYTES, 400, &more), ACCT_E_OK);
	acct_release(&c);
	acct_release(&more);
}

Test(acct, a_charge_changes_within_the_limit_and_not_beyond_it)
{
	struct acct_charge c = {0}, other = {0};

	cr_assert_eq(charge(7, ACCT_MR_BYTES, 600, &c), ACCT_E_OK);
	cr_assert_eq(charge(7, ACCT_MR_BYTES, 300, &other), ACCT_E_OK);
	cr_expect_eq(acct_change(a, &c, 701, reason, sizeof(reason)), ACCT_E_LIMIT);
	cr_expect_str_eq(reason,
			 "uid 7 has 900 of 1000 bytes of registered memory and asks for 101 "
			 "more (limits.mr_bytes)");
	cr_expect_eq(acct_used(a, 7, ACCT_MR_BYTES), 900);
	cr_expect_eq(acct_change(a, &c, UINT64_MAX, reason, sizeof(reason)), ACCT_E_LIMIT);
	cr_expect_eq(acct_change(a, &c, 700, reason, sizeof(reason)), ACCT_E_OK);
	cr_expect_eq(acct_used(a, 7, ACCT_MR_BYTES), 1000);
	cr_expect_eq(acct_change(a, &c, 1, reason, sizeof(reason)), ACCT_E_OK);
	acct_release(&c);
	cr_expect_eq(acct_used(a, 7, ACCT_MR_BYTES), 300, "what is released is the new amount");
	acct_release(&other);
}

Test(acct, amounts_whose_sum_wraps_are_refused)
{
	struct acct_charge c = {0}, more = {0};

	cr_assert_eq(charge(7, ACCT_MR_BYTES, 1, &c), ACCT_E_OK);
	cr_expect_eq(charge(7, ACCT_MR_BYTES, UINT64_MAX, &more), ACCT_E_LIMIT);
	cr_expect_eq(acct_used(a, 7, ACCT_MR_BYTES), 1);
	acct_release(&c);
}

/* rows: 5041-8.3.2-05 5040-8.1.2-04 */
Test(acct, one_uid_at_its_limit_does_not_affect_another)
{
	struct acct_charge c[3] = {0}, other = {0};

	cr_assert_eq(charge(1, ACCT_CLIENTS, 1, &c[0]), ACCT_E_OK);
	cr_assert_eq(charge(1, ACCT_CLIENTS, 1, &c[1]), ACCT_E_OK);
	cr_expect_eq(charge(1, ACCT_CLIENTS, 1, &c[2]), ACCT_E_LIMIT);
	cr_expect_eq(charge(2, ACCT_CLIENTS, 1, &other), ACCT_E_OK);
	cr_expect_eq(acct_used(a, 1, ACCT_CLIENTS), 2);
	cr_expect_eq(acct_used(a, 2, ACCT_CLIENTS), 1);
	acct_release(&c[0]);
	acct_release(&c[1]);
	acct_release(&other);
}

Test(acct, a_lower_limit_keeps_charges_and_refuses_more)
{
	struct config_limits other = limits;
	struct acct_charge c = {0}, more = {0};

	cr_assert_eq(charge(7, ACCT_MR_BYTES, 800, &c), ACCT_E_OK);
	other.mr_bytes = 100;
	other.pds = 9;
	acct_set_limits(a, &other);
	cr_expect_eq(acct_limit(a, 7, ACCT_MR_BYTES), 100);
	cr_expect_eq(acct_limit(a, 7, ACCT_PDS), 9);
	cr_expect_eq(acct_used(a, 7, ACCT_MR_BYTES), 800);
	cr_expect_eq(charge(7, ACCT_MR_BYTES, 1, &more), ACCT_E_LIMIT);
	cr_expect_str_eq(reason,
			 "uid 7 has 800 of 100 bytes of registered memory (limits.mr_bytes)");
	cr_expect_eq(acct_change(a, &c, 801, reason, sizeof(reason)), ACCT_E_LIMIT);
	cr_expect_eq(acct_change(a, &c, 700, reason, sizeof(reason)), ACCT_E_OK, "less is fine");
	cr_expect_eq(charge(8, ACCT_MR_BYTES, 100, &more), ACCT_E_OK, "others have theirs");
	acct_release(&c);
	acct_release(&more);
}

Test(acct, kinds_are_counted_apart)
{
	struct acct_charge pd = {0}, qp = {0};

	cr_assert_eq(charge(1, ACCT_PDS, 1, &pd), ACCT_E_OK);
	cr_assert_eq(charge(1, ACCT_QPS, 1, &qp), ACCT_E_OK);
	acct_release(&pd);
	cr_expect_eq(acct_used(a, 1, ACCT_PDS), 0);
	cr_expect_eq(acct_used(a, 1, ACCT_QPS), 1);
	acct_release(&qp);
}

Test(acct, a_released_amount_can_be_charged_again)
{
	struct acct_charge c = {0};

	for (int i = 0; i < 100; i++) {
		cr_assert_eq(charge(1, ACCT_MR_BYTES, 1000, &c), ACCT_E_OK);
		acct_release(&c);
	}
	cr_expect_eq(acct_used(a, 1, ACCT_MR_BYTES), 0);
}

Test(acct, releasing_twice_or_nothing_does_nothing)
{
	struct acct_charge c = {0}, kept = {0}, never = {0};

	cr_assert_eq(charge(1, ACCT_PDS, 1, &c), ACCT_E_OK);
	cr_assert_eq(charge(1, ACCT_PDS, 1, &kept), ACCT_E_OK);
	acct_release(&c);
	acct_release(&c);
	acct_release(&never);
	cr_expect_eq(acct_used(a, 1, ACCT_PDS), 1);
	acct_release(&kept);
}

Test(acct, an_empty_charge_outlives_the_full_ones)
{
	struct acct_charge none = {0}, some = {0};

	cr_assert_eq(charge(1, ACCT_MR_BYTES, 0, &none), ACCT_E_OK);
	cr_assert_eq(charge(1, ACCT_MR_BYTES, 10, &some), ACCT_E_OK);
	acct_release(&some);
	acct_release(&none);
	cr_expect_eq(acct_used(a, 1, ACCT_MR_BYTES), 0);
}

Test(acct, a_limit_of_zero_refuses_everything)
{
	struct acct_charge c = {0};

	cr_assert_eq(charge(0, ACCT_LISTENERS, 1, &c), ACCT_E_LIMIT);
	cr_expect_str_eq(reason, "uid 0 has 0 of 0 listeners (limits.listeners)");
}

Test(acct, one_uid_leaves_maps_for_another)
{
	struct acct_charge c[4] = {0};

	acct_set_total(a, ACCT_MAPS, 1000);
	cr_expect_eq(charge(1000, ACCT_MAPS, 751, &c[0]), ACCT_E_LIMIT);
	cr_assert_eq(charge(1000, ACCT_MAPS, 750, &c[0]), ACCT_E_OK);
	cr_expect_eq(charge(1000, ACCT_MAPS, 1, &c[1]), ACCT_E_LIMIT);
	cr_expect_str_eq(reason,
			 "uid 1000 has 750 of 750 memory maps, its share (vm.max_map_count)");
	cr_expect_eq(acct_limit(a, 1001, ACCT_MAPS), 84, "a third of 250");
	cr_assert_eq(charge(1001, ACCT_MAPS, 84, &c[1]), ACCT_E_OK);
	cr_expect_eq(charge(1001, ACCT_MAPS, 5, &c[2]), ACCT_E_LIMIT);
	cr_expect_str_eq(reason,
			 "uid 1001 has 84 of 84 memory maps, its share beside 1 other user, "
			 "and asks for 5 more (vm.max_map_count)");
	cr_assert_eq(charge(1002, ACCT_MAPS, 42, &c[2]), ACCT_E_OK, "a quarter of 166");
	cr_expect_eq(charge(1000, ACCT_MAPS, 1, &c[3]), ACCT_E_LIMIT, "it keeps what it has");
	acct_release(&c[1]);
	acct_release(&c[2]);
	acct_release(&c[0]);
	cr_expect_eq(acct_limit(a, 1001, ACCT_MAPS), 750, "nobody else has any");
}

/* As ddpsctpd starts with them. */
static void default_limits(void)
{
	struct config cfg;

	config_default(&cfg);
	acct_set_limits(a, &cfg.limits);
	acct_set_total(a, ACCT_MAPS, 64506); /* of 65530 */
	acct_set_total(a, ACCT_ASSOCS, 12288);
	acct_set_total(a, ACCT_DESCRIPTORS, 65400); /* of 65536 */
	acct_set_total(a, ACCT_CLIENTS, 7680);
	acct_set_total(a, ACCT_RESERVE, 256);
	acct_set_total(a, ACCT_HANDSHAKES, 224); /* of 256 */
	acct_set_total(a, ACCT_LINKS, 12288);
	acct_set_total(a, ACCT_ADMINS, 16);
}

/* All that the uid gets. */
static uint64_t take_all(uid_t uid, enum acct_kind kind, struct acct_charge *ret)
{
	uint64_t max = acct_limit(a, uid, kind);

	cr_assert_eq(charge(uid, kind, max, ret), ACCT_E_OK);
	return max;
}

/* The amount that the last of so many uids gets, after each before took all that it got. */
static uint64_t last_of(unsigned users, enum acct_kind kind)
{
	struct acct_charge c[32] = {0};
	uint64_t last = 0;

	for (unsigned i = 0; i < users; i++)
		last = take_all(1000 + i, kind, &c[i]);
	for (unsigned i = 0; i < users; i++)
		acct_release(&c[i]);
	return last;
}

Test(acct, the_first_two_reach_each_limit_and_the_twenty_first_finds_a_share)
{
	static const struct {
		enum acct_kind kind;
		uint64_t first, second, last;
	} rows[] = {
		{ACCT_CLIENTS, 1024, 1024, 13},
		{ACCT_PDS, 1024, 1024, 13},
		{ACCT_MRS, 16384, 16384, 200},
		{ACCT_MR_BYTES, 64ull << 30, 64ull << 30, 800 << 20},
		{ACCT_MWS, 16384, 16384, 200},
		{ACCT_CQS, 16384, 16384, 200},
		{ACCT_QPS, 16384, 16384, 200},
		{ACCT_SRQS, 1024, 1024, 13},
		{ACCT_LISTENERS, 1024, 1024, 13},
		{ACCT_ASSOCS, 9216, 1024, 13},
		{ACCT_MEMORY, 1 << 30, 1 << 30, 12 << 20},
		{ACCT_HELD, 256 << 20, 256 << 20, 3 << 20},
		{ACCT_SPARSE, 256 << 20, 256 << 20, 3 << 20},
		{ACCT_MAPS, 48379, 5376, 69},
		{ACCT_DESCRIPTORS, 49050, 5450, 70},
		{ACCT_RESERVE, 8, 8, 4},
		{ACCT_HANDSHAKES, 128, 32, 1},
		{ACCT_LINKS, 9216, 1024, 13},
		{ACCT_ADMINS, 8, 3, 0},
	};

	default_limits();
	cr_assert_eq(sizeof(rows) / sizeof(rows[0]), ACCT_KINDS, "a row for each kind");
	for (unsigned i = 0; i < ACCT_KINDS; i++) {
		cr_expect_eq(rows[i].kind, i);
		cr_expect_eq(last_of(1, rows[i].kind), rows[i].first, "kind %u, alone", i);
		cr_expect_geq(last_of(2, rows[i].kind), rows[i].second, "kind %u, second", i);
		cr_expect_geq(last_of(21, rows[i].kind), rows[i].last, "kind %u, last: %lu", i,
			      (unsigned long)last_of(21, rows[i].kind));
	}
}

Test(acct, nobody_is_refused_while_something_is_left)
{
	struct acct_charge c[10] = {0};
	uint64_t sum = 0;

	acct_set_total(a, ACCT_MAPS, 10);
	for (unsigned i = 0; i < 10 && sum < 10; i++) {
		uint64_t n = take_all(1000 + i, ACCT_MAPS, &c[i]);

		cr_expect_geq(n, 1);
		sum += n;
	}
	cr_expect_eq(sum, 10);
	for (unsigned i = 0; i < 10; i++)
		acct_release(&c[i]);
}

Test(acct, use_beyond_a_smaller_total_is_kept_and_refuses_more)
{
	struct acct_charge c[2] = {0};

	cr_assert_eq(charge(1, ACCT_MAPS, 100, &c[0]), ACCT_E_OK);
	acct_set_total(a, ACCT_MAPS, 50);
	cr_expect_eq(charge(2, ACCT_MAPS, 1, &c[1]), ACCT_E_LIMIT);
	cr_expect_eq(acct_change(a, &c[0], 101, reason, sizeof(reason)), ACCT_E_LIMIT);
	cr_expect_eq(acct_change(a, &c[0], 20, reason, sizeof(reason)), ACCT_E_OK);
	cr_expect_eq(acct_limit(a, 2, ACCT_MAPS), 10, "a third of 30");
	acct_release(&c[0]);
}

Test(acct, descriptors_are_divided_among_users_administrators_and_peers)
{
	const struct rlimit few = {256, 256};
	uint64_t users;

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	descriptors_divide(a, 0);
	users = acct_limit(a, 7, ACCT_DESCRIPTORS);
	cr_expect(users >= 100 && users <= 150, "three quarters of the rest: %lu",
		  (unsigned long)users);
	cr_expect_eq(acct_limit(a, 7, ACCT_ADMINS), 6, "three quarters of 8");
	cr_expect(descriptors_of_peers() >= users / 3 * 2 - 1 &&
			  descriptors_of_peers() <= users / 3 * 2 + 1,
		  "half");
	descriptors_divide(a, descriptors_of_peers());
	cr_expect_lt(acct_limit(a, 7, ACCT_DESCRIPTORS), users / 2 + 2);
	descriptors_divide(a, 1000);
	cr_expect_eq(acct_limit(a, 7, ACCT_DESCRIPTORS), 0);
}

static uint64_t sent(uid_t uid)
{
	return acct_traffic(a, uid).tx_bytes;
}

/* A program of the uid that sends so much, and ends. */
static void come_and_go(uid_t uid, uint64_t tx_bytes)
{
	const struct acct_traffic carried = {.tx_bytes = tx_bytes};
	struct acct_charge c = {0};

	cr_assert_eq(charge(uid, ACCT_QPS, 1, &c), ACCT_E_OK);
	acct_add_traffic(&c, carried);
	acct_release(&c);
}

Test(acct, traffic_is_kept_when_the_last_charge_is_gone)
{
	uid_t uid;

	come_and_go(1000, 5);
	come_and_go(1000, 7);
	cr_expect_eq(sent(1000), 12);
	cr_expect_eq(sent(1001), 0);
	cr_expect_not(acct_next_uid(a, 0, false, &uid), "it has no charge");
	cr_assert(acct_next_uid(a, 0, true, &uid));
	cr_expect_eq(uid, 1000);
	cr_expect_not(acct_next_uid(a, 1001, true, &uid));
}

Test(acct, the_traffic_of_the_longest_gone_is_forgotten)
{
	uid_t uid;

	for (uid_t i = 0; i < ACCT_FORMER; i++)
		come_and_go(1000 + i, 1);
	come_and_go(1000, 1);
	cr_expect_eq(sent(1000), 2);
	come_and_go(UINT32_MAX, 9);
	cr_expect_eq(sent(1001), 0, "it is the longest without a charge");
	cr_expect_eq(sent(1000), 2);
	cr_assert(acct_next_uid(a, (uint64_t)1000 + ACCT_FORMER, true, &uid));
	cr_expect_eq(uid, UINT32_MAX);
}
