/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of ids. */
#ifndef VERBS_CM_QP_H
#define VERBS_CM_QP_H

#include "verbs/cm/cm_id.h"

/* Notes for ibv_query_qp() what the session has: path and limits. The caller holds event_lock. */
void cm_qp_note_session(struct cm_id *id, struct qp *qp);

/* The address handle that leads to the peer of the id. */
void cm_qp_fill_handle(const struct cm_id *id, struct ibv_ah_attr *ret);

#endif
