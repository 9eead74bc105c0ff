/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole records over a connected SOCK_SEQPACKET socket; descriptors ride with their record.
 * Blocks or not as the socket does. A signal never cuts a call short, and never comes from
 * a closed peer.
 */
#ifndef IPC_CONN_H
#define IPC_CONN_H

#include <stddef.h>

#include "ipc/msg.h"

enum {
	CONN_E_OK,
	CONN_E_AGAIN,     /* the socket does not block and nothing can be sent or is there */
	CONN_E_CLOSED,    /* the other end is gone */
	CONN_E_TRUNCATED, /* recv: a record longer than cap or with too many descriptors; it is
			     lost, and what came with it is closed */
};

/*
 * Sends one record of len bytes (not 0) with nfds descriptors (at most MSG_MAX_FDS), which stay
 * the caller's. Returns 0, CONN_E_AGAIN, CONN_E_CLOSED, or a negative errno value; only after 0 has
 * anything been sent.
 */
int conn_send(int fd, const void *rec, size_t len, const int *fds, unsigned nfds);

/*
 * Receives one record into buf of cap bytes. The descriptors that came with it, close-on-exec, are
 * then the caller's. Returns 0, CONN_E_AGAIN, CONN_E_CLOSED, CONN_E_TRUNCATED, or a negative errno
 * value; but for 0 the ret_ are untouched and no descriptor is left open.
 */
int conn_recv(int fd, void *buf, size_t cap, size_t *ret_len, int ret_fds[MSG_MAX_FDS],
	      unsigned *ret_nfds);

#endif
