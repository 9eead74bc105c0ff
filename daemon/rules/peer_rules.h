/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules of `peers.rules`. For each thing that rules can say (accept, connect, security with
 * identity) the longest prefix counts whose rule says it, then the first in order. Who has no such
 * rule is allowed in clear text. Loopback addresses are open unless a prefix in 127.0.0.0/8 or
 * ::1 closes them, so that a rule for all of IPv4 does not close this host to itself.
 */
#ifndef DAEMON_RULES_PEER_RULES_H
#define DAEMON_RULES_PEER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/rules/peer_rule.h"

enum { PEER_RULES = 16 };

_Static_assert((int)PEER_RULES *(int)PEER_RULE_PREFIXES <= (int)NETWORK_RULES,
	       "networks of peers have room for the limits of each prefix");

struct peer_rules {
	uint32_t n;
	struct peer_rule rule[PEER_RULES];
};

enum peer_direction {
	PEER_ACCEPT,  /* the peer connects to a port of ours */
	PEER_CONNECT, /* a program here connects to a port of the peer's */
};

/* The facts about a peer that a handshake has shown: a certificate or a pre-shared key. */
struct peer_proof {
	const uint8_t *fingerprint; /* of its certificate; NULL: there is none */
	const char *untimely;       /* "is expired", "is not valid yet"; NULL: neither */
	const char *names;          /* "DNS:a.example IP:192.0.2.1" */
	const char *psk;            /* file of its pre-shared key; NULL: there is none */
	unsigned ncas;
	struct {
		const char *file;
		const char *fault; /* why the CA does not vouch for it; NULL: it does */
	} ca[PEER_RULES];
};

struct peer_question {
	enum peer_direction direction;
	const uint8_t *ip; /* 16 bytes of the peer; IPv4 as ::ffff:a.b.c.d */
	uint16_t port;
	const struct peer_proof *proof; /* NULL: no handshake has shown any */
	bool covered;                   /* encrypted */
	bool unproven;                  /* a handshake will show who it is */
};

/* The index of the rule that refuses, with the refusal as a clause; or -1: allowed. */
int peer_rules_refuse(const struct peer_rules *l, const struct peer_question *q, char *ret_why,
		      size_t len);

/* The same of a peer that begins, before a port is known: it may connect to none. */
int peer_rules_refuse_peer(const struct peer_rules *l, const uint8_t ip[16], char *ret_why,
			   size_t len);

/* The same of security and identity alone, before a port is known. */
int peer_rules_refuse_security(const struct peer_rules *l, const struct peer_question *q,
			       char *ret_why, size_t len);

/* The index of the rule that says security or identity of this peer; -1: none. */
int peer_rules_security(const struct peer_rules *l, const uint8_t ip[16]);

/* The index of the rule by which associations with this peer are encrypted; -1: none. */
int peer_rules_cover(const struct peer_rules *l, const uint8_t ip[16]);

/* Whether a rule can refuse somebody: others have limits alone. */
bool peer_rules_can_refuse(const struct peer_rules *l);

/* The index of the rule by which this peer has to have a pre-shared key; -1: none. */
int peer_rules_psk(const struct peer_rules *l, const uint8_t ip[16]);

/* Why the rule cannot stand behind the others, as the fault of a text; NULL: it can. */
const char *peer_rules_check(const struct peer_rules *l, const struct peer_rule *r);

/* The demand of the rule that this host cannot meet, as the fault of a text; NULL: it has none.
 * covers: associations can be encrypted; has_cert: this host has a certificate. */
const char *peer_rule_demands(const struct peer_rule *r, bool covers, bool has_cert);

/* The other rule with the longest prefix around that prefix of rule i, or -1. */
int peer_rules_around(const struct peer_rules *l, unsigned i, unsigned prefix);

#endif
