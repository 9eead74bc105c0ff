/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of an RDMAP endpoint, for rdmap*.c and assoc*.c alone. Its parts:
 *
 *   sq   send-side requests from taking to completion, in order          rdmap_sq.c
 *   rq   receives taken from the owner, QN 0                              rdmap_rq.c
 *   ird  the peer's Read Requests, QN 1                                   rdmap_ird.c
 *   tx   the message being cut into segments                              rdmap_tx.c
 *   in   arriving segments: one row per opcode                            rdmap_rx.c
 *   the end, orderly or with a Terminate on QN 2                          rdmap_term.c
 *
 * An endpoint in raw DDP mode would be one with another table in rdmap_rx.c, whose rows are
 * queue numbers of the ULP, and with the ULP's RsvdULP in the headers that rdmap_tx.c begins.
 */
#ifndef PROTO_RDMAP_EP_H
#define PROTO_RDMAP_EP_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ddp_rx.h"
#include "proto/ddp_tx.h"
#include "proto/rdmap.h"
#include "proto/rdmap_fsm.h"
#include "proto/ssn.h"
#include "proto/wire.h"

struct assoc_stream;

enum {
	RDMAP_QUEUES = 3,    /* QN 0, 1, 2. RFC 7306 would add QN 3, its Atomic Responses */
	RDMAP_MSN_FIRST = 1, /* RFC 5041 4.3 */
};

/* A send-side request that was taken and is not completed. */
struct rdmap_rec {
	uint64_t cookie;
	uint64_t rto;
	struct sgl_elem sink; /* Read */
	uint32_t rstag;
	uint32_t len;
	uint32_t msn; /* of its message, where that is untagged */
	uint8_t op;
	uint8_t flags;
	uint8_t status;
	bool sent;  /* its first segment was taken by the transport */
	bool ended; /* may complete when it is the oldest */
	struct perr_at at;
};

/* The window of them. Positions count on and on; a mask makes an index of one. */
struct rdmap_sq {
	struct rdmap_rec *rec;
	uint32_t mask;
	uint32_t head;  /* the oldest */
	uint32_t tail;  /* behind the youngest */
	uint32_t *read; /* ring of positions: Reads whose request is out, oldest first */
	uint16_t ord;   /* its size */
	uint16_t read_head;
	uint16_t reads;
	uint64_t read_got; /* response bytes of the oldest that were delivered */
};

/* A receive that was taken and is not completed. */
struct rdmap_rq_slot {
	uint64_t cookie;
	uint64_t size; /* of all elements */
	struct ddp_gather in;
	uint8_t status; /* not RDMAP_OK: takes no message, completes when it is the oldest */
	uint8_t nsge;
	struct sgl_elem sge[];
};

struct rdmap_rq {
	uint8_t *slot;   /* ring of struct rdmap_rq_slot */
	uint32_t stride; /* bytes from one to the next */
	uint32_t mask;
	uint32_t head; /* positions, as in rdmap_sq */
	uint32_t tail;
	uint32_t *of_msn; /* ring: position of the slot for message msn .. msn + open - 1 */
	uint32_t msn;     /* oldest message not delivered */
	uint32_t open;
};

/* A Read Request of the peer: being placed, or delivered and being answered. */
struct rdmap_ird_slot {
	uint8_t body[WIRE_READ_REQ_LEN];
	struct ddp_gather in;
	struct ssn_rec seg; /* its segment, for a Terminate that blames it */
};

struct rdmap_ird {
	struct rdmap_ird_slot *slot; /* ring */
	uint16_t size;
	uint16_t head; /* the oldest unanswered */
	uint16_t busy; /* how many are delivered and unanswered */
	uint32_t msn;  /* oldest message not delivered */
};

enum rdmap_kind {
	RDMAP_NOTHING,
	RDMAP_WORK,      /* the request in tx.wr */
	RDMAP_RESPONSE,  /* to the oldest Read Request in ird */
	RDMAP_TERMINATE, /* tx.term */
};

struct rdmap_tx {
	enum rdmap_kind kind; /* what msg is */
	struct ddp_tx msg;
	uint32_t msn[RDMAP_QUEUES]; /* next message on each queue */
	uint8_t burst;              /* responses since the last request of our own */
	bool tired;                 /* a window's worth of bad requests was taken at once */
	bool held;                  /* wr is the youngest request of sq, not sent or being sent */
	struct rdmap_wr wr;
	uint8_t term[WIRE_TERM_MAX];
	uint8_t term_len; /* a Terminate waits to be sent, or 0 */
};

