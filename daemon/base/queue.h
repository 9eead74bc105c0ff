/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's end of a client's send and receive rings. An entry is copied to private memory
 * before anything in it is read, and its slot is released at once.
 */
#ifndef DAEMON_BASE_QUEUE_H
#define DAEMON_BASE_QUEUE_H

#include "ipc/ring.h"
#include "ipc/wqe.h"

enum {
	QUEUE_E_OK,
	QUEUE_E_EMPTY,
	QUEUE_E_BROKEN, /* the client's index is out of range: the client is at fault */
};

/* Elements and inline data are copied as far as the head of the entry uses them and the entry has
 * them; the rest is undefined. */
int queue_pop_send(struct ring *sq, struct wqe_send *ret);
int queue_pop_recv(struct ring *rq, struct wqe_recv *ret);

/* Number of entries in the ring now; 0 if its index is out of range. The ring's own view may be
 * older, because it reads the shared index only when it has to. */
uint32_t queue_waiting(const struct ring *r);

#endif
