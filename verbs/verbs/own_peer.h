/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other end of the session of a queue pair that is connected to itself, as UCX does for
 * messages of a rank of MPI to itself. A queue pair of libddpclient is one end of a session: this
 * one sends, and the other one receives. Its completions have the number of the queue pair.
 *
 * The caller of each function holds event_lock of the daemon.
 */
#ifndef VERBS_OWN_PEER_H
#define VERBS_OWN_PEER_H

#include <ddp/ddp.h>

#include "verbs/base/host.h"

struct qp;

struct own_peer {
	struct event_sink sink; /* of id */
	struct ddp_id *id;
	struct ddp_qp *ddp;
	struct qp *of;
};

/* Makes qp->own_peer, which sends from now on (qp_sender()). Its session is to be opened on its id,
 * whose events go to the function. Returns 0 or a negative errno value. */
int own_peer_open(struct qp *qp, void (*event)(struct event_sink *, const struct ddp_cm_event *));

/* Ends its session. The queue pair itself sends from now on. The number of a completion that is not
 * polled yet stays as it is: the caller clears it. Without one it returns at once. */
void own_peer_close(struct qp *qp);

#endif
