/* SPDX-License-Identifier: BSD-2-Clause */
/* `ddpctl doctor [HOST]`: checks of this host and of the path to another one. */
#ifndef CTL_DOCTOR_H
#define CTL_DOCTOR_H

#include "ctl/field/args.h"

/* Prints each finding, with its remedy if something is wrong; with -j a JSON array. CTL_EXIT_FAILED
 * if anything is wrong. args: none, or a host to probe. */
enum ctl_exit doctor_run(struct ddpctl *c, int n, char **args);

#endif
