/* SPDX-License-Identifier: BSD-2-Clause */
/* `ddpctl top`: the traffic of associations and queue pairs, on a terminal or as lines of JSON. */
#ifndef CTL_TOP_H
#define CTL_TOP_H

#include "ctl/field/args.h"

/* Prints the traffic per second, each -w seconds, until -c outputs are printed, q is typed, or
 * SIGINT or SIGTERM arrives. On a terminal each output replaces the one before. */
enum ctl_exit top_run(struct ddpctl *c, int n, char **args);

#endif
