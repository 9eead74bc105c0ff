/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of a client's rings and its socket: a record takes effect after the
 * entries that the same program had published in its rings before it sent the record.
 * docs/local-protocol.md has the table.
 */
#ifndef DAEMON_OBJECTS_POSTED_H
#define DAEMON_OBJECTS_POSTED_H

#include <stdbool.h>

struct client;

/*
 * Processes the requests in the client's rings as far as possible without waiting for a peer: local
 * requests are executed, others are sent as far as the transports take them. Bounded, whatever the
 * client posted. Its bells were taken before (bells_take_before). True if a queue pair had work.
 */
bool posted_take(struct client *c);

#endif
