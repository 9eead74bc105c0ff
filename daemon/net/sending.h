/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who sends: users with something to send take turns by their bytes (util/drr.h), of each user its
 * clients, of each client its sessions. The tree is `users` of the worker. Its nodes are embedded
 * in the records of uids (base/acct) and clients (objects/client), its leaves are the streams of
 * all associations.
 */
#ifndef DAEMON_NET_SENDING_H
#define DAEMON_NET_SENDING_H

#include <stdbool.h>

struct worker;

/* Sends as much as the transports take, within a budget. Returns how many segments. */
unsigned sending_run(struct worker *w);

/* True if the last run served one user alone, who has more and no rival. */
bool sending_is_alone(const struct worker *w);

/* True if another run may send something. */
bool sending_is_due(const struct worker *w);

#endif
