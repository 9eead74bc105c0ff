/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands of ddpctl to the daemon: a table of verbs. */
#ifndef DAEMON_SERVICE_COMMAND_H
#define DAEMON_SERVICE_COMMAND_H

struct client;
struct ctl_do;
struct reply;

/* Runs the command of the record. 0, or a refusal: another version or an unknown verb
 * (EPROTONOSUPPORT); not the administrator (EPERM); no such object (ENOENT). */
int command_run(struct client *c, const struct ctl_do *req, struct reply *rep);

#endif
