/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: rules of peers are read and printed, faults of them are named, and the rule with the
 * longest prefix decides who may connect where. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "daemon/base/config_value.h"
#include "daemon/base/peer_limits.h"

#define RANGE "at most 16 rules, such as 10.0.0.0/8 sessions=100"
#define BYTES "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"
#define COLONS                                                                                     \
	"01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:"  \
	"1E:1F:20"

static const struct config_key *k;
static struct config c;
static char reason[CONFIG_REASON_MAX];

static void setup(void)
{
	k = config_key_find("peers", "rules");
	config_default(&c);
}

TestSuite(peer_rules, .init = setup);

static void add(const char *text)
{
	struct peer_rules *l = &c.peers.rules;
	struct peer_rule r;
	const char *wrong = peer_limits_parse_rule(text, &r);

	cr_assert_null(wrong, "%s %s", text, wrong);
	wrong = peer_rules_check(l, &r);
	cr_assert_null(wrong, "%s %s", text, wrong);
	l->rule[l->n++] = r;
}

/* ---- text ---- */

static const struct {
	const char *text, *printed; /* NULL: the same */
} good[] = {
	{"10.0.0.0/8 sessions=100", NULL},
	{"10.0.0.0/8 2001:db8::/32 name=lab accept=all connect=none", NULL},
	{"192.0.2.1 accept=7000-7099+7471", "192.0.2.1/32 accept=7000-7099+7471"},
	{"0.0.0.0/0 accept=1-65535", "0.0.0.0/0 accept=all"},
	{"::/0 memory=64MiB connect=1+2+3+4+5+6+7+8", "::/0 connect=1+2+3+4+5+6+7+8 memory=64MiB"},
	{"10.0.0.0/8 security=require fingerprint=" BYTES,
	 "10.0.0.0/8 security=require fingerprint=" COLONS},
	{"10.0.0.0/8 fingerprint=" COLONS, NULL},
	{"10.0.0.0/8 security=allow ca=/etc/ca.pem", NULL},
	{"10.0.0.0/8 host=.rack.example ca=/etc/ca.pem",
	 "10.0.0.0/8 ca=/etc/ca.pem host=.rack.example"},
	{"10.0.0.0/8 ca=/etc/ca.pem host=2001:db8::1", NULL},
	{"10.0.0.0/8 security=none", NULL},
	{"10.0.0.0/8 psk=/etc/key", NULL},
};

Test(peer_rules, a_rule_is_printed_as_it_was_meant)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const char *want = good[i].printed ? good[i].printed : good[i].text;
		char got[PEER_RULE_TEXT + 2] = "";
		struct peer_rule r, again;
		const char *wrong = peer_limits_parse_rule(good[i].text, &r);
		FILE *f = fmemopen(got, sizeof(got), "w");

		cr_assert_null(wrong, "%s %s", good[i].text, wrong);
		peer_limits_print_rule(&r, f);
		fclose(f);
		got[strlen(got) - 1] = '\0';
		cr_expect_str_eq(got + 1, want);
		cr_assert_null(peer_limits_parse_rule(got + 1, &again));
		cr_expect(memcmp(&r, &again, sizeof(r)) == 0, "%s", got);
	}
}

