/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An SCTP port that the programs of one user listen on, each with a service key of its own. Its
 * associations belong to the port, so that sessions to all of its listeners share them.
 */
#ifndef DAEMON_OBJECTS_PORT_H
#define DAEMON_OBJECTS_PORT_H

#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/reply.h"
#include "daemon/net/association.h"
#include "util/list.h"

struct listener;
struct llp_listener;

struct port {
	struct association_listener accepts; /* what the transports know of it */
	struct list link;                    /* in worker.ports */
	struct list listeners;               /* in the order in which they began */
	uid_t uid;                           /* of all of them */
	uint16_t number;
	struct addr_set at;              /* empty: all addresses */
	struct llp_listener *net, *self; /* at either transport */
};

/* What a listener asks for. */
struct port_request {
	struct addr_set at;
	uint16_t number; /* 0: a free one */
	uid_t uid;
	uint64_t key; /* 0: none */
};

/*
 * The port for a new listener, which the caller adds to its listeners, else calls port_put(): one
 * that listens at the same addresses for this uid and has no listener with this key, or a new one.
 * A new one gets the associations of an earlier one with this number. 0 or a refusal: in use,
 * address not ours.
 */
int port_get(struct worker *w, const struct port_request *req, struct reply *rep,
	     struct port **ret);

/* Frees the port if it has no listener. */
void port_put(struct port *p);

/* The port that accepted the association; NULL if it was opened here or its port is closed. */
static inline struct port *port_of(const struct association *assoc)
{
	return assoc->listener ? list_entry(assoc->listener, struct port, accepts) : NULL;
}

/* The listener with this key, or NULL. Key 0: the listener without a key, else the first one. */
struct listener *port_find(const struct port *p, uint64_t key);

#endif
