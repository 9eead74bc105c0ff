/* SPDX-License-Identifier: BSD-2-Clause */
/* A client chooses the primary path of an association. */
#ifndef DAEMON_OBJECTS_PRIMARY_PATH_H
#define DAEMON_OBJECTS_PRIMARY_PATH_H

#include "daemon/base/reply.h"

struct client;

/* Sets the primary path of the association of the client's queue pair. Root and the daemon's user
 * may name any association. 0 or a refusal: not permitted, no such path, path not active. */
int primary_path_set(struct client *c, const struct msg_set_primary *req, struct reply *rep);

#endif
