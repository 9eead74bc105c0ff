/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who owns carriers (carrier.h): a client without a program, for a user or for the peers. Carriers
 * of a user are shared by his programs and outlive them, so they belong to none of these. They are
 * charged to his uid, and have a turn among his programs.
 */
#ifndef DAEMON_OBJECTS_CARRIER_OWNER_H
#define DAEMON_OBJECTS_CARRIER_OWNER_H

#include "daemon/base/acct.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/client/pd.h"
#include "util/list.h"

struct msg_addr;
struct worker;

enum { CARRIER_OWNER_BUCKETS = 64 };

struct carrier_owner {
	struct list link;     /* in the list of the caller */
	struct client client; /* no event or fault reaches it */
	struct pd pd;         /* of the memory of its carriers */
	struct acct_charge charge;
	struct list carriers[CARRIER_OWNER_BUCKETS]; /* by the remote address */
	unsigned ncarriers;
	unsigned users; /* queue pairs of datagrams, or the listener */
};

/* Without carriers and users. NULL: out of memory. */
struct carrier_owner *carrier_owner_new(struct worker *w, uid_t uid);

/* The same for peers, whose carriers are charged to a uid that no program has, so that they use up
 * no share of a local one. It has no turn, and the caller is its user. */
struct carrier_owner *carrier_owner_new_for_peers(struct worker *w);

/* The bucket of carriers to or from the address. */
struct list *carrier_owner_bucket(struct carrier_owner *o, const struct msg_addr *remote);

/* Frees it if it has neither users nor carriers. */
void carrier_owner_release(struct carrier_owner *o);

#endif