static const struct {
	const char *text, *wrong;
} bad[] = {
	{"", "has no prefix"},
	{"sessions=1", "has no prefix"},
	{"10.0.0.0/8", "says nothing about its prefix"},
	{"10.0.0.0/8 name=lab", "says nothing about its prefix"},
	{"10.0.0.0/8 lab accept=all", "has no numeric prefix"},
	{"10.0.0.0/8 accept=all 10.0.0.0/9", "has a word without = and a value"},
	{"10.0.0.0/33 accept=all", "has more than 32 bits"},
	{"10.0.0.1/8 accept=all", "has an address with bits beyond its prefix"},
	{"10.0.0.0/25 sessions=1", "has limits for more than 24 bits"},
	{"2001:db8::/65 sessions=1", "has limits for more than 64 bits"},
	{"1.0.0.0/8 2.0.0.0/8 3.0.0.0/8 4.0.0.0/8 5.0.0.0/8 accept=all",
	 "has more than 4 prefixes"},
	{"10.0.0.0/8 accept=all accept=none", "has a word twice"},
	{"10.0.0.0/8 name=a name=a accept=all", "has a word twice"},
	{"10.0.0.0/8 security=none security=none", "has a word twice"},
	{"10.0.0.0/8 sessions=1 sessions=1", "has a word twice"},
	{"10.0.0.0/8 color=red", "has an unknown word before ="},
	{"10.0.0.0/8 sessions=many", "has a limit that is no number"},
	{"10.0.0.0/8 sessions=16777217", "has a limit that is out of range"},
	{"10.0.0.0/8 name=a/b accept=all",
	 "has a name that is not 1 to 31 letters, digits, dots, _ and -"},
	{"10.0.0.0/8 name= accept=all",
	 "has a name that is not 1 to 31 letters, digits, dots, _ and -"},
	{"10.0.0.0/8 security=maybe", "has a security that is not none, allow or require"},
	{"10.0.0.0/8 fingerprint=01", "has a fingerprint that is not 32 bytes in hexadecimal"},
	{"10.0.0.0/8 fingerprint=" BYTES "00",
	 "has a fingerprint that is not 32 bytes in hexadecimal"},
	{"10.0.0.0/8 psk=key", "has a file that is not absolute"},
	{"10.0.0.0/8 ca=", "has a file whose path is empty or too long"},
	{"10.0.0.0/8 ca=ca.pem", "has a file that is not absolute"},
	{"10.0.0.0/8 ca=/a psk=/b", "has two identities"},
	{"10.0.0.0/8 security=require host=a", "has a host without ca="},
	{"10.0.0.0/8 psk=/b host=a", "has a host without ca="},
	{"10.0.0.0/8 ca=/a host=a host=b", "has a word twice"},
	{"10.0.0.0/8 ca=/a host=*.example",
	 "has a host that is not a name of 1 to 127 letters, digits, dots, _ and -, or an address"},
};

Test(peer_rules, the_fault_of_a_rule_is_named)
{
	struct peer_rule r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *wrong = peer_limits_parse_rule(bad[i].text, &r);

		cr_assert_not_null(wrong, "%s", bad[i].text);
		cr_expect_str_eq(wrong, bad[i].wrong, "%s %s", bad[i].text, wrong);
	}
}

Test(peer_rules, ports_are_ranges_of_ports)
{
	static const char *const ports[] = {"",
					    "0",
					    "65536",
					    "7-6",
					    "7-",
					    "-7",
					    "7,8",
					    "7+",
					    "+7",
					    "al",
					    "none+7",
					    "7 +8",
					    "1+2+3+4+5+6+7+8+9"};
	char text[64];
	struct peer_rule r;

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		snprintf(text, sizeof(text), "10.0.0.0/8 accept=%s", ports[i]);
		cr_expect_not_null(peer_limits_parse_rule(text, &r), "%s", text);
	}
}

/* ---- the list ---- */

Test(peer_rules, names_and_prefixes_are_those_of_one_rule)
{
	cr_assert(config_value_parse(k, "10.0.0.0/8 name=lab accept=all", &c, reason));
	cr_expect_not(config_value_parse(k, "11.0.0.0/8 name=lab accept=all", &c, reason));
	cr_expect_str_eq(reason,
			 "11.0.0.0/8 name=lab accept=all has the name of another rule: " RANGE);
	cr_expect_not(config_value_parse(k, "11.0.0.0/8 10.0.0.0/8 accept=all", &c, reason));
	cr_expect_str_eq(reason,
			 "11.0.0.0/8 10.0.0.0/8 accept=all has the prefix of another rule: " RANGE);
	cr_expect_not(config_value_parse(k, "11.0.0.0/8 11.0.0.0/8 accept=all", &c, reason));
	cr_expect_str_eq(reason, "11.0.0.0/8 11.0.0.0/8 accept=all has a prefix twice: " RANGE);
	cr_expect(config_value_parse(k, "10.0.0.0/9 accept=all", &c, reason), "a longer prefix");
}

