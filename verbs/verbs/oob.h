/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections without rdma_cm: programs exchange numbers of queue pairs and addresses themselves,
 * and connect by ibv_modify_qp(). */
#ifndef VERBS_OOB_H
#define VERBS_OOB_H

#include "verbs/verbs/qp.h"

/* Gives a queue pair without an id of rdma_cm a number that a peer can connect to. */
void oob_adopt(struct qp *qp);

/* Releases the number of a queue pair that is about to be destroyed. The caller holds event_lock.
 */
void oob_abandon(struct qp *qp);

/* Moves the queue pair with this number, which has no session yet, to an id of rdma_cm, for
 * programs that name it in struct rdma_conn_param. NULL with errno. */
struct qp *oob_move(struct host *h, uint32_t num, struct ddp_id *to);

/* Changes the state, as qp_transition_check() permits it; qp->attr has its attributes. The caller
 * holds event_lock. Returns 0 or a positive errno value. */
int oob_modify(struct qp *qp, enum ibv_qp_state state);

#endif
