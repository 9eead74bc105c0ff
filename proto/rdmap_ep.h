/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of an RDMAP endpoint, for rdmap*.c and assoc*.c alone. Its parts:
 *
 *   sq   send-side requests from taking to completion, in order          rdmap_sq.c
 *   rq   receives taken from the owner, QN 0                              rdmap_rq.c
 *   ird  the peer's Read and Atomic Requests, QN 1                        rdmap_ird.c
 *   work requests of our own, judged and begun                            rdmap_work.c
 *   tx   the message being cut into segments                              rdmap_tx.c
 *   rx   arriving segments: one row per opcode                            rdmap_rx.c
 *   RFC 7306: atomics at both ends, Immediate Data                        rdmap_atomic.c
 *   the end, orderly or with a Terminate on QN 2                          rdmap_term.c
 *   raw DDP mode: other rows, the ULP's queues and RsvdULP                rdmap_raw.c
 *   completion statuses                                                   rdmap_status.c
 */
#ifndef PROTO_RDMAP_EP_H
#define PROTO_RDMAP_EP_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ddp_rx.h"
#include "proto/ddp_tx.h"
#include "proto/enh.h"
#include "proto/rdmap.h"
#include "proto/rdmap_fsm.h"
#include "proto/ssn.h"
#include "proto/wire.h"

struct assoc_stream;

enum {
	RDMAP_QUEUES = 4,    /* QN 0 to 3. Without RFC 7306 there is no QN 3 */
	RDMAP_MSN_FIRST = 1, /* RFC 5041 4.3 */
};

/* A send-side request that was taken and is not completed. */
struct rdmap_rec {
	uint64_t cookie;
	uint64_t rto;
	uint64_t old;         /* atomics: the value before */
	struct sgl_elem sink; /* Read; atomics: of length 0 if there is none */
	uint32_t rstag;
	uint32_t len;
	uint32_t msn; /* of its message, where that is untagged */
	uint8_t op;
	uint8_t flags;
	uint8_t status;
	bool sent;   /* its first segment was taken by the transport */
	bool ended;  /* may complete when it is the oldest */
	bool hidden; /* a ready-to-receive message: completes to nobody */
	struct perr_at at;
};

/* A Read or atomic of ours whose request is out. */
struct rdmap_ask {
	uint32_t pos;                       /* of its request in the window */
	struct ddp_gather in;               /* atomics: the response */
	uint8_t body[WIRE_ATOMIC_RESP_LEN]; /* ... as far as it was placed */
};

/* The window of requests. Positions count on and on; a mask makes an index of one. */
struct rdmap_sq {
	struct rdmap_rec *rec;
	uint32_t mask;
	uint32_t head;         /* the oldest */
	uint32_t tail;         /* behind the youngest */
	struct rdmap_ask *ask; /* ring, oldest first */
	uint16_t size;         /* of it */
	uint16_t ord;          /* how many may be out in this session, at most size */
	uint16_t ask_head;
	uint16_t asks;
	uint32_t resp_msn; /* QN 3: of the oldest response not delivered */
	uint64_t read_got; /* response bytes of the oldest that were delivered */
};

