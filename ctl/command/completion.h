/* SPDX-License-Identifier: BSD-2-Clause */
/* `ddpctl --complete WORD...`, which shells call: objects, commands, keys and values from the
 * tables, and with the objects that the daemon has. */
#ifndef CTL_COMPLETION_H
#define CTL_COMPLETION_H

#include "ctl/field/exit.h"

/* Prints the candidates as util/complete.h says; stderr is silent from now on. A daemon that does
 * not answer within half a second has no objects. Returns CTL_EXIT_OK. */
enum ctl_exit completion_run(int argc, char *const *argv);

#endif
