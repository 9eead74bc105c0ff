/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records from the client socket. Their sizes and descriptors are those of MSG_OPS.
 * A record is read only if its size and its descriptors match.
 */
#ifndef DAEMON_SERVICE_RECORD_H
#define DAEMON_SERVICE_RECORD_H

#include <stdbool.h>
#include <stddef.h>

struct client;

/*
 * Handles one record and sends the reply. fds: its descriptors, closed here. A record that does not
 * match ends the client, with the reason. Work that the client has posted before is taken first:
 * true if there was any, and other clients should have their turn before the next record of this
 * one.
 */
bool record_handle(struct client *c, const void *rec, size_t len, int *fds, unsigned nfds);

/* Refuses a record whose descriptors this process could not take. The client continues. */
void record_without_fds(struct client *c, const void *rec, size_t len);

#endif
