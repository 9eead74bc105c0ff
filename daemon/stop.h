/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a daemon that was asked to end: operations finish first, then peers learn why. */
#ifndef DAEMON_STOP_H
#define DAEMON_STOP_H

struct daemon;

/*
 * Begins the end. No session begins from now on. When no operation runs, or after session.stop_ms,
 * the associations with sessions are aborted with a reason, the others are shut down, and the event
 * loop is stopped, at the latest after session.close_ms more.
 */
void stop_begin(struct daemon *d);

#endif
