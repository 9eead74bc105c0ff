/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Received data that cannot be delivered at once: fragments of a message, and ordered messages
 * before their turn (RFC 9260 6.5, 6.6, 6.9). DDP uses neither; foreign stacks may. Everything is
 * copied into blocks of the pool and bounded per association. Unordered unfragmented DATA never
 * comes here.
 *
 * Ordered streams need a next sequence number each: an array that exists only once an ordered
 * message came.
 */
#ifndef SCTP_RECV_H
#define SCTP_RECV_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/pool.h"
#include "sctp/sctp.h"
#include "util/list.h"

/* One DATA chunk. */
struct sctp_data {
	uint32_t tsn, ppid;
	uint16_t sid, ssn;
	bool unordered, begin, end; /* U, B, E */
	const uint8_t *p;           /* payload, len >= 1 */
	uint32_t len;
};

/* Private but for init; see recv.c. */
struct sctp_recv {
	struct sctp_pool *pool;
	uint32_t limit;     /* bytes of payload that may wait */
	uint32_t held;      /* bytes of payload that wait: they reduce the window */
	uint16_t streams;   /* inbound */
	struct list chunks; /* waiting chunks in TSN order */
	void *blocks;       /* where their bytes are */
	uint16_t *next_ssn; /* per stream, in a chain of blocks; NULL: no ordered message yet */
	struct list deliverable; /* complete messages in their order */
	void *assembled;         /* blocks of the message that was handed out last */
};

enum sctp_recv_result {
	SCTP_RECV_TAKEN,
	SCTP_RECV_NO_ROOM,   /* beyond the limit or no memory: treat the TSN as lost */
	SCTP_RECV_VIOLATION, /* fragments that contradict each other, or a message longer than
				SCTP_MAX_MESSAGE: abort (RFC 9260 3.3.10.13) */
};

void sctp_recv_init(struct sctp_recv *r, struct sctp_pool *pool, uint32_t limit, uint16_t streams);
void sctp_recv_deinit(struct sctp_recv *r);

/* Takes a chunk whose TSN is new. cum: the Cumulative TSN Ack Point after it, up to which the
 * fragments of a message are complete if they are there. When the limit is reached and this chunk
 * is at or before every waiting one, the highest waiting chunk after cum is dropped instead: its
 * TSN is stored in *ret_dropped and *ret_any is true (the caller reneges on it). */
enum sctp_recv_result sctp_recv_add(struct sctp_recv *r, const struct sctp_data *d, uint32_t cum,
				    uint32_t *ret_dropped, bool *ret_any);

/* True if a message would be ready without waiting: unordered and whole. */
static inline bool sctp_recv_direct(const struct sctp_data *d)
{
	return d->unordered && d->begin && d->end;
}

/* Fetches the next complete message; its spans are valid until the next call of any function of
 * this file for this association. sid, ppid, ordered, len, n and part are filled. False: none. */
bool sctp_recv_next(struct sctp_recv *r, struct sctp_msg *ret);

#endif
