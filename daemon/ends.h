/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses of an association that programs ask for: lists for each end, as the records
 * have them, checked. RFC 5043 7.2: one address at each end, unless the program names several.
 */
#ifndef DAEMON_ENDS_H
#define DAEMON_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/reply.h"
#include "llp/llp.h"

struct daemon;

_Static_assert((int)MSG_MAX_ADDRS == (int)LLP_MAX_ADDRS, "a record's list fits");

/* The addresses of one end, no two of them the same. */
struct ends_list {
	struct sockaddr_storage a[LLP_MAX_ADDRS];
	unsigned n;
};

struct ends {
	struct ends_list peer;  /* with the port; the first one is tried first */
	struct ends_list local; /* empty: the address that the route takes */
	uint16_t port;          /* SCTP, of the peer */
};

/* Reads the ends that a program wants to connect. what: for refusals ("queue pair 5: connect"). 0
 * or a refusal, with *ret untouched. */
int ends_read(const struct daemon *d, const char *what, const struct msg_connect *req,
	      struct ends *ret, struct reply *rep);

/* Reads the addresses that a program wants to listen at; the wildcard alone is all of them, as
 * none is. 0 or a refusal, with *ret untouched. */
int ends_read_listen(const struct daemon *d, const struct msg_listen *req, struct ends_list *ret,
		     struct reply *rep);

/* Whether one association will do for both: the same addresses of the peer with the same first
 * one and port, and the same ones here, in any order. */
bool ends_same(const struct ends *a, const struct ends *b);

/* Whether the address is in the list. */
bool ends_has(const struct ends_list *l, const struct sockaddr_storage *a);

/* The transport that reaches that end: the loop if it is this daemon. */
struct llp *ends_transport(const struct daemon *d, const struct ends_list *peer);

/* The list as transports take it. */
struct llp_addrs ends_addrs(const struct ends_list *l);

#endif
