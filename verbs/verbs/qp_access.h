/* SPDX-License-Identifier: BSD-2-Clause */
/* Rights of the peer of a queue pair: qp_access_flags, and resources for its Reads and atomics. */
#ifndef VERBS_QP_ACCESS_H
#define VERBS_QP_ACCESS_H

#include "verbs/verbs/qp.h"

/* Sets the rights of the queue pair in one of libddpclient. Returns 0 or a negative errno value. */
int qp_access_apply(const struct qp *qp, struct ddp_qp *ddp);

/* Gives the queue pair these rights. Returns 0 or a positive errno value; on failure the rights are
 * the old ones. */
int qp_access_set(struct qp *qp, unsigned flags, bool no_resources);

#endif
