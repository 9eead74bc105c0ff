/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which chunks of a queue are in flight, and which are lost and wait to be sent again. Only the
 * functions here change the state of a record, the two lists and the bytes in flight. So these are
 * always true:
 *
 *   - `out` has the chunks in the state SCTP_TX_OUT, and `lost` those in SCTP_TX_LOST;
 *   - `payload`, and `bytes` of each path, are the sums over the chunks in flight;
 *   - no chunk in flight on a path has a TSN before `first` of the path.
 */
#ifndef SCTP_FLIGHT_H
#define SCTP_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/send/queue.h"

/* Links are in the records. */
struct sctp_tx_list {
	uint32_t first, last; /* TSNs, if n > 0 */
	uint32_t n;
};

/* Read-only but for flight.c. All zero: no chunk is in flight. */
struct sctp_flight {
	struct sctp_tx_list out;  /* in flight, in the order of their last transmission */
	struct sctp_tx_list lost; /* in the order of TSNs, nearly */
	uint32_t payload;         /* in flight on all paths: uses up the peer's window */
	uint64_t repeated;        /* chunks that were sent again, ever */
	uint64_t spurious;        /* of these: the peer had the chunk already */
};

/* The part of a path. */
struct sctp_path_flight {
	uint32_t bytes; /* in flight: chunks with header and padding */
	uint32_t first; /* if bytes > 0: the earliest TSN in flight, or, if that was acknowledged
			   or lost since sctp_flight_settle() was called last, one before it */
};

/* A lost chunk waits to be sent again. One of which the last SACK does not tell whether it arrived
 * does not yet: a SACK with fewer gaps follows, or T3 expires. */
static inline bool sctp_flight_repeats(const struct sctp_flight *f, const struct sctp_queue *q)
{
	return f->lost.n && !sctp_queue_unknown(q, f->lost.first);
}

/* Chunks wait to be sent, again or for the first time. */
static inline bool sctp_flight_waits(const struct sctp_flight *f, const struct sctp_queue *q)
{
	return sctp_flight_repeats(f, q) || q->send_tsn != q->next_tsn;
}

/* The next one of them: lost chunks go first. */
static inline uint32_t sctp_flight_next(const struct sctp_flight *f, const struct sctp_queue *q)
{
	return sctp_flight_repeats(f, q) ? f->lost.first : q->send_tsn;
}

/* Empties the flight: the queue was freed. */
void sctp_flight_clear(struct sctp_flight *f);

/* In all of these p is the path that the chunk was sent on last; for sctp_flight_sent() it is the
 * path that it is sent on now, whose number is `path`. */

/* A chunk that waits is sent. True if no earlier one is in flight on the path: it becomes
 * p->first. */
bool sctp_flight_sent(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
		      unsigned path, uint32_t tsn);
/* A chunk is acknowledged: state is SCTP_TX_GAP or SCTP_TX_ACKED. */
void sctp_flight_acked(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
		       uint32_t tsn, enum sctp_tx_state state);
/* The peer has dropped a chunk that a gap block had acknowledged: it is in flight again. */
void sctp_flight_reneged(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
			 uint32_t tsn);
/* A chunk in flight counts as lost. */
void sctp_flight_lost(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
		      uint32_t tsn);
/* All chunks in flight on the path count as lost; the list of lost chunks gets the order of TSNs.
 */
void sctp_flight_lost_all(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
			  unsigned path);
/* Chunks of the path that count as lost were only late: they are in flight again. */
void sctp_flight_restore(struct sctp_flight *f, struct sctp_queue *q, struct sctp_path_flight *p,
			 unsigned path);
/* p->first is the earliest chunk in flight on the path again. It never goes back. */
void sctp_flight_settle(const struct sctp_queue *q, struct sctp_path_flight *p, unsigned path);
/* The peer reports a chunk that it got twice. True if a repetition of ours explains it: each one
 * does once, so duplicates of the network hardly count. */
bool sctp_flight_duplicate(struct sctp_flight *f);
/* The chunk in flight on the path that was sent last; there is one. */
uint32_t sctp_flight_last(const struct sctp_flight *f, const struct sctp_queue *q, unsigned path);

#endif
