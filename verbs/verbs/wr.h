/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions ibv_wr_start() to ibv_wr_complete() of an extended queue pair. */
#ifndef VERBS_WR_H
#define VERBS_WR_H

#include "verbs/verbs/qp.h"

/* Gives the queue pair these functions. 0 or ENOMEM. */
int wr_enable(struct qp *qp);

#endif
