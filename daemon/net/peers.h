/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The networks of peers: the use of each, its limits (the keys of `peers`), its guesses. Each
 * association over the network holds its network. Programs of this daemon have none: their uids
 * pay.
 */
#ifndef DAEMON_NET_PEERS_H
#define DAEMON_NET_PEERS_H

#include <sys/socket.h>
#include <sys/types.h>

#include "daemon/base/worker.h"
#include "daemon/net/guesses.h"
#include "util/network.h"

struct peers {
	struct worker *worker;
	struct network_table table;
	struct guesses guesses;
	struct network_table
		visited; /* networks as each uid of ours sees them: its guesses there */
	struct guesses own_guesses;
};

/* With the limits of the configuration, and a key of getrandom() or the like. 0 or -errno. */
int peers_new(struct worker *w, ssize_t (*random)(void *, size_t, unsigned));
/* No association may exist any more. */
void peers_free(struct worker *w);

/* The limits have changed. */
void peers_set_limits(struct worker *w);

/* The network of a peer, until network_drop(). NULL without memory, or if none is counted. */
struct network *peers_hold(struct worker *w, const struct sockaddr_storage *peer);

/* A guess: as guesses_count(), guesses_wait(). */
bool peers_guessed(struct worker *w, struct network *n);
uint32_t peers_wait(struct worker *w, struct network *n);

/* A peer refused a request of this user's for a guess: as guesses_count(). */
bool peers_user_guessed(struct worker *w, uid_t uid, const struct sockaddr_storage *peer);
/* Whether the user may ask the peer's network for a session now: guesses_may_ask(). */
bool peers_user_may_ask(struct worker *w, uid_t uid, const struct sockaddr_storage *peer);

/* Associations that all programs here may have opened at present: peers keep a quarter of those
 * that the transport can have, and those that they opened. */
uint64_t peers_leave_associations(const struct worker *w);

/* An address as networks and rules have it: IPv4 as ::ffff:a.b.c.d. */
void peers_ip(const struct sockaddr_storage *a, uint8_t ret[16]);

/* The first address of the network, and the bits of its prefix. */
void peers_addr(const struct network *n, struct sockaddr_storage *ret, unsigned *ret_bits);

#endif
