/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole records over a connected SOCK_SEQPACKET socket; a record carries its descriptors.
 * conn_send() and conn_recv() block if the socket blocks. conn_try_send() and conn_try_recv() never
 * do: whether a socket blocks is a flag that all who have the descriptor share. Signals do not
 * interrupt the calls, and a closed peer causes no SIGPIPE.
 */
#ifndef IPC_CONN_H
#define IPC_CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/msg.h"

enum {
	CONN_E_OK,
	CONN_E_AGAIN,     /* the call does not block, and there is no room, or no record */
	CONN_E_CLOSED,    /* the other end is gone */
	CONN_E_TRUNCATED, /* recv: a record longer than cap or with too many descriptors; it is
			     lost, and its descriptors are closed */
	CONN_E_NO_FDS,    /* recv: the record is there, but this process has no room for all of its
			     descriptors (RLIMIT_NOFILE), and none is left open */
};

/*
 * Sends one record of len bytes (not 0) with nfds descriptors (at most MSG_MAX_FDS), which the
 * caller keeps. Returns 0, CONN_E_AGAIN, CONN_E_CLOSED, or a negative errno value. Otherwise the
 * record was not sent.
 */
int conn_send(int fd, const void *rec, size_t len, const int *fds, unsigned nfds);
int conn_try_send(int fd, const void *rec, size_t len, const int *fds, unsigned nfds);

/*
 * Receives one record into buf of cap bytes. The caller owns its descriptors, which are
 * close-on-exec. Returns 0, CONN_E_AGAIN, CONN_E_CLOSED, CONN_E_TRUNCATED, CONN_E_NO_FDS, which
 * sets *ret_len as 0 does, or a negative errno value. Otherwise the ret_ are untouched. Unless it
 * returns 0, no descriptor is left open.
 */
int conn_recv(int fd, void *buf, size_t cap, size_t *ret_len, int ret_fds[MSG_MAX_FDS],
	      unsigned *ret_nfds);
int conn_try_recv(int fd, void *buf, size_t cap, size_t *ret_len, int ret_fds[MSG_MAX_FDS],
		  unsigned *ret_nfds);

/* False: conn_try_recv() would return CONN_E_AGAIN. */
bool conn_has_news(int fd);

#endif
