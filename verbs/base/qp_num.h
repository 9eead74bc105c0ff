/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of queue pairs. Those made without rdma_cm have numbers that tell a peer where to connect
 * to; completions of libddpclient have its own numbers, which are those of one daemon.
 */
#ifndef VERBS_QP_NUM_H
#define VERBS_QP_NUM_H

#include <stdint.h>

enum { QP_NUM_SIZE = 16384 };

/* Of one daemon. Begins as zeroes. Each completion is looked up, so readers take no lock: an entry
 * is one word, both numbers. */
struct qp_nums {
	uint64_t entry[QP_NUM_SIZE];
};

/* Notes that a queue pair of libddpclient has another number for programs. 0 or ENOMEM. */
int qp_num_set(struct qp_nums *t, uint32_t ddp, uint32_t ibv);
void qp_num_clear(struct qp_nums *t, uint32_t ddp);

/* The number for programs. */
uint32_t qp_num_ibv(const struct qp_nums *t, uint32_t ddp);

#endif
