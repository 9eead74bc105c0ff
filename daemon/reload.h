/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A configuration that was read anew while the daemon serves. Which key takes effect when is a
 * column of the table in config_keys.c. Nobody loses what he has: a lower limit only refuses more.
 */
#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

#include "daemon/base/config.h"

struct daemon;

/* Tells the service manager that the file is being read. reload_end() follows. */
void reload_begin(void);

/*
 * Takes over what may change, a line of log for each key, and warns of each that has to wait
 * for a restart and keeps its value; tells the service manager. cfg NULL: the file was refused, the
 * reason has been logged, and nothing changes.
 */
void reload_end(struct daemon *d, const struct config *cfg);

#endif
