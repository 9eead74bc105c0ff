/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/rules/peer_rules.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- which rule counts ---- */

static bool says_accept(const struct peer_rule *r)
{
	return r->accept.said;
}

static bool says_connect(const struct peer_rule *r)
{
	return r->connect.said;
}

static bool says_security(const struct peer_rule *r)
{
	return r->security || r->identity.kind;
}

/* A prefix counts for a loopback address if it is at least that long. */
static uint32_t least_bits(const uint8_t ip[16])
{
	static const struct peer_prefix v4 = {.ip = {[10] = 0xff, 0xff, 127},
					      .bits = NETWORK_V4_AT + 8};
	static const struct peer_prefix v6 = {.ip = {[15] = 1}, .bits = 128};

	if (peer_prefix_has(&v4, ip))
		return v4.bits;
	return peer_prefix_has(&v6, ip) ? v6.bits : 0;
}

static int find_rule(const struct peer_rules *l, const uint8_t ip[16],
		     bool (*says)(const struct peer_rule *))
{
	uint32_t least = least_bits(ip);
	int found = -1;

	for (unsigned i = 0; i < l->n; i++) {
		const struct peer_rule *r = &l->rule[i];

		for (unsigned j = 0; says(r) && j < r->nprefixes; j++) {
			if (r->prefix[j].bits < least || !peer_prefix_has(&r->prefix[j], ip))
				continue;
			least = r->prefix[j].bits + 1; /* of equal ones the first counts */
			found = (int)i;
		}
	}
	return found;
}

/* ---- decisions ---- */

static bool has_port(const struct peer_ports *p, uint16_t port)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->range[i].first <= port && port <= p->range[i].last)
			return true;
	return false;
}

static const char *ip_text(const uint8_t ip[16], char ret[INET6_ADDRSTRLEN])
{
	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)ip))
		inet_ntop(AF_INET, ip + NETWORK_V4_AT / 8, ret, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, ip, ret, INET6_ADDRSTRLEN);
	return ret;
}

static int refuse_port(const struct peer_rules *l, const struct peer_question *q, char *ret_why,
		       size_t len)
{
	bool accept = q->direction == PEER_ACCEPT;
	int i = find_rule(l, q->ip, accept ? says_accept : says_connect);
	char text[INET6_ADDRSTRLEN];

	if (i < 0 || has_port(accept ? &l->rule[i].accept : &l->rule[i].connect, q->port))
		return -1;
	ip_text(q->ip, text);
	if (accept)
		snprintf(ret_why, len, "%s may not connect to port %u", text, q->port);
	else
		snprintf(ret_why, len, "no connection to port %u of %s", q->port, text);
	return i;
}

int peer_rules_refuse_peer(const struct peer_rules *l, const uint8_t ip[16], char *ret_why,
			   size_t len)
{
	int i = find_rule(l, ip, says_accept);
	char text[INET6_ADDRSTRLEN];

	if (i < 0 || l->rule[i].accept.n > 0)
		return -1;
	snprintf(ret_why, len, "%s may not connect", ip_text(ip, text));
	return i;
}

/* ---- who a peer is ---- */

/* A sentence that is being made. */
struct why {
	char *to;
	size_t len;
	char ip[INET6_ADDRSTRLEN];
};

/* A host of the certificate; ".a.example" is in "b.a.example". */
static bool is_host(const char *name, size_t len, const char *host)
{
	size_t n = strlen(host);

	if (*host != '.')
		return len == n && strncasecmp(name, host, n) == 0;
	return len > n && *name != '.' && strncasecmp(name + len - n, host, n) == 0;
}

/* Names are those of hosts and addresses, each with its kind before it. */
static bool has_name(const char *names, const char *kind, const char *host)
{
	size_t len, prefix = strlen(kind);

	for (; *names; names += len + (names[len] == ' ')) {
		len = strcspn(names, " ");
		if (len > prefix && strncmp(names, kind, prefix) == 0 &&
		    is_host(names + prefix, len - prefix, host))
			return true;
	}
	return false;
}

/* The name that the certificate has to have, as an address if it is one. */
static bool has_address(const char *host, char ret[INET6_ADDRSTRLEN])
{
	uint8_t ip[16];
	int family = strchr(host, ':') ? AF_INET6 : AF_INET;

	return inet_pton(family, host, ip) == 1 && inet_ntop(family, ip, ret, INET6_ADDRSTRLEN);
}

static bool refuse_name(const char *names, const char *host, const struct why *w)
{
	char address[INET6_ADDRSTRLEN];
	bool is_address = has_address(host, address);

	if (is_address ? has_name(names, "IP:", address) : has_name(names, "DNS:", host))
		return false;
	snprintf(w->to, w->len, "%s has a certificate without the name %s", w->ip, host);
	return true;
}

static bool refuse_ca(const struct peer_identity *id, const struct peer_proof *p,
		      const struct why *w)
{
	for (unsigned i = 0; i < p->ncas; i++) {
		if (strcmp(p->ca[i].file, id->file) != 0)
			continue;
		if (!p->ca[i].fault)
			return refuse_name(p->names, *id->host ? id->host : w->ip, w);
		snprintf(w->to, w->len, "%s has a certificate for which %s does not vouch: %s",
			 w->ip, id->file, p->ca[i].fault);
		return true;
	}
	snprintf(w->to, w->len, "%s has a certificate that was not compared with %s", w->ip,
		 id->file);
	return true;
}

