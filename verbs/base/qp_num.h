/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of queue pairs. The number of a queue pair without rdma_cm contains the port to which a
 * peer connects; completions of libddpclient have the daemon's number of the queue pair.
 */
#ifndef VERBS_QP_NUM_H
#define VERBS_QP_NUM_H

#include <stdint.h>

enum {
	QP_NUM_SIZE = 16384,
	QP_NUM_VOID = 0,
	QP_NUM_MAX = 0xffffff,
	QP_NUM_DATAGRAM = 1 << 24, /* with a number: completions are those of datagrams */
};

/* The numbers of one daemon; all zero at first. Each completion is looked up, so readers take no
 * lock, unless an entry is removed meanwhile: an entry has both numbers in one word. */
struct qp_nums {
	uint64_t entry[QP_NUM_SIZE]; /* 0: empty */
	uint32_t removals;           /* twice as many as there were */
};

/* Sets or clears the number that programs see for a queue pair of libddpclient. Returns 0, or
 * ENOMEM if the table is full. */
int qp_num_set(struct qp_nums *t, uint32_t ddp, uint32_t ibv);
void qp_num_clear(struct qp_nums *t, uint32_t ddp);

/* Completions of this number, whose queue pair of libddpclient is gone, are for nobody, until it is
 * cleared. */
void qp_num_void(struct qp_nums *t, uint32_t ddp);

/* Returns the number that programs see, or QP_NUM_VOID. */
uint32_t qp_num_ibv(const struct qp_nums *t, uint32_t ddp);

#endif
