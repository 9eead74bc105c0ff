/* SPDX-License-Identifier: BSD-2-Clause */
/* `ddpctl key`: a key and a certificate of this host, and the lines for configurations. */
#ifndef CTL_KEY_H
#define CTL_KEY_H

#include "ctl/field/args.h"

/* [FOLDER] | show [FILE] */
enum ctl_exit key_run(struct ddpctl *c, int n, char **args);

#endif
