/* SPDX-License-Identifier: BSD-2-Clause */
/* The paths of an association: shown to programs, told of, and chosen from. */
#ifndef DAEMON_NET_PATH_H
#define DAEMON_NET_PATH_H

#include "daemon/base/reply.h"
#include "llp/llp.h"

struct client;
struct association;

/* The association's paths, the primary one first; hdr is left alone. None while it is not up. */
void path_query(const struct association *assoc, struct msg_paths *ret);

/* The request of a client: of a session of its own, or of any association. 0 or a refusal. */
int path_set_primary(struct client *c, const struct msg_set_primary *req, struct reply *rep);

/* Something about the path has changed, which what says ("answers again"): to the log, and to each
 * queue pair with a session on the association. */
void path_changed(struct association *assoc, const struct llp_path *path, const char *what);

/* "unconfirmed", "active", "failing", "inactive" */
const char *path_state_str(enum llp_path_state s);

#endif
