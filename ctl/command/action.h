/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands with which ddpctl changes the daemon. args: the arguments after the words of the
 * command. */
#ifndef CTL_ACTION_H
#define CTL_ACTION_H

#include "ctl/field/args.h"

enum ctl_exit action_set_primary(struct ddpctl *c, int n, char **args); /* ASSOC ADDRESS */
enum ctl_exit action_abort(struct ddpctl *c, int n, char **args);       /* ASSOC */
enum ctl_exit action_terminate(struct ddpctl *c, int n, char **args);   /* ASSOC STREAM */
enum ctl_exit action_kick(struct ddpctl *c, int n, char **args);        /* CLIENT */
enum ctl_exit action_log_level(struct ddpctl *c, int n, char **args);   /* LEVEL */
enum ctl_exit action_drain(struct ddpctl *c, int n, char **args);       /* on|off|end */
enum ctl_exit action_reload(struct ddpctl *c, int n, char **args);
enum ctl_exit action_limit_set(struct ddpctl *c, int n, char **args); /* KEY VALUE */

/* [FILE]: has ddpsctpd check it, without asking the daemon that runs. */
enum ctl_exit action_config_check(struct ddpctl *c, int n, char **args);

#endif
