/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of queue pairs. Those made without rdma_cm have numbers that tell a peer where to connect
 * to; completions of libddpclient have its own numbers.
 */
#ifndef VERBS_QP_NUM_H
#define VERBS_QP_NUM_H

#include <stdint.h>

/* Notes that a queue pair of libddpclient has another number for programs. 0 or ENOMEM. */
int qp_num_set(uint32_t ddp, uint32_t ibv);
void qp_num_clear(uint32_t ddp);

/* The number for programs. */
uint32_t qp_num_ibv(uint32_t ddp);

#endif
