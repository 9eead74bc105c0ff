/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bell: ringing one descriptor makes the other readable until it is drained. Client and daemon
 * hold an end each.
 *
 * It is a socket pair and no eventfd, because both holders of an eventfd share its O_NONBLOCK
 * flag and its counter: a client could clear the one and fill the other, and the daemon would
 * block in the next ring. And the end of one holder shows as a hang-up at the other.
 *
 * The daemon gives each client ends of its own: whoever holds an end can shut the pair.
 */
#ifndef IPC_DOORBELL_H
#define IPC_DOORBELL_H

/* Both close-on-exec; neither ever blocks. Returns 0 or a negative errno value. */
int doorbell_create(int *ret_ring, int *ret_wait);

/* Rings. Rings that are not drained in time may merge. Returns 0, -EPIPE when the other end is
 * closed, or another negative errno value. */
int doorbell_ring(int ring);

/* Takes what was rung: how many times (merged ones count once), 0 if none, -EPIPE when the other
 * end is closed and nothing is left, or another negative errno value. */
int doorbell_drain(int wait);

#endif
