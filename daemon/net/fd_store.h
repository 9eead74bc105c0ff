/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The UDP sockets of the daemon in the descriptor store of the service manager, which keeps them
 * while no daemon runs: no other program gets the port of a daemon that crashed or is restarted.
 */
#ifndef DAEMON_NET_FD_STORE_H
#define DAEMON_NET_FD_STORE_H

#include "llp/common/llp.h"

struct fd_store;
struct sdnotify_fds;

/* Takes the sockets of earlier daemons. 0 or -ENOMEM. Free it after the transports; NULL is fine.
 */
int fd_store_new(const struct sdnotify_fds *fds, struct fd_store **ret);
void fd_store_free(struct fd_store *s);

/* For the transport; valid until fd_store_free(). */
const struct llp_fd_store *fd_store_hooks(const struct fd_store *s);

/* Removes those that no transport has taken. NULL is fine. */
void fd_store_drop_rest(struct fd_store *s);

#endif
