/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses of an association that programs ask for: lists for each end, as the records
 * have them, checked. RFC 5043 7.2: one address at each end, unless the program names several.
 */
#ifndef DAEMON_NET_ENDPOINT_ADDRS_H
#define DAEMON_NET_ENDPOINT_ADDRS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/reply.h"
#include "llp/llp.h"

struct worker;

_Static_assert((int)MSG_MAX_ADDRS == (int)LLP_MAX_ADDRS, "a record's list fits");

/* The addresses of one end, no two of them the same. */
struct addr_set {
	struct sockaddr_storage a[LLP_MAX_ADDRS];
	unsigned n;
};

struct endpoint_addrs {
	struct addr_set peer;  /* with the port; the first one is tried first */
	struct addr_set local; /* empty: the address that the route takes */
	uint16_t port;         /* SCTP, of the peer */
};

/* Reads the ends that a program wants to connect. what: for refusals ("queue pair 5: connect"). 0
 * or a refusal, with *ret untouched. */
int endpoint_addrs_read(const struct worker *w, const char *what, const struct msg_connect *req,
			struct endpoint_addrs *ret, struct reply *rep);

/* Reads the addresses that a program wants to listen at; the wildcard alone is all of them, as
 * none is. 0 or a refusal, with *ret untouched. */
int endpoint_addrs_read_listen(const struct worker *w, const struct msg_listen *req,
			       struct addr_set *ret, struct reply *rep);

/* Whether one association will do for both: the same addresses of the peer with the same first
 * one and port, and the same ones here, in any order. */
bool endpoint_addrs_same(const struct endpoint_addrs *a, const struct endpoint_addrs *b);

/* Whether the address is in the list. */
bool addr_set_has(const struct addr_set *l, const struct sockaddr_storage *a);

/* The transport that reaches the peer: the loop if the peer is this daemon. */
struct llp *endpoint_addrs_transport(const struct worker *w, const struct addr_set *peer);

/* The list as transports take it. */
struct llp_addrs addr_set_llp(const struct addr_set *l);

#endif
