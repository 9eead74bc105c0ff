/* SPDX-License-Identifier: BSD-2-Clause */
/* The limits of a network of peers, a row for each kind: peer_limits.c. */
#ifndef DAEMON_BASE_PEER_LIMITS_H
#define DAEMON_BASE_PEER_LIMITS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/base/config.h"
#include "util/network.h"

enum { PEER_LIMITS_CARRIERS = 1024 }; /* sessions for datagrams of all peers */

struct peer_limits_row {
	const char *key;  /* in the section `peers` of the configuration, or NULL */
	const char *what; /* as refusals call it */
	size_t member;    /* offset in struct config_peers, and ... */
	size_t size;      /* ... size of the value: uint32_t or uint64_t */
	uint64_t all;     /* of all networks together */
};

/* The row of a kind. */
const struct peer_limits_row *peer_limits_row(enum network_kind kind);

/* The configuration, as the table of networks takes it. */
void peer_limits_get(const struct config_peers *cfg, struct network_limits *ret);

/* A rule of peers.rules, such as "10.0.0.0/8 sessions=100 early_bytes=1MiB". NULL, and the rule
 * with every byte set; or the fault of the text, a verb and its object. */
const char *peer_limits_parse_rule(const char *text, struct peer_rule *ret);

/* Prints it in double quotes. */
void peer_limits_print_rule(const struct peer_rule *r, FILE *f);

#endif
