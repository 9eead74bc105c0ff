/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a stack has a thousand associations, all of them asked for at once, each with few
 * kilobytes, and a host among many needs what docs/scale.md says. tests/sctp/many/many_hosts prints
 * other figures by hand. */
#include <criterion/criterion.h>

#include "tests/sctp/many/many.h"

enum { KIB = 1024 };

Test(many, a_thousand_hosts_at_once)
{
	const struct many_config c = {
		.hosts = 1000, .ranks = 1, .all = true, .one = true, .messages = 10, .idle_s = 10};
	struct many_figures f;

	cr_assert(many_run(&c, &f));
	cr_expect_eq(f.associations, 999);
	cr_expect_eq(f.messages, 999 * 10);
	cr_expect_lt(f.up_us, 1000000, "within a second: %ju us", (uintmax_t)f.up_us);
	cr_expect_leq(f.idle_bytes / f.associations, 8 * KIB);
	cr_expect_leq(f.traffic_bytes / f.associations, 40 * KIB);
	cr_expect_leq(f.traffic, f.messages * 3, "packets for messages in both directions");
	cr_expect_eq(f.retransmits, 0);
}

Test(many, sessions_share_associations)
{
	const struct many_config own = {
		.hosts = 40, .ranks = 8, .own = true, .messages = 4, .idle_s = 1};
	struct many_config shared = own;
	struct many_figures f, g;

	shared.own = false;
	cr_assert(many_run(&own, &f));
	cr_assert(many_run(&shared, &g));
	cr_expect_eq(f.sessions, g.sessions);
	cr_expect_eq(f.associations, f.sessions);
	cr_expect_lt(g.associations, 16, "%ju", (uintmax_t)g.associations);
	cr_expect_lt(g.traffic * 2, f.traffic, "messages that share an association share packets");
	cr_expect_lt(g.traffic_bytes * 4, f.traffic_bytes);
}
