/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a daemon, or of its sessions alone, that was asked for: operations finish first, then
 * peers learn why. */
#ifndef DAEMON_SERVICE_STOP_H
#define DAEMON_SERVICE_STOP_H

#include "ipc/ctl.h"

struct daemon;

/* Once, before the others. */
void stop_init(struct daemon *d);

/*
 * Begins the end. No session begins from now on. When no operation runs, or after session.stop_ms,
 * the associations with sessions are aborted with a reason, the others are shut down, and the event
 * loop is stopped, at the latest after session.close_ms more.
 */
void stop_begin(struct daemon *d);

/*
 * Whether sessions may begin. With CTL_DRAIN_END those that exist end as by stop_begin(), and the
 * daemon stays; a later CTL_DRAIN_ON or CTL_DRAIN_OFF spares those that have not ended yet. No
 * effect while the daemon stops.
 */
void stop_drain(struct daemon *d, enum ctl_drain how);

#endif
