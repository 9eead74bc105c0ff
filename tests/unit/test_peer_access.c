/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: rules judge each address of a peer, and refuse one with more than the transport tells.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

#include "daemon/base/config_keys.h"
#include "daemon/base/config_value.h"
#include "daemon/base/peer_limits.h"
#include "daemon/base/state.h"
#include "daemon/net/peer_access.h"

static struct daemon d;
static unsigned addresses; /* of the peer: 192.0.2.1 and those that follow */

static void address_of(unsigned i, struct sockaddr_storage *ret)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(0xc0000201U + i),
				.sin_port = htons(7)};

	*ret = (struct sockaddr_storage){0};
	memcpy(ret, &a, sizeof(a));
}

static void info(const struct llp_conn *c, struct llp_info *ret)
{
	(void)c;
	*ret = (struct llp_info){0};
	address_of(0, &ret->remote);
	address_of(200, &ret->local);
}

static unsigned paths(const struct llp_conn *c, struct llp_path ret[LLP_MAX_PATHS])
{
	(void)c;
	for (unsigned i = 0; i < addresses && i < LLP_MAX_PATHS; i++)
		address_of(i, &ret[i].remote);
	return addresses;
}

static const struct llp_ops ops = {.name = "fake", .info = info, .paths = paths};
static struct llp transport = {.ops = &ops};
static struct llp_conn conn = {.llp = &transport};

static void start(void)
{
	config_default(&d.cfg);
	worker_init(&d.worker, &d, 4);
	d.worker.net = &transport;
}

TestSuite(peer_access, .init = start);

static void add(const char *text)
{
	struct peer_rules *l = &d.cfg.peers.rules;

	cr_assert_null(peer_limits_parse_rule(text, &l->rule[l->n++]), "%s", text);
}

/* Returns the sentence, "" if it is allowed. */
static const char *refusal(unsigned n)
{
	static char why[PEER_ACCESS_REASON];

	addresses = n;
	why[0] = '\0';
	if (!peer_access_refuses(&d.worker, &conn, PEER_ACCEPT, why))
		cr_assert_str_eq(why, "");
	return why;
}

Test(peer_access, each_address_is_judged)
{
	add("192.0.2.16/32 name=bad accept=none");
	cr_expect_str_eq(refusal(15), "");
	cr_expect(strstr(refusal(16), "192.0.2.16 may not connect to port 7 (rule bad"), "%s",
		  refusal(16));
}

Test(peer_access, who_has_more_than_are_known_is_refused)
{
	add("10.0.0.0/8 name=site accept=all");
	cr_expect_str_eq(refusal(16), "");
	cr_expect_str_eq(refusal(17),
			 "17 addresses are more than the 16 that rules can judge (peers.rules)");
}

Test(peer_access, limits_refuse_nobody)
{
	add("10.0.0.0/8 sessions=7");
	cr_expect_str_eq(refusal(17), "");
}
