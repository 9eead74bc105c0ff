/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions ibv_wr_start() to ibv_wr_complete() of an extended queue pair. */
#ifndef VERBS_WR_H
#define VERBS_WR_H

#include "verbs/verbs/qp.h"

/* Checks a set of IBV_QP_EX_WITH_. 0, or EOPNOTSUPP also as errno. */
int wr_check_ops(enum ibv_qp_type type, uint64_t ops);

/* Gives the queue pair these functions. 0 or ENOMEM. */
int wr_enable(struct qp *qp);

#endif
