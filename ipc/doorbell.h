/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bell: ringing one descriptor makes the other readable until it is drained. Client and daemon
 * hold an end each.
 *
 * It is a socket pair instead of an eventfd. The holders of an eventfd share its O_NONBLOCK
 * flag and its counter: a client could clear the flag and fill the counter, and the daemon would
 * block in the next ring. And when one process ends, the other sees a hang-up.
 *
 * The daemon makes separate pairs for each client, because the holder of an end can shut down the
 * pair.
 */
#ifndef IPC_DOORBELL_H
#define IPC_DOORBELL_H

/* Both close-on-exec; neither ever blocks. Returns 0 or a negative errno value. */
int doorbell_create(int *ret_ring, int *ret_wait);

/* Rings. Rings may merge until they are drained. Returns 0, -EPIPE when the other end is closed, or
 * another negative errno value. */
int doorbell_ring(int ring);

/* Reads the rings. Returns their number (merged ones count once), 0 if there are none, -EPIPE when
 * the other end is closed and no ring is left, or another negative errno value. */
int doorbell_drain(int wait);

/* Reads one ring. Returns 1, or as doorbell_drain(). */
int doorbell_take(int wait);

#endif