/* A certificate is compared with a fingerprint or CA; a pre-shared key with its file. */
static bool refuse_identity(const struct peer_identity *id, const struct peer_proof *p,
			    const struct why *w)
{
	bool right = false;

	if (id->kind == PEER_IDENTITY_NONE)
		return false;
	if (id->kind == PEER_IDENTITY_CA && p && p->fingerprint)
		return refuse_ca(id, p, w);
	if (id->kind == PEER_IDENTITY_FINGERPRINT && p && p->fingerprint)
		right = memcmp(id->fingerprint, p->fingerprint, PEER_FINGERPRINT) == 0;
	if (id->kind == PEER_IDENTITY_PSK && p && p->psk)
		right = strcmp(id->file, p->psk) == 0;
	if (!right)
		snprintf(w->to, w->len, "%s has %s identity", w->ip, p ? "another" : "no");
	return !right;
}

/* Who has to be somebody has to prove it, which is done under encryption alone. */
int peer_rules_refuse_security(const struct peer_rules *l, const struct peer_question *q,
			       char *ret_why, size_t len)
{
	int i = find_rule(l, q->ip, says_security);
	const struct peer_rule *r = i < 0 ? NULL : &l->rule[i];
	struct why w = {.to = ret_why, .len = len};

	ip_text(q->ip, w.ip);
	if (!r || (!q->covered && r->security != PEER_SECURITY_REQUIRE && !r->identity.kind))
		return -1;
	if (!q->covered) {
		snprintf(ret_why, len, "no clear text with %s", w.ip);
		return i;
	}
	if (q->unproven)
		return -1;
	if (q->proof && q->proof->untimely) {
		snprintf(ret_why, len, "%s has a certificate that %s", w.ip, q->proof->untimely);
		return i;
	}
	return refuse_identity(&r->identity, q->proof, &w) ? i : -1;
}

int peer_rules_refuse(const struct peer_rules *l, const struct peer_question *q, char *ret_why,
		      size_t len)
{
	int i = refuse_port(l, q, ret_why, len);

	return i >= 0 ? i : peer_rules_refuse_security(l, q, ret_why, len);
}

int peer_rules_security(const struct peer_rules *l, const uint8_t ip[16])
{
	return find_rule(l, ip, says_security);
}

int peer_rules_cover(const struct peer_rules *l, const uint8_t ip[16])
{
	int i = peer_rules_security(l, ip);
	const struct peer_rule *r = i < 0 ? NULL : &l->rule[i];

	return r && (r->security == PEER_SECURITY_REQUIRE || r->identity.kind) ? i : -1;
}

int peer_rules_psk(const struct peer_rules *l, const uint8_t ip[16])
{
	int i = peer_rules_security(l, ip);

	return i >= 0 && l->rule[i].identity.kind == PEER_IDENTITY_PSK ? i : -1;
}

bool peer_rules_can_refuse(const struct peer_rules *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (says_accept(&l->rule[i]) || says_connect(&l->rule[i]) ||
		    says_security(&l->rule[i]))
			return true;
	return false;
}

/* ---- the list ---- */

static bool same_prefix(const struct peer_prefix *a, const struct peer_prefix *b)
{
	return a->bits == b->bits && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

/* of the first n of b */
static bool have_prefix(const struct peer_prefix *a, const struct peer_rule *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (same_prefix(a, &b->prefix[i]))
			return true;
	return false;
}

const char *peer_rules_check(const struct peer_rules *l, const struct peer_rule *r)
{
	for (unsigned j = 0; j < r->nprefixes; j++) {
		if (have_prefix(&r->prefix[j], r, j))
			return "has a prefix twice";
		for (unsigned i = 0; i < l->n; i++)
			if (have_prefix(&r->prefix[j], &l->rule[i], l->rule[i].nprefixes))
				return "has the prefix of another rule";
	}
	for (unsigned i = 0; *r->name && i < l->n; i++)
		if (strcmp(r->name, l->rule[i].name) == 0)
			return "has the name of another rule";
	return l->n == PEER_RULES ? "is one too many" : NULL;
}

const char *peer_rule_demands(const struct peer_rule *r, bool covers, bool has_cert)
{
	if (r->security <= PEER_SECURITY_NONE && !r->identity.kind)
		return NULL;
	if (covers && (has_cert || r->identity.kind == PEER_IDENTITY_PSK))
		return NULL;
	if (covers)
		return "needs a certificate of this host (security.certificate)";
	return r->identity.kind ? "has an identity, which no transport here can verify "
				  "(security.udp_port)"
				: "has a security other than none, which no transport here has "
				  "(security.udp_port)";
}

static bool is_around(const struct peer_prefix *outer, const struct peer_prefix *inner)
{
	return outer->bits < inner->bits && peer_prefix_has(outer, inner->ip);
}

int peer_rules_around(const struct peer_rules *l, unsigned i, unsigned prefix)
{
	const struct peer_prefix *in = &l->rule[i].prefix[prefix];
	uint32_t least = 0;
	int found = -1;

	for (unsigned out = 0; out < l->n; out++) {
		for (unsigned j = 0; out != i && j < l->rule[out].nprefixes; j++) {
			const struct peer_prefix *p = &l->rule[out].prefix[j];

			if (p->bits < least || !is_around(p, in))
				continue;
			least = p->bits + 1;
			found = (int)out;
		}
	}
	return found;
}
