/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's end of a client's send and receive rings. An entry is copied to private
 * memory before anything in it is looked at, and its slot released at once.
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

/* Bytes behind the entry's size are left as they were. */
int queue_pop_send(struct ring *sq, struct wqe_send *ret);
int queue_pop_recv(struct ring *rq, struct wqe_recv *ret);

/* Entries that lie in the ring now; 0 if its index is out of range. The ring's own view may be
 * older: it looks only when it must. */
uint32_t queue_waiting(const struct ring *r);

#endif
