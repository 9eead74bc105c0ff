/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: rules judge each address of a peer, and refuse one with more than the transport tells.
 * The sentence has the peer, the rule, its line and its file, however long they are. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "daemon/base/config_keys.h"
#include "daemon/base/config_value.h"
#include "daemon/base/peer_limits.h"
#include "daemon/base/state.h"
#include "daemon/net/peer_access.h"

#define LONGEST "2001:db8:1111:2222:3333:4444:5555:6666"

static struct daemon d;
static unsigned addresses; /* of the peer: 192.0.2.1 and those that follow */
static bool v6;            /* it has the longest address */

/* The link of DTLS. */
static struct {
	bool covered, up;
	struct llp_identity peer;
} dtls;

static void longest_address(struct sockaddr_storage *ret)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(65535)};

	cr_assert_eq(inet_pton(AF_INET6, LONGEST, &a.sin6_addr), 1);
	*ret = (struct sockaddr_storage){0};
	memcpy(ret, &a, sizeof(a));
}

static void address_of(unsigned i, struct sockaddr_storage *ret)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(0xc0000201U + i),
				.sin_port = htons(7)};

	if (v6) {
		longest_address(ret);
		return;
	}
	*ret = (struct sockaddr_storage){0};
	memcpy(ret, &a, sizeof(a));
}

