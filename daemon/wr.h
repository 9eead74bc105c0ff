/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only translator between ring entries and the protocol's work requests: takes an entry from
 * the client's ring, checks its form, and writes the completion. What an STag allows is
 * checked by proto/stag when the bytes are touched.
 */
#ifndef DAEMON_WR_H
#define DAEMON_WR_H

#include "proto/rdmap.h"

struct qp;

/* The user pointer of these is the struct qp. */
extern const struct rdmap_ops wr_ops;

/* Takes what is posted and completes it as flushed, as far as there is room to say so; the rest of
 * a long queue in the next turn. */
void wr_flush(struct qp *qp);

#endif
