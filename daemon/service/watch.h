/* SPDX-License-Identifier: BSD-2-Clause */
/* A client that watches gets a record for each event that it may see (`ddpctl monitor`). */
#ifndef DAEMON_SERVICE_WATCH_H
#define DAEMON_SERVICE_WATCH_H

#include <stdint.h>

struct client;

/*
 * The client gets the events from now on, with the sequence number of its request. If it reads
 * slowly, events are left out, and the next one says how many. It watches until it disconnects.
 */
void watch_begin(struct client *c, uint32_t seq);

#endif