Test(peer_rules, there_are_at_most_16)
{
	char text[64];

	for (unsigned i = 0; i < PEER_RULES; i++) {
		snprintf(text, sizeof(text), "192.0.2.%u accept=all", i);
		cr_assert(config_value_parse(k, text, &c, reason), "%s", reason);
	}
	cr_expect_not(config_value_parse(k, "192.0.3.1 accept=all", &c, reason));
	cr_expect_str_eq(reason, "192.0.3.1 accept=all is one too many: " RANGE);
}

/* A word that restricts is enforced or refused. */
Test(peer_rules, what_no_transport_can_do_is_refused)
{
	static const char *const demands[] = {"security=allow", "security=require",
					      ("fingerprint=" BYTES), "ca=/file", "psk=/file"};
	char text[256];

	for (size_t i = 0; i < sizeof(demands) / sizeof(demands[0]); i++) {
		bool needs_cert = i < 4;
		unsigned rule = 7;

		add("11.0.0.0/8 security=none");
		snprintf(text, sizeof(text), "10.0.0.0/8 %s", demands[i]);
		cr_expect(config_value_parse(k, text, &c, reason), "%s: %s", text, reason);
		cr_expect(strstr(config_unmet_demand(&c, &rule), "which no transport here"), "%s",
			  text);
		cr_expect_eq(rule, 1);
		c.security.udp_port = 4433;
		cr_expect_eq(config_unmet_demand(&c, &rule) != NULL, needs_cert, "%s", text);
		strcpy(c.security.certificate, "/cert.pem");
		cr_expect_null(config_unmet_demand(&c, &rule), "%s", text);
		config_default(&c);
	}
}

Test(peer_rules, the_nearest_prefix_around_another_one_is_found)
{
	add("0.0.0.0/0 accept=none");
	add("10.1.2.0/24 172.16.0.0/16 accept=all");
	add("10.1.0.0/16 accept=none");
	add("2001:db8::/32 accept=none");
	cr_expect_eq(peer_rules_around(&c.peers.rules, 0, 0), -1);
	cr_expect_eq(peer_rules_around(&c.peers.rules, 1, 0), 2);
	cr_expect_eq(peer_rules_around(&c.peers.rules, 1, 1), 0);
	cr_expect_eq(peer_rules_around(&c.peers.rules, 2, 0), 0);
	cr_expect_eq(peer_rules_around(&c.peers.rules, 3, 0), -1);
}

/* Limits for networks: each prefix of a rule has them. */
Test(peer_rules, each_prefix_has_the_limits_of_its_rule)
{
	struct network_limits limits;

	add("10.0.0.0/8 2001:db8::/32 sessions=7");
	add("10.1.0.0/16 accept=none");
	peer_limits_get(&c.peers, &limits);
	cr_assert_eq(limits.nrules, 2);
	cr_expect_eq(limits.rule[0].bits, NETWORK_V4_AT + 8);
	cr_expect_eq(limits.rule[1].bits, 32);
	cr_expect(limits.rule[1].has[NETWORK_SESSIONS]);
	cr_expect_eq(limits.rule[1].most[NETWORK_SESSIONS], 7);
	cr_expect_not(limits.rule[0].has[NETWORK_ASSOCS]);
}

/* ---- decisions ---- */

static void read_ip(const char *text, uint8_t ret[16])
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		network_ip_v4(&v4, ret);
	else
		cr_assert_eq(inet_pton(AF_INET6, text, ret), 1, "%s", text);
}

