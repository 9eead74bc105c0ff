/* SPDX-License-Identifier: BSD-2-Clause */
/* The share of an association in the limits of its peer's network (peers.h). */
#ifndef DAEMON_NET_ASSOCIATION_NETWORK_H
#define DAEMON_NET_ASSOCIATION_NETWORK_H

#include <stdbool.h>

#include "daemon/net/association.h"

/* Finds the network of assoc->remote, unless it is an association over the loop. */
void association_network_join(struct association *assoc);
/* Gives everything back. */
void association_network_leave(struct association *assoc);

/* The peer opened the association. False: its network has too many. */
bool association_network_accept(struct association *assoc);

/* The sessions and requests of the peer may have changed. */
void association_network_sessions(struct association *assoc);

/* A session request of the peer arrived. Why its network gets no more sessions now, or NULL. */
const char *association_network_refuses(struct association *assoc);

/* Memory for segments before the Accept of their session. */
struct early_memory association_network_early(const struct association *assoc);

#endif
