/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Received data that cannot be delivered at once: fragments of a message, and ordered messages
 * before their turn (RFC 9260 6.5, 6.6, 6.9). DDP uses neither; foreign stacks may. Everything is
 * copied into cells of the pool's blocks and bounded per association. Adjacent fragments are joined
 * on arrival, so that every step costs O(log n) whatever a peer sends.
 *
 * Each ordered stream has a next sequence number, in a table that is allocated with the first
 * ordered message. Apart from it, an association without waiting data holds no memory.
 */
#ifndef SCTP_RECV_H
#define SCTP_RECV_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/memory/cells.h"
#include "sctp/memory/pool.h"
#include "sctp/sctp.h"
#include "sctp/wire/chunk.h"
#include "sctp/memory/tree.h"
#include "util/list.h"

/* Private but for held; see recv.c. */
struct sctp_recv {
	const struct sctp_account *account;
	struct sctp_cells cells;  /* data that waits */
	uint32_t limit;           /* bytes of cells that may be in use */
	uint16_t streams;         /* inbound */
	uint64_t cum;             /* of the last call, with 64 bits */
	struct sctp_tree by_tsn;  /* runs of fragments that may be dropped or continued */
	struct sctp_tree by_turn; /* whole ordered messages that wait for their turn */
	struct list deliverable;  /* whole messages in their order */
	uint16_t *next_ssn;       /* per stream; NULL: no ordered message yet */
	const char *violation;    /* after SCTP_RECV_VIOLATION: its description */
};

enum sctp_recv_result {
	SCTP_RECV_DIRECT,  /* it can be delivered at once and was not copied: the caller does that,
			      before any message of sctp_recv_next() */
	SCTP_RECV_TAKEN,   /* it was copied */
	SCTP_RECV_DROPPED, /* other chunks were dropped to make room: see sctp_recv_add() */
	SCTP_RECV_NO_ROOM, /* no room and no later chunk to drop, or no memory: treat the TSN as
			      lost */
	SCTP_RECV_VIOLATION, /* abort the association (RFC 9260 3.3.10.13): r->violation says that
				fragments contradict each other, a message is longer than
				SCTP_MAX_MESSAGE, a stream sequence number is repeated, or messages
				that can never be delivered fill the room */
};

/* TSNs from first up to and including last. */
struct sctp_recv_range {
	uint32_t first, last;
};

/* limit: bytes that may wait, at least 2 * SCTP_MAX_MESSAGE if messages of that length are to be
 * received. The next TSN after the cumulative one may use SCTP_MAX_MESSAGE bytes more, so that a
 * hole can always be filled. streams: inbound, at least 1. Does not allocate. */
void sctp_recv_init(struct sctp_recv *r, const struct sctp_account *account, uint32_t limit,
		    uint16_t streams);

/* Changes the limit. Data that waits may exceed it. */
static inline void sctp_recv_set_limit(struct sctp_recv *r, uint32_t limit)
{
	r->limit = limit;
}

/* Frees everything; the state is that of sctp_recv_init(). */
void sctp_recv_deinit(struct sctp_recv *r);

/* True if no data waits. */
static inline bool sctp_recv_empty(const struct sctp_recv *r)
{
	return r->cells.used == 0;
}

/* Bytes that wait, counted in whole cells: they reduce the window. May exceed the limit. */
static inline uint32_t sctp_recv_held(const struct sctp_recv *r)
{
	return r->cells.used * SCTP_CELL;
}

/* True for a chunk that needs no sctp_recv_add(), because that would say SCTP_RECV_DIRECT:
 * unordered and whole, while no data waits. */
static inline bool sctp_recv_direct(const struct sctp_recv *r, const struct sctp_data *d)
{
	return d->unordered && d->begin && d->end && sctp_recv_empty(r);
}

/* Takes a chunk whose TSN is new; d->sid is below `streams`. cum: the Cumulative TSN Ack Point
 * without this chunk. Without room for it, the data with the highest TSNs after cum and after this
 * chunk is dropped. Then the result is SCTP_RECV_DROPPED: the caller reneges on the TSNs *ret and
 * calls again with the same chunk. *ret is written only then. After DIRECT and TAKEN there may be
 * messages for sctp_recv_next(). */
enum sctp_recv_result sctp_recv_add(struct sctp_recv *r, const struct sctp_data *d, uint32_t cum,
				    struct sctp_recv_range *ret);

/* Fetches the next whole message as one span, which is valid until the next call of this function
 * for any association of the pool. sid, ppid, ordered, len, n and part are filled. False: none. */
bool sctp_recv_next(struct sctp_recv *r, struct sctp_msg *ret);

#endif
