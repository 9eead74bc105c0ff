/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program may name a queue pair for datagrams in rdma_connect() and rdma_accept(), as UCX does:
 * it wants events and private data, and a number that no other has. Sessions of DDP have a queue
 * pair, so this one gets one that nobody sees.
 */
#ifndef VERBS_CM_NUMBER_H
#define VERBS_CM_NUMBER_H

#include "verbs/cm/cm_id.h"

/* Makes it if the parameters name such a queue pair. 0, or -1 with errno. */
int cm_number_take(struct cm_id *id, const struct rdma_conn_param *conn);

/* Makes it, unless the id has one. 0, or -1 with errno. */
int cm_number_make(struct cm_id *id);

/* Destroys it. The end of the id is gone. */
void cm_number_drop(struct cm_id *id);

#endif
