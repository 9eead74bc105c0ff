/* SPDX-License-Identifier: BSD-2-Clause */
/* Clients come and go: credentials and limits, records from the socket, and the end. */
#ifndef DAEMON_SERVICE_ATTACH_H
#define DAEMON_SERVICE_ATTACH_H

#include <stdbool.h>

struct client;
struct daemon;
struct worker;

/* A client on a connected socket, which the daemon owns from now on, even on failure. 0 or -errno;
 * a client beyond the limit gets the reason and -EDQUOT is returned. */
int attach_client(struct worker *w, int fd);

/* Takes records that clients have sent: few if busy. True if there was any. Users take turns, and
 * so do the clients of each. */
bool attach_take_records(struct worker *w, bool busy);

/* Ends the client and all it owns: sessions with Terminate, registrations, queues. */
void attach_free(struct client *c);

/* Ends all clients that were marked with client_fault(). True if there was any. */
bool attach_end_faulty(struct worker *w);

/* Ends all clients. */
void attach_free_all(struct daemon *d);

#endif
