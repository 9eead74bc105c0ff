/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State for ddpctl: one record per object, read from the live objects. Members of the socket's
 * group see their own objects, root sees all.
 */
#ifndef DAEMON_SERVICE_SHOW_H
#define DAEMON_SERVICE_SHOW_H

#include <stdbool.h>

#include "ipc/ctl.h"

struct client;
struct reply;

/*
 * Sends the records that the client may see, and the end. 0 or a refusal. The rest of a long answer
 * waits in client.show: show_continue() sends it when the client has its turn for requests.
 */
int show_objects(struct client *c, const struct ctl_show *req, struct reply *rep);

/* Sends more of the current answer. Clears client.show at its end. */
void show_continue(struct client *c);

/* True if there is more of it and room for that. False: no answer, or the client has to read. */
bool show_is_due(const struct client *c);

/* Drops the current answer, if any. */
void show_abandon(struct client *c);

#endif
