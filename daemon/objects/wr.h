/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only translator between ring entries and the protocol's work requests: takes an entry from
 * the client's ring, checks its form, and writes the completion. What an STag allows is
 * checked by proto/stag when the bytes are touched.
 */
#ifndef DAEMON_OBJECTS_WR_H
#define DAEMON_OBJECTS_WR_H

#include "proto/rdmap.h"

struct qp;

/* The user pointer of these is the struct qp. */
extern const struct rdmap_ops wr_ops;

/* Takes what is posted and completes it as flushed, as far as there is room to say so; the rest of
 * a long queue in the next turn. Receives of a shared queue stay: they are for others, too. */
void wr_flush(struct qp *qp);

/* The same, once, for what is posted now: what is posted later is taken as ever. */
void wr_mark_flush(struct qp *qp);

/* Goes on with that, where there was no room to say so. */
void wr_flush_pending(struct qp *qp);

#endif
