/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions that carry datagrams to queue pairs of another daemon. A carrier is a queue pair without
 * rings, which no program sees: its endpoint takes datagrams from slots here. A queue pair of
 * datagrams opens one when it sends to another daemon, as a connect of its user, and it ends after
 * a while without datagrams. The other daemon accepts it at the port session.datagram_port.
 *
 * A datagram that finds no free slot is dropped.
 */
#ifndef DAEMON_OBJECTS_CARRIER_H
#define DAEMON_OBJECTS_CARRIER_H

#include <stdbool.h>

struct flight;
struct qp;
struct worker;

/* A queue pair of datagrams begins or ends: the daemon listens for carriers while there is one. */
void carrier_use(struct worker *w);
void carrier_unuse(struct worker *w);

/* Ends all: the daemon stops. */
void carrier_stop_all(struct worker *w);

/* Sends the datagram of a queue pair to another daemon. False: it is dropped. */
bool carrier_send(struct qp *sender, const struct flight *f);

/* Ends the carriers of a queue pair, which ends. */
void carrier_free_all(struct qp *sender);

#endif
