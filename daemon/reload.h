/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applies a new configuration while the daemon serves. The table in config_keys.c says when each
 * key takes effect. Existing objects are kept: a lower limit only refuses more.
 */
#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

#include "daemon/base/config.h"

struct daemon;

/* Reports to the service manager that the file is being read. reload_end() follows. */
void reload_begin(void);

/*
 * Applies the values that may change and logs a line for each key. Keys that need a restart keep
 * their value, with a warning. Reports the result to the service manager. cfg NULL: the file was
 * refused, its reason has been logged, and all stays as it was.
 */
void reload_end(struct daemon *d, const struct config *cfg);

/* After reload_end(): remembers the sources of the values in effect, and ends associations that the
 * rules of peers refuse now. cfg: the values of the file. */
void reload_origin(struct daemon *d, const struct config *cfg, const struct config_origin *origin);

/* struct daemon's change_key. */
int reload_change(struct daemon *d, const struct config_key *k, const struct config *cfg);

#endif
