/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An SCTP port that the programs of one user listen on, each with a service key of its own. Its
 * associations belong to the port, so that sessions to all of its listeners share them.
 */
#ifndef DAEMON_OBJECTS_PORT_H
#define DAEMON_OBJECTS_PORT_H

#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "daemon/net/association.h"
#include "util/list.h"

struct client;
struct listener;
struct llp_listener;

struct port {
	struct association_listener accepts; /* for the transports */
	struct list link;                    /* in worker.ports */
	struct list listeners;               /* in the order in which they began */
	uid_t uid;                           /* of all of them */
	uint16_t number;
	struct addr_set at;              /* empty: all addresses */
	struct llp_listener *net, *self; /* at either transport */
	struct acct_charge fd;           /* of a socket of the kernel */
};

/* The request of a listener. */
struct port_request {
	struct addr_set at;
	uint16_t number; /* 0: a free one */
	struct client *by;
	uint64_t key; /* 0: none */
};

/*
 * The port for a new listener: one that listens at the same addresses for this uid and has no
 * listener with this key, or a new one. The caller adds the listener to it, or calls port_put().
 * 0 or a refusal: in use, address not ours.
 */
int port_get(struct worker *w, const struct port_request *req, struct reply *rep,
	     struct port **ret);

/* Frees the port if it has no listener. */
void port_put(struct port *p);

/* The port for sessions that the peer begins on the association: the one that accepted it, or
 * one that listens at its local address and port; NULL: none. A restarted program gets the sessions
 * for its predecessor's port, because peers keep using the association. */
struct port *port_of(struct association *assoc);

/* The port from which an association with these addresses begins for a client: that of a listener
 * of its own, so that the peer finds it there and uses the same association; 0: any. */
uint16_t port_to_connect(const struct client *c, const struct endpoint_addrs *e);

/* The listener with this key, or NULL. Key 0: the listener without a key, else the first one. */
struct listener *port_find(const struct port *p, uint64_t key);

#endif
