/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The chunks that an association sends, in wire format in a chain of blocks, and a record for each
 * TSN, in pages. Both grow with the queue, and go back to the pool as the peer acknowledges.
 */
#ifndef SCTP_SEND_QUEUE_H
#define SCTP_SEND_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sctp/memory/pool.h"
#include "sctp/wire/chunk.h"
#include "sctp/wire/tsn.h"

enum {
	SCTP_TX_COUNT = 127,            /* transmissions that are counted */
	SCTP_TX_PAGE = SCTP_BLOCK / 32, /* records of a page */
	SCTP_TX_PAGES = 128,
	SCTP_TX_WINDOW = SCTP_TX_PAGE * (SCTP_TX_PAGES - 1), /* chunks queued or outstanding */
	SCTP_MAX_UNSENT = 262144, /* bytes queued that were never sent: few enough to be sent while
				     they are in the processor's cache */
};

struct sctp_tx_block {
	struct sctp_tx_block *next;
	uint32_t used;
	uint32_t pad;
	uint8_t data[SCTP_BLOCK - 16];
};

enum sctp_tx_state {
	SCTP_TX_QUEUED, /* never sent */
	SCTP_TX_OUT,    /* in flight */
	SCTP_TX_LOST,   /* to be sent again */
	SCTP_TX_GAP,    /* acknowledged by a gap block: may be reneged */
	SCTP_TX_ACKED,
};

/* The record of one chunk; 32 bytes. The links belong to the lists of flight.h, and are TSNs. */
struct sctp_tx {
	uint64_t sent_us;
	struct sctp_tx_block *block; /* where it begins */
	uint32_t next, prev;
	uint16_t off;  /* in block->data */
	uint16_t size; /* header and payload, without padding */
	uint8_t state : 3;
	uint8_t path : 4;
	bool headroom : 1; /* SCTP_HEAD bytes before it are free, for the header of a packet */
	uint8_t count : 7; /* up to SCTP_TX_COUNT */
	bool acked : 1; /* since it was sent last: if the peer reneges and acknowledges it again, it
			   is not newly acknowledged */
	uint16_t misses : 2;
	uint16_t words : 14; /* of its last packet up to its end: the last chunk has the length */
};
_Static_assert(sizeof(struct sctp_tx) == 32, "a page holds a power of two of records");
_Static_assert(SCTP_TX_ACKED < 8 && SCTP_MAX_PATHS <= 16 && SCTP_MAX_PACKET / 4 < 1 << 14,
	       "they fit");

struct sctp_range {
	uint32_t first, last; /* TSNs, both included */
};

/* Read-only but for queue.c. */
struct sctp_queue {
	uint32_t initial_tsn; /* of the first message; INIT says it */
	uint32_t next_tsn;    /* of the next message */
	uint32_t send_tsn;    /* first TSN that was never sent */
	uint32_t cum;         /* Cumulative TSN Ack of the peer */
	uint32_t bytes;       /* of wire format, queued or unacknowledged */
	uint32_t unsent;      /* of these, never sent */
	uint32_t fill;        /* bytes of the chunks in the packet that the last of these goes in */
	struct sctp_tx_block *head, *tail;
	struct sctp_tx *page[SCTP_TX_PAGES];
	struct sctp_range *gap; /* a block: TSNs that gap blocks acknowledge; NULL: none */
	unsigned ngaps;
	bool cut;           /* the last SACK may have had no room for more gap blocks: */
	uint32_t cut_after; /* chunks after this TSN are unknown */
	uint32_t reneged;   /* chunks that the peer took back, less a few for each in cum (ack.c) */
};

static inline struct sctp_tx *sctp_queue_at(const struct sctp_queue *q, uint32_t tsn)
{
	return &q->page[tsn / SCTP_TX_PAGE % SCTP_TX_PAGES][tsn % SCTP_TX_PAGE];
}

/* Bytes of a chunk on the wire, with padding. */
static inline uint32_t sctp_tx_wire(const struct sctp_tx *t)
{
	return (t->size + 3u) & ~3u;
}

/* Bytes of the packet that it was last sent in, up to its end. */
static inline uint32_t sctp_tx_packet(const struct sctp_tx *t)
{
	return 4u * t->words;
}

/* Where the common header of a packet that begins with this chunk goes; NULL: no room. */
static inline uint8_t *sctp_tx_headroom(const struct sctp_tx *t)
{
	return t->headroom ? t->block->data + t->off - SCTP_HEAD : NULL;
}

/* No chunk is queued or outstanding. */
static inline bool sctp_queue_empty(const struct sctp_queue *q)
{
	return q->cum + 1 == q->next_tsn;
}

/* Every chunk that was sent is acknowledged. */
static inline bool sctp_queue_idle(const struct sctp_queue *q)
{
	return q->cum + 1 == q->send_tsn;
}

/* The last SACK does not tell whether this TSN arrived. Where many packets were lost, it lists the
 * lowest gaps alone. */
static inline bool sctp_queue_unknown(const struct sctp_queue *q, uint32_t tsn)
{
	return q->cut && sctp_tsn_before(q->cut_after, tsn);
}

/* An empty queue. Does not allocate. */
void sctp_queue_init(struct sctp_queue *q, uint32_t initial_tsn);
/* Gives all memory back; the queue is all zero then. */
void sctp_queue_deinit(struct sctp_queue *q, const struct sctp_account *account);

/* Reserves memory for a message of len bytes, at least 1. False without memory: the part that was
 * reserved stays for the next attempt. */
bool sctp_queue_reserve(struct sctp_queue *q, const struct sctp_account *account, size_t len);
/* Queues the message for which memory was reserved as one chunk. flags: SCTP_DATA_I or 0.
 * packet: bytes of chunks that a packet takes. */
void sctp_queue_put(struct sctp_queue *q, uint32_t packet, uint8_t flags, uint16_t sid,
		    uint32_t ppid, const struct span *part, unsigned n, uint32_t len);
/* The chunk send_tsn is sent. */
void sctp_queue_sent(struct sctp_queue *q);
/* The cumulative acknowledgement advances to the next chunk. Its memory stays until
 * sctp_queue_free(). */
void sctp_queue_advance(struct sctp_queue *q);
/* Frees acknowledged chunks. old: cum when this function was called last. */
void sctp_queue_free(struct sctp_queue *q, const struct sctp_account *account, uint32_t old);
/* Keeps the gap blocks of a SACK, at most SCTP_BLOCK bytes. Without memory it keeps none. all:
 * there are no others, which had no room in it. */
void sctp_queue_keep_gaps(struct sctp_queue *q, const struct sctp_account *account,
			  const struct sctp_range *gap, unsigned n, bool all);
/* T3 expired: unknown chunks count as lost. */
void sctp_queue_timed_out(struct sctp_queue *q);

#endif
