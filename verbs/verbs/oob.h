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

/* Returns the queue pair that was given this number, or NULL. The caller holds event_lock. */
struct qp *oob_find(const struct host *h, uint32_t num);

/* Puts a queue pair that has no session yet on the end of an id of rdma_cm. The caller holds
 * event_lock. Returns 0 or a negative errno value. */
int oob_hand_over(struct qp *qp, struct session_end *to);

/* Changes the state, as qp_transition_check() permits it; qp->attr has its attributes. The caller
 * holds event_lock. Returns 0 or a positive errno value. */
int oob_modify(struct qp *qp, enum ibv_qp_state state);

#endif
