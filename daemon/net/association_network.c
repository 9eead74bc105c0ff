/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/association_network.h"

#include <stdlib.h>

#include "daemon/net/peers.h"

void association_network_join(struct association *assoc)
{
	if (assoc->conn->llp == assoc->worker->net)
		assoc->network = peers_hold(assoc->worker, &assoc->remote);
}

void association_network_leave(struct association *assoc)
{
	struct network *n = assoc->network;

	network_set(n, NETWORK_ASSOCS, &assoc->charged.assocs, 0);
	network_set(n, NETWORK_SESSIONS, &assoc->charged.sessions, 0);
	network_set(n, NETWORK_REQUESTS, &assoc->charged.requests, 0);
	network_drop(n);
}

bool association_network_accept(struct association *assoc)
{
	if (!network_charge(assoc->network, NETWORK_ASSOCS, 1))
		return false;
	assoc->charged.assocs = 1;
	return true;
}

void association_network_sessions(struct association *assoc)
{
	bool up = assoc->ddp != NULL;

	network_set(assoc->network, NETWORK_SESSIONS, &assoc->charged.sessions,
		    up ? assoc_peer_sessions(assoc->ddp) : 0);
	network_set(assoc->network, NETWORK_REQUESTS, &assoc->charged.requests,
		    up ? assoc_pending(assoc->ddp) : 0);
}

const char *association_network_refuses(struct association *assoc)
{
	struct network *n = assoc->network;

	association_network_sessions(assoc); /* this one is among them */
	if (!network_request(n, assoc->worker->now_ms))
		return "the peer's network asks too often (peers.requests_per_s)";
	if (!network_may(n, NETWORK_REQUESTS, 0))
		return "too many requests of the peer's network wait (peers.requests)";
	if (!network_may(n, NETWORK_SESSIONS, 0))
		return "the peer's network has too many sessions (peers.sessions)";
	return NULL;
}

/* The peer sends before it was accepted, so its network pays. */
static void *resize_early(void *user, void *p, uint32_t from, uint32_t to)
{
	struct network *n = user;
	void *r = NULL;

	if (to > from && !network_charge(n, NETWORK_EARLY, to - from))
		return NULL;
	if (to > 0)
		r = realloc(p, to);
	else
		free(p);
	if (to > from && !r)
		network_release(n, NETWORK_EARLY, to - from);
	if (to < from && (r || to == 0))
		network_release(n, NETWORK_EARLY, from - to);
	return r;
}

struct early_memory association_network_early(const struct association *assoc)
{
	return (struct early_memory){resize_early, assoc->network};
}