/* A receive that was taken and is not completed. */
struct rdmap_rq_slot {
	uint64_t cookie;
	uint64_t size; /* of all elements */
	struct ddp_gather in;
	uint8_t imm[WIRE_IMM_LEN];
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

/* A Read or Atomic Request of the peer: being placed, or delivered and being answered. */
struct rdmap_ird_slot {
	uint8_t body[WIRE_ATOMIC_REQ_LEN]; /* the longer of the two */
	struct ddp_gather in;
	struct ssn_rec seg; /* its segment, for a Terminate that blames it */
	bool executed;      /* atomics: done, and old is the answer */
	uint64_t old;
};

struct rdmap_ird {
	struct rdmap_ird_slot *slot; /* ring */
	uint16_t size;
	uint16_t limit; /* how many the peer may have outstanding in this session, at most size */
	uint16_t head;  /* the oldest unanswered */
	uint16_t busy;  /* how many are delivered and unanswered */
	uint32_t msn;   /* oldest message not delivered */
};

enum rdmap_kind {
	RDMAP_NOTHING,
	RDMAP_WORK,      /* the request in tx.wr */
	RDMAP_RESPONSE,  /* to the oldest request in ird */
	RDMAP_TERMINATE, /* tx.term */
};

struct rdmap_tx {
	enum rdmap_kind kind; /* what msg is */
	struct ddp_tx msg;
	uint32_t msn[RDMAP_RAW_QUEUES]; /* next message on each queue */
	uint8_t burst;                  /* responses since the last request of our own */
	uint8_t rtr;    /* WIRE_RTR_ message to be sent before all else, or 0 (RFC 6581 9.2) */
	bool tired;     /* a window's worth of bad requests was taken at once */
	bool finishing; /* raw, RDMAP_LAST_WORDS: msg was begun before the error, and is not the
			   last */
	bool held;      /* wr is the youngest request of sq, not sent or being sent */
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
	bool plain; /* no RFC 7306 */
	bool raw;
	uint8_t queues; /* queue numbers that exist */
	uint8_t notify_mask;
	uint8_t wait; /* nothing is sent before the peer's first message, which may be
			 one of these WIRE_RTR_ (RFC 6581 5); 0: no such wait */
	struct rdmap_sq sq;
	struct rdmap_rq *rq; /* QN 0; raw: one for each queue, and one for notices behind them */
	uint32_t rq_taken;   /* receives taken and not completed, all queues together */
	struct rdmap_ird ird;
	uint32_t tries; /* to carry out an atomic */
	struct rdmap_tx tx;
	uint8_t term_in[WIRE_TERM_MAX]; /* QN 2: the peer's Terminate */
	struct ddp_gather term_gather;
	uint64_t tagged_len;     /* raw: bytes so far of the tagged message being delivered */
	struct perr_at at;       /* RDMAP_FAILED, RDMAP_LAST_WORDS: why */
	struct wire_term reason; /* the same for the wire: what we told, or were told */
	uint64_t tx_msgs, rx_msgs, tx_bytes, rx_bytes;
};

/* ---- rdmap_status.c ---- */

/* The RDMAP_LOC_ status for a STAG_E_ outcome of a check of our own memory. */
enum rdmap_status rdmap_status_of_stag(int outcome);

/* ---- rdmap.c: life ---- */

/* What the endpoint was made for: the terms of a session that nobody negotiated. */
struct enh_terms rdmap_terms(const struct rdmap *ep);

/* A session begins: everything at its beginning, RDMAP_OPEN. */
void rdmap_bind(struct rdmap *ep, const struct enh_terms *terms);

/* Begins no message any more; the one being sent is finished. */
void rdmap_stop(struct rdmap *ep);

/* Nothing is sent or received any more; all that was taken completes. No Terminate. */
void rdmap_abort(struct rdmap *ep);

/* Raw: nothing is received any more and all that was taken completes, but there may be a last word.
 */
void rdmap_report(struct rdmap *ep);

/* The session is over: all that was taken completes, RDMAP_UNBOUND. */
void rdmap_unbind(struct rdmap *ep);

/* Requests of ours that wait for a response: they count against ORD. */
static inline bool rdmap_op_asks(unsigned op)
{
	return opcode_has(op, OPCODE_RESPONSE);
}

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

/* The youngest request is a Read or an atomic, and it went out. */
void rdmap_sq_asked(struct rdmap_sq *q);

/* The i-th oldest Read or atomic that is out, or NULL. */
struct rdmap_ask *rdmap_sq_ask(const struct rdmap_sq *q, unsigned i);

/* Its request. */
static inline struct rdmap_rec *rdmap_sq_rec(const struct rdmap_sq *q, const struct rdmap_ask *a)
{
	return &q->rec[a->pos & q->mask];
}

/* The oldest of them has its response: it may complete. */
void rdmap_sq_answered(struct rdmap_sq *q);

/* Completes the oldest requests as far as they have ended. */
void rdmap_sq_report(struct rdmap *ep);

/* Completes everything but the `keep` youngest; what has no status of its own is RDMAP_FLUSHED. */
void rdmap_sq_flush(struct rdmap *ep, unsigned keep);

/* Gives the requests that a Terminate of the peer names their status. */
void rdmap_sq_blame(struct rdmap_sq *q, const struct wire_term *t, const struct perr_at *at);

/* ---- rdmap_rq.c ---- */

/* How many receive queues the endpoint has. */
static inline unsigned rdmap_rqs(const struct rdmap *ep)
{
	return ep->raw ? ep->queues + 1U : 1;
}

/*
 * The slot for a message of the queue, taking receives as far as its number needs. PERR_NONE
 * with *ret_slot, PERR_MSN_RANGE or PERR_NO_BUFFER.
 */
enum perr rdmap_rq_reach(struct rdmap *ep, struct rdmap_rq *q, uint32_t msn,
			 struct rdmap_rq_slot **ret_slot);

/* Where to place a segment of a message, elements of its slot resolved: spans to dst, *ret_n of
 * them. PERR_NONE, or an error. */
enum perr rdmap_rq_place(struct rdmap *ep, struct rdmap_rq *q, const struct ssn_rec *c,
			 struct span *dst, unsigned *ret_n);

/* The slot for a message if one was taken, or NULL. */
struct rdmap_rq_slot *rdmap_rq_find(const struct rdmap_rq *q, uint32_t msn);

/* Completes the oldest receive with what arrived, and bad ones behind it. */
void rdmap_rq_complete(struct rdmap *ep, struct rdmap_rq *q, struct rdmap_done *done);

/* Completes everything; what has no status of its own is RDMAP_FLUSHED. */
void rdmap_rq_flush(struct rdmap *ep);

/* ---- rdmap_ird.c ---- */

/* The slot for a request that is not delivered yet. PERR_NONE, _MSN_RANGE or _NO_BUFFER. */
enum perr rdmap_ird_slot(struct rdmap_ird *q, uint32_t msn, struct rdmap_ird_slot **ret_slot);

/* The next request is whole and in order: it may be answered. */
void rdmap_ird_deliver(struct rdmap_ird *q);

/* The oldest one that may be answered, or NULL. */
struct rdmap_ird_slot *rdmap_ird_oldest(const struct rdmap_ird *q);

/* The oldest one was answered. */
void rdmap_ird_answered(struct rdmap_ird *q);

/*
 * The access check of what a request of the peer reads or changes: size bytes. Size 0 is
 * not checked (RFC 5040 5.2.1). PERR_NONE with *ret_p, or a PERR_ACCESS_ error.
 */
enum perr rdmap_ird_access(const struct rdmap *ep, uint32_t rights, uint32_t stag, uint64_t to,
			   uint32_t size, uint8_t **ret_p);

#endif
