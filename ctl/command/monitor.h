/* SPDX-License-Identifier: BSD-2-Clause */
/* `ddpctl monitor`: one event a line, as it happens. */
#ifndef CTL_MONITOR_H
#define CTL_MONITOR_H

#include "ctl/field/args.h"

/* Prints events that match the filters of args, until there were opts.count or the daemon ends:
 * text, or a JSON object on each line. */
enum ctl_exit monitor_run(struct ddpctl *c, int n, char **args);

#endif
