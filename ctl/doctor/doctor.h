/* SPDX-License-Identifier: BSD-2-Clause */
/* `ddpctl doctor [HOST]`: what could keep this host, or the way to another one, from working. */
#ifndef CTL_DOCTOR_H
#define CTL_DOCTOR_H

#include "ctl/field/args.h"

/* Prints each finding, with its remedy if something is wrong; with -j a JSON array. CTL_EXIT_FAILED
 * if anything is wrong. args: nothing, or a host to ask. */
enum ctl_exit doctor_run(struct ddpctl *c, int n, char **args);

#endif
