/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether an interface with an address of the daemon is up, as the kernel tells it. */
#ifndef DAEMON_NET_LINK_STATE_H
#define DAEMON_NET_LINK_STATE_H

#include <stdbool.h>

struct worker;

/* Calls changed() now if none is up, and at each change. If the system does not permit to watch,
 * that is one line of log. Returns 0 or -ENOMEM. */
int link_state_open(struct worker *w, void (*changed)(struct worker *w, bool up));

/* Ends that, if it was opened. */
void link_state_close(struct worker *w);

#endif
