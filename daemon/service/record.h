/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requests of the client socket: a table from opcode to size, descriptors and handler.
 * Nothing of a record is looked at before its size and its descriptors are right.
 */
#ifndef DAEMON_SERVICE_RECORD_H
#define DAEMON_SERVICE_RECORD_H

#include <stddef.h>

struct client;

/*
 * Handles one record and sends the reply. fds: the descriptors that came with it, closed
 * here. What does not fit the table ends the client, with the reason.
 */
void record_handle(struct client *c, const void *rec, size_t len, int *fds, unsigned nfds);

#endif
