/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The carriers of a daemon: which user has which, as long as his programs have queue pairs of
 * datagrams, and the listener at the port session.datagram_port, which accepts those of other
 * daemons.
 */
#ifndef DAEMON_OBJECTS_CARRIERS_H
#define DAEMON_OBJECTS_CARRIERS_H

#include "daemon/base/reply.h"

struct client;
struct datagram;
struct worker;

/* A queue pair of datagrams begins or ends: the daemon listens while there is one. begin: 0 or a
 * refusal. end: also without begin. */
int carriers_begin(struct datagram *d, struct reply *rep);
void carriers_end(struct datagram *d);

/* Ends all: the daemon stops. */
void carriers_stop_all(struct worker *w);

/* Frees all. No queue pair of datagrams is left. */
void carriers_free(struct worker *w);

#endif
