/* SPDX-License-Identifier: BSD-2-Clause */
/* Notices of the kernel: whether an interface with an address of the daemon is up. Each one
 * updates the addresses that it listens at. */
#ifndef DAEMON_NET_LINK_STATE_H
#define DAEMON_NET_LINK_STATE_H

#include <stdbool.h>

struct worker;

/* Calls changed() now if no such interface is up, and at each change. If the system does not permit
 * watching, logs one line. Returns 0 or -ENOMEM. */
int link_state_open(struct worker *w, void (*changed)(struct worker *w, bool up));

/* Stops watching; a worker that does not watch is fine. */
void link_state_close(struct worker *w);

#endif
