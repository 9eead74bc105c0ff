/* SPDX-License-Identifier: BSD-2-Clause */
/* Many commands from a file: `ddpctl -b FILE`. */
#ifndef CTL_BATCH_H
#define CTL_BATCH_H

#include "ctl/field/args.h"

/*
 * Runs each line of the file ("-": stdin) as a command without options. Words are separated by
 * blanks, "..." and '...' are one word, and # begins a comment. The first one that fails ends it,
 * unless `force`; each is named by file and line. Returns the result of the first that failed.
 */
enum ctl_exit batch_run(struct ddpctl *c, const char *file, bool force,
			enum ctl_exit (*run)(struct ddpctl *c, int n, char **args));

#endif
