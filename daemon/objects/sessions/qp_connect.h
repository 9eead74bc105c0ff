/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair connects: it finds or opens an association and sends an Initiate. */
#ifndef DAEMON_OBJECTS_QP_CONNECT_H
#define DAEMON_OBJECTS_QP_CONNECT_H

#include "daemon/base/reply.h"

struct qp;

/* Begins a session with a peer: an event follows. 0 or a refusal. */
int qp_connect(struct qp *qp, const struct msg_connect *req, struct reply *rep);

/* The association is up and the peer has room: sends the Initiate. */
void qp_initiate(struct qp *qp);

/* The peer shut the association down while the Initiate was on its way: tries another association,
 * within the same time limit. After too many attempts the session fails. */
void qp_initiate_again(struct qp *qp);

/* The peer's daemon refused the Initiate, perhaps for want of room: tries again when others were
 * answered, within the same time limit. */
void qp_refused(struct qp *qp);

/* The refusal is final: tries again without enhancement if permitted, else MSG_EV_FAILED. */
void qp_refused_finally(struct qp *qp);

#endif