static int cover_of(const char *ip)
{
	uint8_t bytes[16];

	read_ip(ip, bytes);
	return peer_rules_cover(&c.peers.rules, bytes);
}

Test(peer_rules, rules_say_with_whom_associations_are_encrypted)
{
	add("10.0.0.0/8 security=require");
	add("10.1.0.0/16 security=allow");
	add("10.2.0.0/16 security=none");
	add("10.3.0.0/16 fingerprint=" BYTES);
	cr_expect_eq(cover_of("10.9.0.1"), 0);
	cr_expect_eq(cover_of("10.1.0.1"), -1);
	cr_expect_eq(cover_of("10.2.0.1"), -1);
	cr_expect_eq(cover_of("10.3.0.1"), 3);
	cr_expect_eq(cover_of("11.0.0.1"), -1);
}

static void make_rules(void)
{
	add("0.0.0.0/0 ::/0 name=world accept=none");
	add("10.0.0.0/8 name=site accept=all connect=7000-7099+7471");
	add("10.1.0.0/16 name=lab connect=none");
	add("10.1.2.0/24 name=bench accept=7471");
	add("10.9.0.0/16 name=secret accept=all security=require");
	add("10.9.1.0/24 name=key accept=all fingerprint=" BYTES);
	add("127.5.0.0/16 name=here accept=none");
}

static const struct {
	enum peer_direction direction;
	const char *ip;
	uint16_t port;
	const char *why; /* NULL: allowed */
	int rule;
} clear[] = {
	{PEER_ACCEPT, "192.0.2.1", 1, "192.0.2.1 may not connect to port 1", 0},
	{PEER_ACCEPT, "2001:db8::1", 7471, "2001:db8::1 may not connect to port 7471", 0},
	{PEER_CONNECT, "192.0.2.1", 1, NULL, 0}, /* no rule says it */
	{PEER_ACCEPT, "10.2.0.1", 65535, NULL, 0},
	{PEER_CONNECT, "10.2.0.1", 7000, NULL, 0},
	{PEER_CONNECT, "10.2.0.1", 7099, NULL, 0},
	{PEER_CONNECT, "10.2.0.1", 7471, NULL, 0},
	{PEER_CONNECT, "10.2.0.1", 7100, "no connection to port 7100 of 10.2.0.1", 1},
	{PEER_CONNECT, "10.2.0.1", 6999, "no connection to port 6999 of 10.2.0.1", 1},
	{PEER_ACCEPT, "10.1.0.1", 5, NULL, 0}, /* as the shorter prefix says */
	{PEER_CONNECT, "10.1.0.1", 7471, "no connection to port 7471 of 10.1.0.1", 2},
	{PEER_CONNECT, "10.1.2.1", 7471, "no connection to port 7471 of 10.1.2.1", 2},
	{PEER_ACCEPT, "10.1.2.1", 7471, NULL, 0},
	{PEER_ACCEPT, "10.1.2.1", 7470, "10.1.2.1 may not connect to port 7470", 3},
	{PEER_ACCEPT, "10.9.0.1", 7, "no clear text with 10.9.0.1", 4},
	{PEER_CONNECT, "10.9.0.1", 7471, "no clear text with 10.9.0.1", 4},
	{PEER_ACCEPT, "10.9.1.1", 7, "no clear text with 10.9.1.1", 5},
	/* A rule for everybody does not close the host to itself. */
	{PEER_ACCEPT, "127.0.0.1", 7, NULL, 0},
	{PEER_ACCEPT, "::1", 7, NULL, 0},
	{PEER_ACCEPT, "127.5.0.1", 7, "127.5.0.1 may not connect to port 7", 6},
};

