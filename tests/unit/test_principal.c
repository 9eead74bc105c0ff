/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys `admin` and `ports`: users, groups and rules as text. */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon/base/config_value.h"
#include "daemon/base/port_rule.h"
#include "daemon/base/principal.h"

static bool is(const char *text, uint32_t uid, uint32_t gid)
{
	struct principal p;

	cr_assert_null(principal_parse(text, &p), "%s", text);
	return principal_holds(&p, 1, uid, &gid, 1);
}

Test(principal, numbers_and_names)
{
	cr_expect(is("1000", 1000, 7));
	cr_expect_not(is("1000", 1001, 1000), "a group is no user");
	cr_expect(is("@27", 1, 27));
	cr_expect_not(is("@27", 27, 1));
	cr_expect(is("root", 0, 7));
	cr_expect(is("@root", 7, 0));
	cr_expect(is("*", 4000000000, 4000000000));
}

static const char *wrong(const char *text)
{
	struct principal p;

	return principal_parse(text, &p);
}

Test(principal, others_are_refused)
{
	cr_expect_str_eq(wrong("no-such-user-here"), "is not a user of this system");
	cr_expect_str_eq(wrong("@no-such-group"), "is not a group of this system");
	cr_expect_str_eq(wrong("4294967295"), "is too large", "the number for nobody");
	cr_expect_str_eq(wrong("@9999999999"), "is too large");
	cr_expect_str_eq(wrong("-1"), "is not a user of this system");
	cr_expect_str_eq(wrong(""), "is not a user of this system");
	cr_expect_str_eq(wrong("@"), "is not a group of this system");
	cr_expect_str_eq(wrong("a-name-of-more-than-thirty-nine-letters-x"), "is too long");
}

Test(principal, one_of_several_groups_is_enough)
{
	const uint32_t gids[] = {5, 6, 7};
	struct principal list[2];

	cr_assert_null(principal_parse("1000", &list[0]));
	cr_assert_null(principal_parse("@7", &list[1]));
	cr_expect(principal_any_group(list, 2));
	cr_expect_not(principal_any_group(list, 1));
	cr_expect(principal_holds(list, 2, 1, gids, 3));
	cr_expect_not(principal_holds(list, 2, 1, gids, 2));
	cr_expect_not(principal_holds(list, 0, 0, gids, 3), "an empty list names nobody");
}

static const char *rule(const char *text, struct port_rule *ret)
{
	return port_rule_parse(text, ret);
}

Test(port_rule, a_port_or_a_range_and_who)
{
	struct port_rule r[3];

	cr_assert_null(rule("80 root", &r[0]));
	cr_expect(r[0].first == 80 && r[0].last == 80 && r[0].n == 1);
	cr_assert_null(rule("1-1023 @0 1000", &r[1]));
	cr_expect(r[1].first == 1 && r[1].last == 1023 && r[1].n == 2);
	cr_assert_null(rule("1000-65535 *", &r[2]));
	cr_expect_eq(port_rule_for(r, 3, 80), &r[0], "the first one counts");
	cr_expect_eq(port_rule_for(r, 3, 81), &r[1]);
	cr_expect_eq(port_rule_for(r, 3, 1023), &r[1]);
	cr_expect_eq(port_rule_for(r, 3, 1024), &r[2]);
	cr_expect_eq(port_rule_for(r, 3, 65535), &r[2]);
	cr_expect_null(port_rule_for(r, 2, 1024), "no rule: everybody");
}

Test(port_rule, others_are_refused)
{
	static const char *const texts[] = {
		"",           "80",
		"root",       "0 root",
		"65536 root", "9-8 0",
		"1-x 0",      "1- 0",
		"-1 0",       "80 no-such-user-here",
		"80-0 0",     "1-2-3 0",
		"100000 0",   "80 0 1 2 3 4 5 6 7 8",
	};
	char longer[PORT_RULE_TEXT_MAX + 1];
	struct port_rule r;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect(rule(texts[i], &r), "%s", texts[i]);
	memset(longer, '1', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	cr_expect_str_eq(rule(longer, &r), "is too long");
}

static bool set(const char *name, const char *value, struct config *c, char *reason)
{
	return config_value_parse_all(config_key_named(name), value, c, reason);
}

Test(principal, lists_of_the_configuration)
{
	char reason[CONFIG_REASON_MAX], text[256];
	struct config c;

	config_default(&c);
	cr_expect_eq(c.nadmin, 1);
	cr_expect(c.admin[0].kind == PRINCIPAL_USER && c.admin[0].id == 0, "root");
	cr_expect_eq(c.nports, 0, "everybody everywhere");
	cr_assert(set("admin", "root, @5, 1000", &c, reason));
	config_value_text(config_key_named("admin"), &c, text, sizeof(text));
	cr_expect_str_eq(text, "[root, \"@5\", 1000]");
	cr_expect_not(set("admin", "root, 0", &c, reason));
	cr_expect(strstr(reason, "occurs twice"));
	cr_assert(set("ports", "80 root, 1-99 @5 *", &c, reason));
	config_value_text(config_key_named("ports"), &c, text, sizeof(text));
	cr_expect_str_eq(text, "[\"80 root\", \"1-99 @5 *\"]");
	cr_assert(set("admin", "", &c, reason));
	cr_expect_eq(c.nadmin, 0);
	cr_expect_not(set("admin", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", &c, reason));
	cr_expect(strstr(reason, "16 is one too many"));
}
