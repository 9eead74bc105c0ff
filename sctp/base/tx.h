/* SPDX-License-Identifier: BSD-2-Clause */
/* What an association sends: chunks in wire format, in blocks, in TSN order. */
#ifndef SCTP_TX_H
#define SCTP_TX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sctp/wire/chunk.h"
#include "sctp/memory/pool.h"

struct sctp_assoc;

enum {
	SCTP_TX_COUNT = 127,            /* transmissions that are counted */
	SCTP_TX_PAGE = SCTP_BLOCK / 32, /* records of a page */
	SCTP_TX_PAGES = 128,
	SCTP_TX_WINDOW = SCTP_TX_PAGE * (SCTP_TX_PAGES - 1), /* chunks queued or outstanding */
	SCTP_MAX_UNSENT = 262144, /* bytes queued that were never sent: what is copied is sent
				     while it still is in the processor's cache */
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

/* One chunk; 32 bytes. Chunks in flight form a list in the order of their last transmission, lost
 * ones another. Links are TSNs. */
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
	bool acked : 1;    /* since it was sent last: a peer that takes that back and says it again
			      acknowledges nothing new */
	uint16_t misses : 2;
	uint16_t words : 14; /* of its last packet up to its end: the last chunk has the length */
};
_Static_assert(sizeof(struct sctp_tx) == 32, "a page holds a power of two of records");
_Static_assert(SCTP_TX_ACKED < 8 && SCTP_MAX_PATHS <= 16 && SCTP_MAX_PACKET / 4 < 1 << 14,
	       "they fit");

struct sctp_tx_list {
	uint32_t first, last; /* TSNs, if n > 0 */
	uint32_t n;
};

struct sctp_range {
	uint32_t first, last; /* TSNs, both included */
};

struct sctp_queue {
	uint32_t next_tsn; /* of the next message */
	uint32_t send_tsn; /* first TSN that was never sent */
	uint32_t cum;      /* Cumulative TSN Ack of the peer */
	uint32_t bytes;    /* of wire format, queued or unacknowledged */
	uint32_t unsent;   /* of these, never sent */
	uint32_t fill;     /* bytes of the chunks in the packet that the last of these goes in */
	struct sctp_tx_block *head, *tail;
	struct sctp_tx *page[SCTP_TX_PAGES];
	struct sctp_tx_list out, lost;
	struct sctp_range *gap; /* a block: what gap blocks acknowledge; NULL: nothing */
	unsigned ngaps;
	uint32_t in_flight; /* payload bytes outstanding on all paths: they use up the window */
	uint32_t rwnd;      /* the peer's a_rwnd of the last SACK, or of INIT */
	bool window_probe;  /* one chunk may go although the peer's window is closed */
	bool probe_out;     /* the last chunk went for that reason */
	bool watched;       /* T3 waits for the window, with nothing in flight */
	bool answered;      /* a SACK came since T3 expired last */
};

static inline struct sctp_tx *sctp_tx_get(const struct sctp_queue *q, uint32_t tsn)
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

/* An empty queue. */
void sctp_tx_init(struct sctp_queue *q, uint32_t initial_tsn);
/* Gives all memory back; the queue is all zero then. */
void sctp_tx_deinit(struct sctp_assoc *a);
/* Lists of chunks in flight and of lost ones: adds at the end, in front; removes. */
void sctp_tx_push(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn);
void sctp_tx_push_front(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn);
/* The same in the order of TSNs, unless that takes long. */
void sctp_tx_insert(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn);
void sctp_tx_remove(struct sctp_queue *q, struct sctp_tx_list *l, uint32_t tsn);
/* Everything up to q->cum was acknowledged: frees it. old: the former cum. */
void sctp_tx_free(struct sctp_assoc *a, uint32_t old);
/* Chunks were sent or acknowledged: tells a user who waits that there is room again. */
void sctp_tx_made_room(struct sctp_assoc *a);
/* Nothing is queued and nothing outstanding. */
static inline bool sctp_tx_empty(const struct sctp_queue *q)
{
	return q->cum + 1 == q->next_tsn;
}

#endif
