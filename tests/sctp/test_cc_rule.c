/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the longest prefix that holds the peer's address chooses its congestion control. */
#include <criterion/criterion.h>

#include "sctp/path/cc_rule.h"

static struct sctp_config cfg;

static struct sctp_addr v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return sctp_addr_v4((const uint8_t[]){a, b, c, d});
}

/* 2001:db8:N::1 */
static struct sctp_addr v6(uint8_t n)
{
	return (struct sctp_addr){.ip = {0x20, 0x01, 0x0d, 0xb8, [5] = n, [15] = 1}, .scope = n};
}

static void add(struct sctp_addr prefix, uint8_t bits, enum sctp_cc_algo algo)
{
	cfg.cc_rule[cfg.ncc_rules++] = (struct sctp_cc_rule){prefix, bits, algo};
}

static void expect(struct sctp_addr peer, enum sctp_cc_algo algo)
{
	cr_expect_eq(sctp_cc_rule_find(&cfg, &peer), algo, "%u.%u.%u.%u", peer.ip[12], peer.ip[13],
		     peer.ip[14], peer.ip[15]);
}

static void setup(void)
{
	cfg = (struct sctp_config){.cc = SCTP_CC_CUBIC};
}

TestSuite(sctp_cc_rule, .init = setup);

Test(sctp_cc_rule, without_rules_all_paths_are_alike)
{
	expect(v4(10, 0, 0, 1), SCTP_CC_CUBIC);
	expect(v6(1), SCTP_CC_CUBIC);
}

Test(sctp_cc_rule, the_longest_prefix_counts_in_any_order)
{
	add(v4(10, 1, 2, 3), 32, SCTP_CC_CUBIC);
	add(v4(10, 0, 0, 0), 8, SCTP_CC_BBR);
	add(v4(10, 1, 0, 0), 16, SCTP_CC_RFC9260);
	expect(v4(10, 2, 0, 1), SCTP_CC_BBR);
	expect(v4(10, 1, 0, 1), SCTP_CC_RFC9260);
	expect(v4(10, 1, 2, 3), SCTP_CC_CUBIC);
	expect(v4(11, 1, 2, 3), SCTP_CC_CUBIC);
}

/* 10.64.0.0/10 ends within a byte. */
Test(sctp_cc_rule, a_prefix_may_end_within_a_byte)
{
	add(v4(10, 64, 0, 0), 10, SCTP_CC_BBR);
	expect(v4(10, 64, 0, 0), SCTP_CC_BBR);
	expect(v4(10, 127, 255, 255), SCTP_CC_BBR);
	expect(v4(10, 63, 255, 255), SCTP_CC_CUBIC);
	expect(v4(10, 128, 0, 0), SCTP_CC_CUBIC);
}

Test(sctp_cc_rule, an_empty_prefix_holds_its_family_alone)
{
	struct sctp_addr any6 = {.ip = {0}};

	add(any6, 0, SCTP_CC_BBR);
	expect(v6(1), SCTP_CC_BBR);
	expect(v4(10, 0, 0, 1), SCTP_CC_CUBIC);
	add(v4(0, 0, 0, 0), 0, SCTP_CC_RFC9260);
	expect(v4(10, 0, 0, 1), SCTP_CC_RFC9260);
	expect(v6(1), SCTP_CC_BBR);
}

Test(sctp_cc_rule, ipv6_prefixes_of_all_lengths)
{
	add(v6(7), 128, SCTP_CC_RFC9260);
	add(v6(6), 47, SCTP_CC_BBR);
	expect(v6(6), SCTP_CC_BBR);
	expect(v6(7), SCTP_CC_RFC9260);
	expect(v6(5), SCTP_CC_CUBIC);
	expect(v6(8), SCTP_CC_CUBIC);
}
