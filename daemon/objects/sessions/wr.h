/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only translator between ring entries and the protocol's work requests: takes an entry from
 * the client's ring, checks its form, and writes the completion. proto/ddp/stag checks the rights
 * of an STag when the bytes are accessed.
 */
#ifndef DAEMON_OBJECTS_WR_H
#define DAEMON_OBJECTS_WR_H

#include <stdint.h>

#include "ipc/ring.h"
#include "proto/rdmap/rdmap.h"

struct cq;
struct qp;
struct srq;

/* Entries that were posted before a record, which waits for them: bells.c. */
struct wr_mark {
	uint32_t record;       /* client_bells.record */
	uint32_t sends, recvs; /* indices of the next ones in sq and rq */
};

/* The queues of a queue pair. */
struct wr_queues {
	uint32_t done_send, done_recv; /* entries completed so far; not of a shared queue */
	uint32_t flush_pending; /* oldest entries of sq, to be flushed although the state is RTS */
	uint32_t flush_recvs;   /* the same of rq */
	uint32_t taken_send, taken_recv; /* held by the endpoint; each has a completion reserved */
	struct cq *send_cq;
	struct ring sq, rq; /* rq: all zero with an srq */
	struct cq *recv_cq;
	struct srq *srq;    /* that has its receives, or NULL */
	uint64_t srq_taken; /* receives taken from the srq so far */
	bool srq_waits;     /* messages wait for a receive of it */
	struct wr_mark mark;
};

/* The user pointer of these is the struct qp. */
extern const struct rdmap_ops wr_ops;

/* Completes posted work as flushed, as far as the completion queue has room; the rest of a long
 * queue when the bell of the queue pair has its turn. Receives of a shared queue stay for other
 * queue pairs. Returns how many entries. */
unsigned wr_flush(struct qp *qp);

/* The same for the first ones: many sessions may end in a turn. */
void wr_flush_first(struct qp *qp);

/* The same, once, for the work that is posted now. Later work is processed normally. */
void wr_mark_flush(struct qp *qp);

/* The same of requests alone, not of receives. */
void wr_flush_sends(struct qp *qp);

/* Continues where the completion queue had no room, or the turn was over. Returns how many entries.
 */
unsigned wr_flush_pending(struct qp *qp);

#endif
