/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults of a work request that are found before it is posted: the call refuses what would complete
 * with an error, or end the session, whatever daemon and peer do. The daemon checks all of it
 * again.
 */
#ifndef CLIENT_LIB_POST_CHECK_H
#define CLIENT_LIB_POST_CHECK_H

#include <stdint.h>

#include "client-lib/calls/ddp_impl.h"

/* opcode: WQE_. 0, or -EINVAL, or -EOPNOTSUPP for a daemon that is too old, with the reason set. */
int post_check_send(const struct ddp_qp *qp, uint8_t opcode, const struct ddp_send_wr *wr);

/* A receive for this queue. 0 or -EINVAL with the reason set. */
int post_check_recv(const struct queue *q, const char *call, const struct ddp_recv_wr *wr);

#endif
