/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session that carries datagrams to queue pairs of another daemon, in one direction. It is a
 * queue pair without rings, which no program sees: its endpoint takes datagrams from an outbox. A
 * user has one for each pair of addresses to which his programs send (carriers.h). It ends after a
 * while without datagrams.
 */
#ifndef DAEMON_OBJECTS_CARRIER_H
#define DAEMON_OBJECTS_CARRIER_H

#include <stdbool.h>

struct assoc_event;
struct association;
struct carrier_owner;
struct flight;
struct list;

/* Sends the datagram by the carrier of this user; it is opened as a connect of the user if there is
 * none. False: it is dropped. */
bool carrier_send(struct carrier_owner *o, const struct flight *f);

/* Accepts the session of another daemon. False: it is refused, for the reason. */
bool carrier_accept(struct carrier_owner *peers, struct association *assoc,
		    const struct assoc_event *ev, const char **reason);

/* The user has no queue pair of datagrams any more: his carriers end when they have sent those that
 * wait there. */
void carrier_finish_all(struct carrier_owner *o);

/* Ends all of the owner at once: the daemon stops. */
void carrier_end_all(struct carrier_owner *o);

/* Frees all of the owner. */
void carrier_free_all(struct carrier_owner *o);

#endif
