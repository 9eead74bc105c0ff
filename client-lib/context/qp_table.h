/* SPDX-License-Identifier: BSD-2-Clause */
/* The QPs of a context by their numbers. The caller holds the context's lock. */
#ifndef DDP_QP_TABLE_H
#define DDP_QP_TABLE_H

#include <stdint.h>

struct ddp_qp;

/* All zero is an empty table. */
struct qp_table {
	struct ddp_qp **buckets; /* chains by next_num; a power of two of them */
	uint32_t size, used;
};

/* Adds a QP whose number is set. Returns 0 or -ENOMEM. */
int qp_table_add(struct qp_table *t, struct ddp_qp *qp);

/* Removes a QP that was added. */
void qp_table_del(struct qp_table *t, struct ddp_qp *qp);

/* The QP of that number, NULL if there is none. Constant time. */
struct ddp_qp *qp_table_find(const struct qp_table *t, uint32_t num);

/* Frees the table. No QP is left in it. */
void qp_table_deinit(struct qp_table *t);

#endif
