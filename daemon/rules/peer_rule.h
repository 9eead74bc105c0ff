/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rule of `peers.rules` as text: prefixes, and words of the form KEY=VALUE, such as
 * "10.1.0.0/16 name=lab accept=7000-7099+7471 connect=none sessions=100".
 */
#ifndef DAEMON_RULES_PEER_RULE_H
#define DAEMON_RULES_PEER_RULE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/network.h"

enum {
	PEER_RULE_NAME = 32, /* bytes of a name, with its NUL */
	PEER_RULE_PREFIXES = 4,
	PEER_RULE_RANGES = 8,
	PEER_RULE_TEXT = 512, /* bytes of the text, with its NUL */
	PEER_FINGERPRINT = 32,
	PEER_IDENTITY_FILE = 108,
	PEER_IDENTITY_HOST = 128,
};

/* The networks of an IPv4 prefix have ::ffff:a.b.c.d; its bits count from there, too. */
struct peer_prefix {
	uint8_t ip[16];
	uint32_t bits; /* of the 128 */
};

/* Ports that a rule opens. */
struct peer_ports {
	uint32_t said; /* 0: the rule does not say */
	uint32_t n;    /* 0: none */
	struct {
		uint16_t first, last;
	} range[PEER_RULE_RANGES];
};

/* A fingerprint as OpenSSL prints it, with its NUL. */
enum { PEER_FINGERPRINT_TEXT = 3 * PEER_FINGERPRINT };

enum peer_security {
	PEER_SECURITY_UNSAID,
	PEER_SECURITY_NONE,    /* in clear text */
	PEER_SECURITY_ALLOW,   /* encrypted or not */
	PEER_SECURITY_REQUIRE, /* encrypted */
};

enum peer_identity_kind {
	PEER_IDENTITY_NONE,
	PEER_IDENTITY_FINGERPRINT, /* of its certificate, SHA-256 */
	PEER_IDENTITY_CA,          /* a certificate of a CA of this file, with a name */
	PEER_IDENTITY_PSK,         /* the pre-shared key of this file */
};

/* What a peer is, or has to be. */
struct peer_identity {
	uint32_t kind; /* enum peer_identity_kind */
	uint8_t fingerprint[PEER_FINGERPRINT];
	char file[PEER_IDENTITY_FILE];
	/* The name in the certificate: ".a.example" is every host there, "" the peer's address. */
	char host[PEER_IDENTITY_HOST];
};

struct peer_rule {
	char name[PEER_RULE_NAME]; /* "": none */
	uint32_t nprefixes;        /* 1 .. PEER_RULE_PREFIXES */
	struct peer_prefix prefix[PEER_RULE_PREFIXES];
	struct peer_ports accept;  /* ours, to which its hosts may connect */
	struct peer_ports connect; /* theirs, to which programs here may connect */
	uint32_t security;         /* enum peer_security */
	struct peer_identity identity;
	uint32_t has; /* a bit for each enum network_kind that it limits */
	uint64_t most[NETWORK_KINDS];
};

/* Reads a word that is no key of this file: "sessions=100". NULL or the fault. */
typedef const char *peer_rule_word(char *word, struct peer_rule *ret);

/* NULL, and the rule with every byte set; or the fault of the text, a verb and its object. other:
 * for words that this file does not know. */
const char *peer_rule_parse(const char *text, peer_rule_word *other, struct peer_rule *ret);

/* All but the limits, without quotes. */
void peer_rule_print(const struct peer_rule *r, FILE *f);

/* "FB:8B:..." Returns ret. */
const char *peer_fingerprint_text(const uint8_t fingerprint[PEER_FINGERPRINT],
				  char ret[PEER_FINGERPRINT_TEXT]);

/* Its name, or its first prefix. Returns ret. */
enum { PEER_RULE_TITLE = 64 };
const char *peer_rule_title(const struct peer_rule *r, char ret[PEER_RULE_TITLE]);

/* "10.1.0.0/16". Returns ret. */
const char *peer_prefix_text(const struct peer_prefix *p, char ret[PEER_RULE_TITLE]);

/* Whether the address is one of the prefix. An IPv4 address is of no IPv6 prefix, not of ::/0. */
bool peer_prefix_has(const struct peer_prefix *p, const uint8_t ip[16]);

#endif
