/* SPDX-License-Identifier: BSD-2-Clause */
/* The transports of a worker: which one reaches other daemons, and the loop within this one. */
#ifndef DAEMON_NET_TRANSPORTS_H
#define DAEMON_NET_TRANSPORTS_H

struct worker;

/* Opens both as the configuration says and watches their sockets. 0, or -1 after one line of log
 * with the failure. */
int transports_open(struct worker *w);

/* Closes the open ones. Associations must be gone. */
void transports_close(struct worker *w);

#endif
