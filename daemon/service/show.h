/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ddpctl sees: one record per object, read from the live objects. Members of the socket's
 * group see their own objects, root sees all.
 */
#ifndef DAEMON_SERVICE_SHOW_H
#define DAEMON_SERVICE_SHOW_H

#include "ipc/ctl.h"

struct client;
struct reply;

/* Sends the records that the client may see, and the end. 0 or a refusal. */
int show_objects(struct client *c, const struct ctl_show *req, struct reply *rep);

#endif
