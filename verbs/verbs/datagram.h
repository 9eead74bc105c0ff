/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs for datagrams (UD). The daemon carries their Sends if it can (DDP_CAP_DATAGRAM), and
 * has given them their number then; with an older one they have a number as those without rdma_cm
 * have it, alone.
 */
#ifndef VERBS_DATAGRAM_H
#define VERBS_DATAGRAM_H

#include "verbs/verbs/qp.h"

/* Values of the creation of one that the daemon carries. */
void datagram_fill_init(const struct ibv_qp_init_attr *attr, struct ddp_qp_init *ret);

/* Makes its number and completions those of a queue pair for datagrams. Returns 0 or a positive
 * errno value. */
int datagram_adopt(struct qp *qp);

/* The queue pair is about to be destroyed. The caller holds event_lock. */
void datagram_abandon(struct qp *qp);

/* True if a queue pair of this process has this number. The caller holds event_lock. */
bool datagram_has_number(const struct host *h, uint32_t num);

/* After RESET `next` takes the place of that of libddpclient, with its number, unless the daemon is
 * too old. 0 or a negative errno value. */
int datagram_take_number(const struct qp *qp, struct ddp_qp *next, bool *ret_taken);

/* A completion says that a Send of this number has failed: the daemon flushes those after it, which
 * is SQE. */
void datagram_send_failed(struct host *h, uint32_t num);

/* Sets the Q_Key, and goes on after a Send that failed. Returns 0 or a positive errno value. */
int datagram_set_qkey(struct qp *qp, uint32_t qkey);

/* Converts a request. Returns 1, or a negative errno value. */
int datagram_convert(const struct qp *qp, const struct ibv_send_wr *wr, struct ddp_send_wr *ret);

#endif
