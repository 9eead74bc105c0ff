/* SPDX-License-Identifier: BSD-2-Clause */
/* Clients begin, ask and end: credentials and limits, records from the socket, freeing. */
#ifndef DAEMON_SERVICE_ATTACH_H
#define DAEMON_SERVICE_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct daemon;
struct worker;

/* A client on a connected socket, which the daemon owns from now on, even on failure. 0 or -errno;
 * a client beyond the limit gets the reason and -EDQUOT is returned. */
int attach_client(struct worker *w, int fd);

/* Takes records that clients have sent, and frees objects of those that have ended. Users take
 * turns by the time that this takes, and so do the clients of each. others_us: how long the other
 * work of this turn took; then few are taken, and all turns together leave as much time to other
 * work. 0: there was none. True if there was any. */
bool attach_take_records(struct worker *w, uint64_t others_us);

/* Ends the client and all it owns: sessions with Terminate, registrations, queues. */
void attach_free(struct client *c);

/* Ends clients that were marked with client_fault(), a few in a turn. Of one that owns much the
 * rest follows in attach_take_records(). True if there was any. */
bool attach_end_faulty(struct worker *w);

/* Ends all clients. */
void attach_free_all(struct daemon *d);

#endif
