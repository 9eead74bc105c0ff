/* SPDX-License-Identifier: BSD-2-Clause */
/* The turn: everything a worker does without blocking, in order. The event loop repeats it. */
#ifndef DAEMON_TURN_H
#define DAEMON_TURN_H

#include "daemon/base/event_loop.h"

/* The user pointer is struct worker. */
extern const struct event_loop_hooks turn_hooks;

#endif
