/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A daemon for one user, without a configuration file, beside any other: option --private. It has a
 * folder, a socket, a loopback address and a UDP port of its own, and says which.
 */
#ifndef DAEMON_PRIVATE_H
#define DAEMON_PRIVATE_H

#include "daemon/base/state.h"

struct private_folder {
	char path[72]; /* "": none */
};

/* Makes a folder for the socket, and what programs put beside it, in $XDG_RUNTIME_DIR, $TMPDIR or
 * /tmp. 0, or -1 after a line of log. */
int private_make_folder(struct private_folder *ret);

/* Removes the folder with all that is in it. */
void private_remove_folder(const struct private_folder *f);

/* Changes the configuration: SCTP over UDP at a loopback address. join: the UDP port of daemons to
 * reach; 0: a free one. */
void private_configure(struct config *cfg, uint16_t join);

/* Keeps address and port, which a reload cannot change. */
void private_keep(const struct daemon *d, struct config *cfg);

/* Prints the line with socket, address and port. If standard output is a pipe, the daemon ends as
 * soon as nobody has its other end. 0 or -errno. */
int private_announce(struct daemon *d, struct event_loop_watch **ret);

#endif
