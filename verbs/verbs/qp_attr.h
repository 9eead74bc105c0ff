/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of queue pairs: ibv_modify_qp() and ibv_query_qp(). */
#ifndef VERBS_QP_ATTR_H
#define VERBS_QP_ATTR_H

#include "verbs/verbs/qp.h"

/* Sets the rights of the peer for a session with n responder resources, as the kernel does, unless
 * the program has set qp_access_flags. Returns 0 or a positive errno value. */
int qp_attr_set_resources(struct qp *qp, unsigned n);

#endif