Test(peer_rules, the_longest_prefix_that_says_it_decides)
{
	make_rules();
	for (size_t i = 0; i < sizeof(clear) / sizeof(clear[0]); i++) {
		uint8_t ip[16];
		struct peer_question q = {
			clear[i].direction, ip, clear[i].port, NULL, false, false};
		char why[100] = "";
		int rule;

		read_ip(clear[i].ip, ip);
		rule = peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why));
		cr_expect_eq(rule, clear[i].why ? clear[i].rule : -1, "%s: rule %d, %s",
			     clear[i].ip, rule, why);
		cr_expect_str_eq(why, clear[i].why ? clear[i].why : "");
	}
}

/* As the kernel's routes and every firewall have it. */
Test(peer_rules, an_ipv6_prefix_has_no_ipv4_address)
{
	uint8_t ip[16];
	struct peer_question q = {PEER_ACCEPT, ip, 7, NULL, false, false};
	char why[100];

	add("::/0 ::/80 name=six accept=none");
	read_ip("192.0.2.1", ip);
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), -1);
	read_ip("2001:db8::1", ip);
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), 0);
	add("0.0.0.0/0 name=four accept=all");
	cr_expect_eq(peer_rules_around(&c.peers.rules, 1, 0), -1);
}

Test(peer_rules, a_covered_peer_proves_who_it_is)
{
	uint8_t fingerprint[PEER_FINGERPRINT], ip[16];
	const struct peer_proof proof = {.fingerprint = fingerprint, .names = ""},
				psk = {.psk = "/key", .names = ""};
	struct peer_question q = {PEER_ACCEPT, ip, 7, &proof, true, false};
	char why[100];

	make_rules();
	memcpy(fingerprint, c.peers.rules.rule[5].identity.fingerprint, sizeof(fingerprint));
	fingerprint[31] ^= 1;
	read_ip("10.9.0.1", ip);
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), -1, "anybody");
	read_ip("10.9.1.1", ip);
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), 5);
	cr_expect_str_eq(why, "10.9.1.1 has another identity");
	q.proof = &psk;
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), 5);
	cr_expect_str_eq(why, "10.9.1.1 has another identity");
	q.proof = NULL;
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), 5);
	cr_expect_str_eq(why, "10.9.1.1 has no identity");
	q.unproven = true;
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), -1);
	q.unproven = false;
	q.proof = &proof;
	fingerprint[31] ^= 1;
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), -1);
	q.covered = false;
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), 5, "a claim");
}

/* ---- certificates of a CA, and pre-shared keys ---- */

static const struct {
	const char *words, *names, *fault, *untimely;
	const char *why; /* NULL: allowed */
} proofs[] = {
	{"ca=/ca host=a.example", "DNS:b.example DNS:A.example", NULL, NULL, NULL},
	{"ca=/ca host=a.example", "DNS:a.example.org DNS:xa.example", NULL, NULL,
	 "10.1.0.1 has a certificate without the name a.example"},
	{"ca=/ca host=a.example", "", NULL, NULL,
	 "10.1.0.1 has a certificate without the name a.example"},
	{"ca=/ca host=a.example", "IP:10.1.0.1", NULL, NULL,
	 "10.1.0.1 has a certificate without the name a.example"},
	{"ca=/ca host=.rack.example", "DNS:a.rack.example", NULL, NULL, NULL},
	{"ca=/ca host=.rack.example", "DNS:rack.example DNS:.rack.example DNS:ack.example", NULL,
	 NULL, "10.1.0.1 has a certificate without the name .rack.example"},
	/* Without a host: the address of the peer. */
	{"ca=/ca", "DNS:a.example IP:10.1.0.1", NULL, NULL, NULL},
	{"ca=/ca", "DNS:10.1.0.1 IP:10.1.0.11", NULL, NULL,
	 "10.1.0.1 has a certificate without the name 10.1.0.1"},
	{"ca=/ca host=2001:db8:0::1", "IP:2001:db8::1", NULL, NULL, NULL},
	/* Who vouches, and until when. */
	{"ca=/ca host=a", "DNS:a", "self-signed certificate", NULL,
	 "10.1.0.1 has a certificate for which /ca does not vouch: self-signed certificate"},
	{"ca=/newer host=a", "DNS:a", NULL, NULL,
	 "10.1.0.1 has a certificate that was not compared with /newer"},
	{"ca=/ca host=a", "DNS:a", NULL, "is expired",
	 "10.1.0.1 has a certificate that is expired"},
	{"security=require", "DNS:a", NULL, "is not valid yet",
	 "10.1.0.1 has a certificate that is not valid yet"},
	{"security=require", "DNS:a", "any", NULL, NULL},
	{"psk=/key", "DNS:a", NULL, NULL, "10.1.0.1 has another identity"},
};

