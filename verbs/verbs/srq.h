/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#ifndef VERBS_SRQ_H
#define VERBS_SRQ_H

#include <ddp/ddp.h>
#include <infiniband/verbs.h>

/* The queue of libddpclient. */
struct ddp_srq *srq_ddp(struct ibv_srq *srq);

#endif
