/* SPDX-License-Identifier: BSD-2-Clause */
/* The transports of a worker: which one reaches other daemons, and the loop within this one. */
#ifndef DAEMON_NET_TRANSPORTS_H
#define DAEMON_NET_TRANSPORTS_H

struct worker;

/* Opens both as the configuration says, without an address. 0, or -1 after one line of log with the
 * failure. */
int transports_open(struct worker *w);

/* Watches the sockets of the transport to other daemons, for its present addresses. 0, or -1 after
 * a line of log. transports_unwatch() is called before its addresses change. */
int transports_watch(struct worker *w);
void transports_unwatch(struct worker *w);

/* Closes the open ones. Associations must be gone. */
void transports_close(struct worker *w);

#endif
