/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon from start to stop. Its state is in base/state.h, its work in turn.c. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/base/state.h"

/* Opens all that the configuration names. 0, or -1 after one line of log with the failure.
 */
int daemon_start(struct daemon *d, const struct config *cfg);

/* Sets the one line that `systemctl status` shows; more is appended to it. */
void daemon_report_status(const struct daemon *d, const char *more);

/* Serves until daemon_stop(). The service manager is notified that the daemon is ready, so signals
 * should be handled by then. Returns 0, or -errno. */
int daemon_run(struct daemon *d);

/* Begins the end: no new clients, operations finish, sessions end (stop.h), then daemon_run()
 * returns. */
void daemon_stop(struct daemon *d);

/* Frees everything, in the reverse order of start. */
void daemon_free(struct daemon *d);

#endif
