/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of a work request before it is posted: the call refuses a request that would always
 * complete with an error or end the session. The daemon checks all of it again.
 */
#ifndef CLIENT_LIB_POST_CHECK_H
#define CLIENT_LIB_POST_CHECK_H

#include <stdint.h>

#include "client-lib/context/ddp_impl.h"

/* Checks a send request. opcode: WQE_. Returns 0; -EINVAL; or -EOPNOTSUPP if the daemon is too old;
 * with the reason set. */
int post_check_send(const struct ddp_qp *qp, uint8_t opcode, const struct ddp_send_wr *wr);

/* Checks a receive for this queue. Returns 0, or -EINVAL with the reason set. */
int post_check_recv(const struct queue *q, const char *call, const struct ddp_recv_wr *wr);

#endif
