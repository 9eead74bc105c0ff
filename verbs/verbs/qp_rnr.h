/* SPDX-License-Identifier: BSD-2-Clause */
/* How long messages of a queue pair wait for receives of the peer: rnr_retry and min_rnr_timer. */
#ifndef VERBS_QP_RNR_H
#define VERBS_QP_RNR_H

#include "verbs/verbs/qp.h"

/* Sets what the attributes of the queue pair say. Returns 0 or a positive errno value. */
int qp_rnr_apply(const struct qp *qp);

/* Sets how often messages are tried again that find no receive of the peer. Returns 0 or a positive
 * errno value. */
int qp_rnr_set_retry(struct qp *qp, unsigned retry);

#endif
