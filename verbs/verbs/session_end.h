/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a session: an id of libddpclient and the queue pair that is on it. An id of rdma_cm
 * has one. A queue pair is on one end at any time: on that of an id of rdma_cm, or on its own. The
 * public members of ids and queue pairs that say the same are copies, which programs may change:
 * rdma_connect(), rdma_accept() and rdma_destroy_qp() read id->qp, and no other function does.
 *
 * The caller of each function holds event_lock of the daemon.
 */
#ifndef VERBS_SESSION_END_H
#define VERBS_SESSION_END_H

#include <ddp/ddp.h>

#include "verbs/base/host.h"

struct qp;

struct session_end {
	struct event_sink sink; /* of id */
	struct ddp_id *id;      /* NULL: none */
	struct qp *qp;          /* NULL: none */
	/* Called when the queue pair was destroyed, so that its session has ended; NULL: nobody is.
	 */
	void (*lost_qp)(struct session_end *e);
};

/* Puts a queue pair that never had a session on this end, which has an id. A queue pair that is
 * there goes to its own end. Returns 0 or a negative errno value. */
int session_end_take(struct session_end *e, struct qp *qp);

/* Gives this end, whose owner is about to be destroyed, up. The id goes with its queue pair, which
 * programs may destroy later; without one it is destroyed. Returns 0 or a negative errno value. */
int session_end_leave(struct session_end *e);

#endif