struct rdmap {
	enum rdmap_state state;
	struct assoc_stream *stream; /* the assoc's; NULL if free to be bound */
	struct stag_table *stags;
	struct stag_who who;
	const struct rdmap_ops *ops;
	void *user;
	uint8_t max_recv_sge;
	struct rdmap_sq sq;
	struct rdmap_rq rq;
	struct rdmap_ird ird;
	struct rdmap_tx tx;
	uint8_t term_in[WIRE_TERM_MAX]; /* QN 2: the peer's Terminate */
	struct ddp_gather term_gather;
	struct perr_at at; /* RDMAP_FAILED: why */
	uint64_t tx_msgs, rx_msgs, tx_bytes, rx_bytes;
};

/* ---- rdmap.c: life ---- */

/* A session begins: everything at its beginning, RDMAP_OPEN. */
void rdmap_bind(struct rdmap *ep);

/* Begins no message any more; the one being sent is finished. */
void rdmap_stop(struct rdmap *ep);

/* Nothing is sent or received any more; all that was taken completes. No Terminate. */
void rdmap_abort(struct rdmap *ep);

/* The session is over: all that was taken completes, RDMAP_UNBOUND. */
void rdmap_unbind(struct rdmap *ep);

/* The RDMAP_LOC_ status for a STAG_E_ outcome of a check of our own memory. */
enum rdmap_status rdmap_status_of_stag(int outcome);

/* ---- rdmap_sq.c ---- */

static inline bool rdmap_sq_full(const struct rdmap_sq *q)
{
	return q->tail - q->head > q->mask;
}

static inline struct rdmap_rec *rdmap_sq_youngest(struct rdmap_sq *q)
{
	return &q->rec[(q->tail - 1) & q->mask];
}

/* Enters a request that was just taken. There is room. */
void rdmap_sq_add(struct rdmap_sq *q, const struct rdmap_wr *wr);

/* The youngest request is a Read and its Read Request went out. */
void rdmap_sq_read_sent(struct rdmap_sq *q);

/* The i-th oldest Read whose request is out, or NULL. */
struct rdmap_rec *rdmap_sq_read(const struct rdmap_sq *q, unsigned i);

/* The oldest of them has its response: it may complete. */
void rdmap_sq_read_ended(struct rdmap_sq *q);

/* Completes the oldest requests as far as they have ended. */
void rdmap_sq_report(struct rdmap *ep);

/* Completes everything; what has no status of its own is RDMAP_FLUSHED. */
void rdmap_sq_flush(struct rdmap *ep);

/* Gives the requests that a Terminate of the peer names their status. */
void rdmap_sq_blame(struct rdmap_sq *q, const struct wire_term *t, const struct perr_at *at);

/* ---- rdmap_rq.c ---- */

/*
 * The slot for a message, taking receives as far as its number needs. PERR_NONE with
 * *ret_slot, PERR_MSN_RANGE or PERR_NO_BUFFER.
 */
enum perr rdmap_rq_reach(struct rdmap *ep, uint32_t msn, struct rdmap_rq_slot **ret_slot);

/* The slot for a message if one was taken, or NULL. */
struct rdmap_rq_slot *rdmap_rq_find(const struct rdmap_rq *q, uint32_t msn);

/* Completes the oldest receive with what arrived, and bad ones behind it. */
void rdmap_rq_complete(struct rdmap *ep, struct rdmap_done *done);

/* Completes everything; what has no status of its own is RDMAP_FLUSHED. */
void rdmap_rq_flush(struct rdmap *ep);

/* ---- rdmap_ird.c ---- */

/* The slot for a Read Request that is not delivered yet. PERR_NONE, _MSN_RANGE or _NO_BUFFER. */
enum perr rdmap_ird_slot(struct rdmap_ird *q, uint32_t msn, struct rdmap_ird_slot **ret_slot);

/* The next Read Request is whole and in order: it may be answered. */
void rdmap_ird_deliver(struct rdmap_ird *q);

/* The oldest one that may be answered, or NULL. */
struct rdmap_ird_slot *rdmap_ird_oldest(const struct rdmap_ird *q);

/* The oldest one was answered. */
void rdmap_ird_answered(struct rdmap_ird *q);

/*
 * The access check of the source of a Read: size bytes at the source address. Size 0 is
 * not checked (RFC 5040 5.2.1). PERR_NONE with *ret_p, or a PERR_READ_ error.
 */
enum perr rdmap_ird_source(const struct rdmap *ep, uint32_t stag, uint64_t to, uint32_t size,
			   uint8_t **ret_p);

#endif
