/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that waits for sessions at an SCTP port. */
#ifndef DAEMON_OBJECTS_LISTENER_H
#define DAEMON_OBJECTS_LISTENER_H

#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "daemon/net/association.h"

struct client;
struct llp_listener;

struct listener {
	struct association_listener accepts; /* what the transports know of it */
	struct client *client;
	uint32_t handle;
	uint32_t cookie;
	uint32_t backlog;
	uint32_t waiting; /* session requests that the client has not answered */
	uint16_t port;
	struct addr_set at;              /* empty: all addresses */
	struct llp_listener *net, *self; /* at either transport */
	struct acct_charge charge;
	uint64_t requests;
};

/* The listener that accepted the association; NULL if it was opened here or its listener is
 * closed. */
static inline struct listener *listener_of(const struct association *assoc)
{
	return assoc->listener ? list_entry(assoc->listener, struct listener, accepts) : NULL;
}

/* Listens at both transports for the client, and gets the associations of an earlier listener of
 * the port. 0 or a refusal: port taken, address not ours. */
int listener_create(struct client *c, const struct msg_listen *req, struct reply *rep);

/* Refuses the session requests that wait. NULL is fine; returns NULL. */
struct listener *listener_free(struct listener *l);

#endif
