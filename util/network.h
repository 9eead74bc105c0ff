/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The use of the networks of peers, in the manner of daemon/base/acct for uids: who has an address
 * of a network usually has all of them. A network is the first 24 bits of an IPv4 address, the
 * first 64 of an IPv6 address.
 *
 * Each object that a peer causes is charged to its network first. A network has at most its limit,
 * and three quarters of what the others leave of the total: so another network always
 * finds some.
 *
 * A network is known while something holds it. Each bucket of the table also keeps four networks
 * without a holder, those with the latest keep_ms; others are forgotten. So the table has at most
 * as many networks as are held, and NETWORK_KEPT. Knows numbers only.
 */
#ifndef UTIL_NETWORK_H
#define UTIL_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "util/idtab.h"
#include "util/list.h"

enum network_kind {
	NETWORK_ASSOCS,   /* associations that it opened */
	NETWORK_SESSIONS, /* sessions that it began, those that wait included */
	NETWORK_REQUESTS, /* session requests that wait for an answer */
	NETWORK_RATE,     /* session requests in a second: network_request() */
	NETWORK_EARLY,    /* bytes of segments before the Accept of their session */
	NETWORK_MEMORY,   /* bytes of data that the transport queues */
	NETWORK_WINDOWS,  /* bytes by which receive windows have grown: network_take() */
	NETWORK_CARRIERS, /* sessions for datagrams that were accepted */
	NETWORK_KINDS,
};

enum {
	NETWORK_BUCKETS = 256,
	NETWORK_WAY = 4, /* networks of a bucket that are kept without a holder */
	NETWORK_KEPT = NETWORK_BUCKETS * NETWORK_WAY,
	NETWORK_RULES = 64,
	NETWORK_V4_AT = 96, /* where the bits of an IPv4 address begin in ::ffff:a.b.c.d */
	NETWORK_V4_BITS = 24,
	NETWORK_V6_BITS = 64,
};

#define NETWORK_NO_LIMIT UINT64_MAX

/* Limits of the networks in a prefix. */
struct network_rule {
	uint8_t ip[16]; /* IPv4 as ::ffff:a.b.c.d; its bits count from there, too */
	uint8_t bits;   /* of the 128 */
	uint64_t most[NETWORK_KINDS];
	bool has[NETWORK_KINDS]; /* the others are as for all networks */
};

struct network_limits {
	uint64_t most[NETWORK_KINDS];            /* of a network without a rule */
	uint64_t all[NETWORK_KINDS];             /* of all together */
	struct network_rule rule[NETWORK_RULES]; /* for each kind, the longest prefix counts */
	unsigned nrules;
};

struct network_table;

/* Read-only for others. */
struct network {
	struct network_table *table;
	struct list link; /* of its bucket */
	uint32_t id;      /* in the table */
	uint8_t ip[16];   /* its first address */
	uint32_t holders;
	uint64_t used[NETWORK_KINDS], most[NETWORK_KINDS], refused[NETWORK_KINDS];
	uint64_t spent_us; /* the time in which its session requests accrue is used up to here */

	/* Of the owner of the table: */
	uint64_t lost_datagrams; /* of its carriers, to numbers that do not exist here
				  */
	uint64_t keep_ms;        /* it is worth to be kept until then */
	struct network_guesses {
		uint64_t forgiven_ms;        /* when all its guesses are forgotten */
		uint64_t session_ms;         /* when the next session may begin */
		uint64_t report_ms;          /* when it is reported again */
	} guesses;                           /* daemon/net/guesses */
	uint64_t reported_ms[NETWORK_KINDS]; /* a refusal was reported, then */
};

struct network_table {
	uint64_t key; /* random: peers cannot choose networks that share a bucket */
	struct network_limits limits;
	struct idtab all; /* of struct network */
	struct list bucket[NETWORK_BUCKETS];
	uint64_t used[NETWORK_KINDS], refused[NETWORK_KINDS]; /* of all networks, ever */
	uint64_t lost_datagrams;                              /* likewise */
	/* The limit of a network refused something. NULL: without a report. */
	void (*on_refusal)(void *user, struct network *n, enum network_kind kind);
	void *user;
};

/* An empty table. Does not allocate. */
void network_table_init(struct network_table *t, uint64_t key, const struct network_limits *limits);
/* No network may have a holder any more. */
void network_table_deinit(struct network_table *t);

/* Other limits: who has more keeps it, and is refused more. */
void network_table_set_limits(struct network_table *t, const struct network_limits *limits);

/* The network of an address (IPv4 as ::ffff:a.b.c.d), until network_drop(). NULL without memory.
 */
struct network *network_hold(struct network_table *t, const uint8_t ip[16]);
/* NULL is fine. */
void network_drop(struct network *n);

/* Whether the network of an address could have one more, which need not be known. Counts a refusal.
 */
bool network_table_may(struct network_table *t, const uint8_t ip[16], enum network_kind kind);

/* The 4 bytes of an IPv4 address as ::ffff:a.b.c.d. */
void network_ip_v4(const void *v4, uint8_t ret[16]);
bool network_ip_is_v4(const uint8_t ip[16]);

/* For show: as idtab_next(). */
const struct network *network_table_next(const struct network_table *t, uint32_t *pos);

/* In these calls n may be NULL: then all is granted, uncounted. */

/* Charges so much more. False: it would exceed the limit, which is counted. */
bool network_charge(struct network *n, enum network_kind kind, uint64_t amount);
void network_release(struct network *n, enum network_kind kind, uint64_t amount);

/* Charges as much of that as the limit leaves, and returns it. The rest is no refusal. */
uint64_t network_take(struct network *n, enum network_kind kind, uint64_t most);

/* The use of an object changes from *has to that, whatever the limit. */
void network_set(struct network *n, enum network_kind kind, uint64_t *has, uint64_t now);

/* A datagram of a carrier was dropped before it had a queue pair. */
void network_lost_datagram(struct network *n);

/* The limit at present. */
uint64_t network_limit(const struct network *n, enum network_kind kind);

/* True if there is room for so much more. Counts a refusal. */
bool network_may(struct network *n, enum network_kind kind, uint64_t amount);

/* A session request arrives: false beyond the rate. The requests of a second may come at once. */
bool network_request(struct network *n, uint64_t now_ms);

/* The network is of IPv4. */
bool network_is_v4(const struct network *n);

#endif