static void info(const struct llp_conn *c, struct llp_info *ret)
{
	(void)c;
	*ret = (struct llp_info){.covered = dtls.covered};
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

static bool identity(const struct llp_conn *c, struct llp_identity *ret)
{
	(void)c;
	*ret = dtls.peer;
	return dtls.up;
}

static const struct llp_ops ops = {
	.name = "fake", .info = info, .paths = paths, .identity = identity};
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

/* As if the configuration had the rule there. */
static const char *refusal_of(const char *rule, const char *file, int line)
{
	memset(&d.cfg.peers.rules, 0, sizeof(d.cfg.peers.rules));
	add(rule);
	snprintf(d.origin.file, sizeof(d.origin.file), "%s", file);
	d.origin.rule_line[0] = line;
	return refusal(1);
}

Test(peer_access, the_sentence_names_peer_rule_line_and_file)
{
	cr_expect_str_eq(refusal_of("192.0.2.0/24 name=lab accept=none", "/etc/ddpsctpd.yaml", 12),
			 "192.0.2.1 may not connect to port 7 (rule lab, line 12 of "
			 "/etc/ddpsctpd.yaml)");
}

Test(peer_access, a_long_path_loses_its_beginning_and_nothing_else_is_cut)
{
	char path[200] = "/";
	const char *why;

	v6 = true;
	while (strlen(path) < sizeof(path) - 10)
		strcat(path, "d/");
	strcat(path, "a.yaml");
	why = refusal_of("2001:db8::/32 name=abcdefghijklmnopqrstuvwxyz01234 accept=none", path,
			 99999);
	cr_expect(strstr(why, LONGEST " may not connect to port 65535 (rule "
				      "abcdefghijklmnopqrstuvwxyz01234, line 99999 of ..."),
		  "%s", why);
	cr_expect_str_eq(why + strlen(why) - strlen("/d/a.yaml)"), "/d/a.yaml)", "%s", why);
	cr_expect_eq(strlen(why), PEER_ACCESS_REASON - 1);
	why = refusal_of(LONGEST "/128 accept=none", path, 99999);
	cr_expect(strstr(why, "(rule " LONGEST "/128, line 99999 of ..."), "%s", why);
	cr_expect_str_eq(why + strlen(why) - strlen("/a.yaml)"), "/a.yaml)", "%s", why);
}

/* One byte less, and it is whole. */
Test(peer_access, a_path_that_fits_is_whole)
{
	const size_t before = strlen("192.0.2.1 may not connect to port 7 (rule x, line 1 of ");
	char path[PEER_ACCESS_REASON];
	const size_t fits = sizeof(path) - before - sizeof(")");
	const char *why;

	memset(path, 'p', sizeof(path));
	path[fits + 1] = '\0';
	why = refusal_of("192.0.2.0/24 name=x accept=none", path, 1);
	cr_expect(strncmp(why + before, "...ppp", 6) == 0, "%s", why);
	cr_expect_eq(strlen(why), PEER_ACCESS_REASON - 1);
	path[fits] = '\0';
	why = refusal_of("192.0.2.0/24 name=x accept=none", path, 1);
	cr_expect(strncmp(why + before, path, fits) == 0, "%s", why);
	cr_expect_str_eq(why + before + fits, ")");
}

/* ---- who has proven who it is ---- */

#define FINGERPRINT                                                                                \
	"00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:"                                         \
	"10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1F"

static struct association assoc = {.worker = &d.worker, .conn = &conn};

static struct peer_access_proof proof(void)
{
	struct peer_access_proof p;

	peer_access_prove(&assoc, &p);
	return p;
}

static void link_up(uint8_t first)
{
	dtls.covered = dtls.up = true;
	dtls.peer = (struct llp_identity){.has_fingerprint = true};
	for (unsigned i = 0; i < sizeof(dtls.peer.fingerprint); i++)
		dtls.peer.fingerprint[i] = (uint8_t)(first + i);
}

static void expect_demand(const char *lacks)
{
	const char *why = peer_access_lacks(&assoc, MSG_LISTEN_PROVEN);

	cr_expect(lacks ? why && strstr(why, lacks) : !why, "%s", why ? why : "accepted");
}

Test(peer_access, peer_of_a_link_that_has_ended_has_proven_nothing_until_it_is_up_again)
{
	struct msg_peer_facts facts;

	assoc.ddp = (struct assoc *)&assoc; /* it is up */
	add("192.0.2.0/24 name=lab fingerprint=" FINGERPRINT);
	link_up(0);
	cr_expect(proof().proven);
	expect_demand(NULL);
	dtls.up = false;
	cr_expect(proof().covered);
	cr_expect_not(proof().proven);
	cr_expect_str_eq(proof().fingerprint, "");
	cr_expect_str_eq(proof().rule, "lab");
	expect_demand("its link of DTLS has ended");
	peer_access_tell(&assoc, &facts);
	cr_expect_eq(facts.security, MSG_SECURITY_DTLS);
	cr_expect_eq(facts.proven, 0);
	cr_expect_eq(facts.has_fingerprint, 0);
	link_up(0);
	cr_expect(proof().proven);
	expect_demand(NULL);
}

/* A reload ends its sessions; until then it is not that one. */
Test(peer_access, peer_with_another_identity_than_its_rule_has_not_proven_it)
{
	add("192.0.2.0/24 name=lab fingerprint=" FINGERPRINT);
	link_up(1);
	cr_expect(proof().linked);
	cr_expect_not(proof().proven);
	expect_demand("no rule of peers says that");
}

Test(peer_access, rule_without_an_identity_proves_nobody)
{
	add("192.0.2.0/24 name=lab security=require");
	link_up(0);
	cr_expect_not(proof().proven);
	expect_demand("no rule of peers says that");
}

/* ---- a host without a key ---- */

Test(peer_access, what_a_host_lacks_is_named_with_its_key_and_its_rule)
{
	char why[PEER_ACCESS_REASON];
	struct sockaddr_storage peer;

	address_of(0, &peer);
	snprintf(d.origin.file, sizeof(d.origin.file), "/etc/ddpsctpd.yaml");
	d.origin.rule_line[0] = 12;
	d.cfg.security.udp_port = 9900;
	cr_expect_not(peer_access_explain_lack(&d.worker, &peer, why), "it need not be encrypted");
	cr_expect_str_empty(why);
	add("192.0.2.0/24 name=lab security=require");
	cr_expect(peer_access_explain_lack(&d.worker, &peer, why));
	cr_expect_str_eq(why, "this host has no certificate in use, security.certificate is "
			      "missing (rule lab, line 12 of /etc/ddpsctpd.yaml)");
	memset(&d.cfg.peers.rules, 0, sizeof(d.cfg.peers.rules));
	add("192.0.2.0/24 name=lab psk=/etc/ddpsctpd/psk");
	cr_expect(peer_access_explain_lack(&d.worker, &peer, why));
	cr_expect_str_eq(why, "the key of peers.rules for it was not read, psk=/etc/ddpsctpd/psk "
			      "(rule lab, line 12 of /etc/ddpsctpd.yaml)");
}