Test(peer_rules, a_certificate_has_the_ca_and_the_name_of_its_rule)
{
	uint8_t fingerprint[PEER_FINGERPRINT] = {1}, ip[16];

	read_ip("10.1.0.1", ip);
	for (size_t i = 0; i < sizeof(proofs) / sizeof(proofs[0]); i++) {
		const struct peer_proof proof = {
			.fingerprint = fingerprint,
			.untimely = proofs[i].untimely,
			.names = proofs[i].names,
			.ncas = 2,
			.ca = {{"/another", NULL}, {"/ca", proofs[i].fault}}};
		struct peer_question q = {PEER_ACCEPT, ip, 7, &proof, true, false};
		char text[100], why[100] = "";
		int rule;

		c.peers.rules.n = 0;
		snprintf(text, sizeof(text), "10.0.0.0/8 %s", proofs[i].words);
		add(text);
		rule = peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why));
		cr_expect_eq(rule, proofs[i].why ? 0 : -1, "row %zu: %s", i, why);
		cr_expect_str_eq(why, proofs[i].why ? proofs[i].why : "");
	}
}

Test(peer_rules, a_pre_shared_key_is_that_of_its_rule)
{
	struct peer_proof proof = {.psk = "/key", .names = ""};
	uint8_t ip[16];
	struct peer_question q = {PEER_ACCEPT, ip, 7, &proof, true, false};
	char why[100];

	add("10.0.0.0/8 psk=/key");
	add("10.1.0.0/16 security=require");
	read_ip("10.2.0.1", ip);
	cr_expect_eq(peer_rules_psk(&c.peers.rules, ip), 0);
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), -1);
	proof.psk = "/other";
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), 0);
	cr_expect_str_eq(why, "10.2.0.1 has another identity");
	read_ip("10.1.0.1", ip);
	cr_expect_eq(peer_rules_psk(&c.peers.rules, ip), -1);
}

Test(peer_rules, who_may_connect_to_no_port_is_refused_before_one_is_known)
{
	uint8_t ip[16];
	char why[100];

	c.peers.rules.n = 0;
	add("10.0.0.0/8 name=closed accept=none");
	add("10.1.0.0/16 name=some accept=7");
	read_ip("10.2.0.1", ip);
	cr_expect_eq(peer_rules_refuse_peer(&c.peers.rules, ip, why, sizeof(why)), 0);
	cr_expect_str_eq(why, "10.2.0.1 may not connect");
	read_ip("10.1.0.1", ip);
	cr_expect_eq(peer_rules_refuse_peer(&c.peers.rules, ip, why, sizeof(why)), -1);
	read_ip("192.0.2.1", ip);
	cr_expect_eq(peer_rules_refuse_peer(&c.peers.rules, ip, why, sizeof(why)), -1);
}

Test(peer_rules, without_rules_all_is_allowed)
{
	uint8_t ip[16];
	struct peer_question q = {PEER_ACCEPT, ip, 7, NULL, false, false};
	char why[100];

	read_ip("192.0.2.1", ip);
	cr_expect_eq(peer_rules_refuse(&c.peers.rules, &q, why, sizeof(why)), -1);
}
