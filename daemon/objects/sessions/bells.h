/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which queue pairs have work: the bell pages that clients share. Only the pages of clients that
 * rang recently, or may answer a completion, are polled. All other clients see the daemon as asleep
 * and ring their doorbell, after which their page is polled again. So an idle client adds no cost
 * to a turn.
 */
#ifndef DAEMON_OBJECTS_BELLS_H
#define DAEMON_OBJECTS_BELLS_H

#include <stdbool.h>

struct client;
struct worker;

/* Wakes the queue pairs that clients rang for, within a budget. Users take turns by their bells,
 * and so do the clients of each. True if there was any. */
bool bells_take(struct worker *w);

/* A record of this client waits: wakes the queue pairs that it rang for before, within a budget,
 * until they have sent or flushed the entries that they held then, or can do no more of that now.
 * True if it is done, else the record has to wait for another call. */
bool bells_take_before(struct client *c);

/* The worker is about to block: from now on all clients ring their doorbells. False if a bell was
 * rung meanwhile. */
bool bells_sleep(struct worker *w);

/* The worker runs again: polled clients need not ring their doorbells. */
void bells_awake(struct worker *w);

#endif
