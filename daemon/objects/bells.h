/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which queue pairs have work: the bell pages that clients share. Only the pages of attentive
 * clients are read: of those that rang a moment ago. To all others the daemon seems asleep, so
 * they ring their doorbell, which makes them attentive again. A turn thus costs nothing for a
 * client that is idle.
 */
#ifndef DAEMON_OBJECTS_BELLS_H
#define DAEMON_OBJECTS_BELLS_H

#include <stdbool.h>

struct worker;

/* Wakes the queue pairs that clients rang for, within a budget. True if there was any. */
bool bells_take(struct worker *w);

/* The worker is about to block: from now on all clients ring their doorbells. False if a bell was
 * rung meanwhile. */
bool bells_sleep(struct worker *w);

/* The worker runs again: attentive clients need not ring their doorbells. */
void bells_awake(struct worker *w);

#endif
