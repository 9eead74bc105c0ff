/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of a client's rings and its socket: a record takes effect after what the same program
 * had published in its rings before it sent the record. docs/local-protocol.md has the table.
 */
#ifndef DAEMON_OBJECTS_POSTED_H
#define DAEMON_OBJECTS_POSTED_H

#include <stdbool.h>

struct client;

/*
 * Takes from the client's rings what can be done at once: requests that send nothing are executed,
 * and others are sent as far as the transports take them. Bounded, whatever the client posted.
 * Waits for no response and no peer. True if a queue pair had work.
 */
bool posted_take(struct client *c);

#endif
