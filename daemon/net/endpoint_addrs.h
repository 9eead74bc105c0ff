/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses that a program names for an association, read from records and checked. RFC
 * 5043 7.2: one address at each end, unless the program names several.
 */
#ifndef DAEMON_NET_ENDPOINT_ADDRS_H
#define DAEMON_NET_ENDPOINT_ADDRS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/reply.h"
#include "llp/common/llp.h"

struct worker;

_Static_assert((int)MSG_MAX_ADDRS == (int)LLP_MAX_ADDRS, "a record's list fits");
_Static_assert((int)MSG_MAX_OWN == (int)LLP_MAX_OWN, "all addresses of a daemon fit");

/* The addresses of one end. None occurs twice. */
struct addr_set {
	struct sockaddr_storage a[LLP_MAX_ADDRS];
	unsigned n;
};

struct endpoint_addrs {
	struct addr_set peer;  /* with the port; the first address is tried first */
	struct addr_set local; /* empty: the address of the route */
	uint16_t port;         /* the peer's SCTP port */
	uint16_t own_port;     /* from which a new association begins, 0: any; not compared */
};

/* Reads the addresses of a connect. what: for refusals ("queue pair 5: connect"). 0 or a refusal,
 * with *ret untouched. */
int endpoint_addrs_read(const struct worker *w, const char *what, const struct msg_connect *req,
			struct endpoint_addrs *ret, struct reply *rep);

/*
 * Refuses a connect for which no association can be opened. err: why, a negative errno value. If
 * the host has no route from the daemon's addresses to the peer, the words name both, and EINVAL,
 * which Linux returns for a peer elsewhere and a loopback source, becomes ENETUNREACH.
 */
int endpoint_addrs_refuse(const struct worker *w, const char *what, const struct endpoint_addrs *e,
			  int err, struct reply *rep);

/* Reads the addresses of a listen. A lone wildcard and an empty list both mean all addresses. 0 or
 * a refusal, with *ret untouched. */
int endpoint_addrs_read_listen(const struct worker *w, const struct msg_listen *req,
			       struct addr_set *ret, struct reply *rep);

/* The addresses of the daemon, without ports. hdr is left alone. */
void endpoint_addrs_ours(const struct worker *w, struct msg_addrs *ret);

/* The same, packed: kept as long as the association. */
struct packed_addrs {
	uint16_t port;
	uint8_t npeers, nlocals;
	struct msg_addr a[]; /* of the peer, then of ours */
};

/* To be freed with free(); NULL: no memory. */
struct packed_addrs *endpoint_addrs_pack(const struct endpoint_addrs *e);

/* The same addresses again; own_port is 0. */
void endpoint_addrs_unpack(const struct packed_addrs *p, struct endpoint_addrs *ret);

/* True if one association serves both: equal sets of peer addresses with the same first one, the
 * same port, and equal sets of local addresses. */
bool endpoint_addrs_same(const struct endpoint_addrs *a, const struct endpoint_addrs *b);

/* True if an association with exactly these addresses serves the request of a program: as before,
 * or the program names no address of ours, and it has one. */
bool endpoint_addrs_serve(const struct endpoint_addrs *have, const struct endpoint_addrs *want);

/* True if the address is in the set. */
bool addr_set_has(const struct addr_set *l, const struct sockaddr_storage *a);

/* True if both sets have the same addresses. */
bool addr_set_same(const struct addr_set *a, const struct addr_set *b);

/* The transport that reaches the peer: the loop if the peer is this daemon. */
struct llp *endpoint_addrs_transport(const struct worker *w, const struct addr_set *peer);

/* The set in the form that transports take. */
struct llp_addrs addr_set_llp(const struct addr_set *l);

#endif
