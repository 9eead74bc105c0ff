/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: rules of congestion control are read and printed, and those that cannot be meant are
 * refused with the reason. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "daemon/base/config_value.h"

#define RANGE "at most 32 rules, such as 10.0.0.0/8 bbr"

static const struct config_key *k;
static struct config c;
static char reason[CONFIG_REASON_MAX];

static void setup(void)
{
	k = config_key_find("user", "congestion_control_for");
	config_default(&c);
}

TestSuite(config_rule, .init = setup);

Test(config_rule, a_list_is_replaced_by_one_text)
{
	char value[256];
	struct config def = c;

	cr_assert(config_value_parse_all(k, "10.0.0.0/8 bbr", &c, reason), "%s", reason);
	cr_assert(config_value_parse_all(k, "::/0 bbr, 10.1.0.0/16  cubic,192.0.2.1 rfc9260", &c,
					 reason));
	config_value_text(k, &c, value, sizeof(value));
	cr_expect_str_eq(value, "[\"::/0 bbr\", \"10.1.0.0/16 cubic\", \"192.0.2.1/32 rfc9260\"]");
	cr_assert(config_value_parse_all(k, "", &c, reason), "%s", reason);
	cr_expect(memcmp(&c, &def, sizeof(c)) == 0, "the empty list");
}

Test(config_rule, there_are_at_most_32)
{
	char text[64];

	for (unsigned i = 0; i < LLP_MAX_CC_RULES; i++) {
		snprintf(text, sizeof(text), "192.0.2.%u bbr", i);
		cr_assert(config_value_parse(k, text, &c, reason), "%s", reason);
	}
	cr_expect_not(config_value_parse(k, "192.0.2.32 bbr", &c, reason));
	cr_expect_str_eq(reason, "192.0.2.32 bbr is one too many: " RANGE);
	cr_expect_eq(c.user.ncc_rules, LLP_MAX_CC_RULES);
}

Test(config_rule, a_prefix_has_one_rule)
{
	cr_assert(config_value_parse(k, "10.0.0.0/8 bbr", &c, reason));
	cr_assert(config_value_parse(k, "10.0.0.0/9 bbr", &c, reason), "a longer prefix");
	cr_expect_not(config_value_parse(k, "10.0.0.0/8 cubic", &c, reason));
	cr_expect_str_eq(reason, "10.0.0.0/8 cubic has the prefix of another rule: " RANGE);
}

static const struct {
	const char *text, *wrong;
} bad[] = {
	{"bbr", "is not a prefix and an algorithm"},
	{"10.0.0.0/8 bbr cubic", "is not a prefix and an algorithm"},
	{"localhost bbr", "has no numeric prefix"},
	{"10.0.0/8 bbr", "has no numeric prefix"},
	{"10.0.0.0/ bbr", "has no numeric prefix"},
	{"10.0.0.0/-1 bbr", "has no numeric prefix"},
	{"10.0.0.0/0008 bbr", "has no numeric prefix"},
	{"fe80::%lo/10 bbr", "has no numeric prefix"},
	{"10.0.0.0/8 reno", "has an unknown algorithm"},
	{"10.0.0.0/33 bbr", "has more than 32 bits"},
	{"10.0.0.0/999 bbr", "has more than 32 bits"},
	{"2001:db8::/129 bbr", "has more than 128 bits"},
	{"10.0.0.1/8 bbr", "has an address with bits beyond its prefix"},
	{"2001:db8::/28 bbr", "has an address with bits beyond its prefix"},
	{"::ffff:10.0.0.0/104 bbr", "must be written with an IPv4 prefix"},
};

Test(config_rule, others_are_refused_with_the_reason)
{
	char expected[CONFIG_REASON_MAX];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(expected, sizeof(expected), "%s %s: " RANGE, bad[i].text, bad[i].wrong);
		cr_expect_not(config_value_parse_all(k, bad[i].text, &c, reason), "%s",
			      bad[i].text);
		cr_expect_str_eq(reason, expected);
	}
	cr_expect_eq(c.user.ncc_rules, 0);
}
