/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of ids. */
#ifndef VERBS_CM_QP_H
#define VERBS_CM_QP_H

#include "verbs/cm/cm_id.h"

/* Notes for ibv_query_qp() what the session has: path and limits. The caller holds event_lock. */
void cm_qp_note_session(struct cm_id *id, struct qp *qp);

#endif
