/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of an RDMAP endpoint, for this room and proto/association only:
 *
 *   rdmap_sq.c      send requests from taking to completion, in order
 *   rdmap_rq.c      receives taken from the owner: QN 0
 *   rdmap_ird.c     Read and Atomic Requests of the peer: QN 1
 *   rdmap_work.c    our own requests, checked and begun
 *   rdmap_tx.c      the message being cut into segments
 *   rdmap_rx.c      arriving segments: one row per opcode
 *   rdmap_atomic.c  RFC 7306: atomics at both ends, Immediate Data
 *   rdmap_term.c    errors, and the Terminate on QN 2
 *   rdmap_raw.c     raw DDP mode: queues and RsvdULP of the ULP
 *   rdmap_status.c  completion statuses
 */
#ifndef PROTO_RDMAP_EP_H
#define PROTO_RDMAP_EP_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/rdmap/credit.h"
#include "proto/ddp/ddp_rx.h"
#include "proto/ddp/ddp_tx.h"
#include "proto/session/enh.h"
#include "proto/rdmap/hold.h"
#include "proto/rdmap/rdmap.h"
#include "proto/rdmap/rdmap_fsm.h"
#include "proto/ddp/ssn.h"
#include "proto/ddp/block_ring.h"
#include "proto/ddp/wire.h"

struct assoc_stream;

enum {
	RDMAP_IDLE_BURST = 32,
	RDMAP_QUEUES = 4,    /* QN 0 to 3. Without RFC 7306 there is no QN 3 */
	RDMAP_MSN_FIRST = 1, /* RFC 5041 4.3 */
	RDMAP_PROBE = 0x80,  /* rdmap_tx.rtr: the Read of RDMAP_PLACED or RDMAP_PACED is next */
};

/* A send request that was taken and is not completed. */
struct rdmap_rec {
	uint64_t cookie;
	uint64_t rto;
	uint64_t old; /* atomics: the value before */
	uint32_t rstag;
	uint32_t len;
	uint32_t msn;  /* of its first untagged message */
	uint8_t parts; /* untagged messages that were begun: a Read has one for each element */
	uint8_t op;
	uint8_t flags;
	uint8_t status;
	bool sent;   /* the transport accepted its first segment */
	bool ended;  /* completes as soon as it is the oldest */
	bool probed; /* RDMAP_PLACED, RDMAP_PACED: its Read of no bytes was begun */
	bool awaits; /* it ends when `mark` messages are acknowledged */
	uint32_t mark;
	bool hidden; /* a ready-to-receive message: no completion is reported */
	struct perr_at at;
};

/* One of our outstanding Reads and atomics: an entry of the outbound request queue (ORQ). */
struct rdmap_orq_entry {
	uint32_t pos;         /* position of its request in the window */
	bool last;            /* the request ends with the response */
	struct sgl_elem sink; /* Read: this part of it; atomics: of length 0 if there is none */
	struct ddp_gather in; /* atomics: the response */
	uint8_t body[WIRE_ATOMIC_RESP_LEN]; /* its bytes as far as placed */
};

/* The window of send requests. */
struct rdmap_sq {
	struct block_ring rec;      /* struct rdmap_rec */
	struct rdmap_rec *youngest; /* of these, if there is one */
	struct block_ring orq;      /* struct rdmap_orq_entry: outstanding requests */
	uint16_t size;              /* most that may ever be outstanding */
	uint16_t ord;               /* in this session, at most size */
	uint32_t resp_msn;          /* QN 3: of the oldest response not delivered */
	uint64_t read_got;          /* delivered response bytes of the oldest */
	uint32_t awaiting;          /* requests that await an acknowledgment */
	uint32_t ack_pos;           /* none before this position does, if there are some */
};

/* A receive that was taken and is not completed. */
struct rdmap_rq_slot {
	uint64_t cookie;
	uint64_t size; /* of all elements */
	struct ddp_gather in;
	uint8_t imm[WIRE_IMM_LEN];
	bool has_imm;   /* of the Immediate Data before the message: RDMAP_IMM_OF_SEND */
	uint8_t status; /* not RDMAP_SUCCESS: takes no message, completes as soon as it is the
			   oldest */
	bool no_memory; /* an element has the STag 0: it takes only messages without bytes */
	uint8_t nsge;
	struct sgl_elem sge[];
};

struct rdmap_rq {
	struct block_ring slot; /* struct rdmap_rq_slot */
	uint16_t *of_msn;       /* ring: masked positions of messages msn .. msn + open - 1 */
	uint32_t msn;           /* oldest message not delivered */
	uint32_t open;
};

/* A Read or Atomic Request of the peer (the IRD queue): being placed, or delivered and being
 * answered. */
struct rdmap_ird_slot {
	uint8_t body[WIRE_ATOMIC_REQ_LEN]; /* the longer of the two */
	struct ddp_gather in;
	struct ssn_rec seg; /* its segment, for a Terminate that refers to it */
	bool executed;      /* atomics: executed, and old is the response */
	uint64_t old;
};

struct rdmap_ird {
	struct block_ring slot; /* struct rdmap_ird_slot: from the oldest unanswered to the last of
				   which a segment arrived */
	uint16_t size;
	uint16_t limit; /* outstanding requests of the peer in this session, at most size */
	uint16_t busy;  /* number of delivered, unanswered requests */
	uint32_t msn;   /* oldest message not delivered */
};

enum rdmap_kind {
	RDMAP_NOTHING,
	RDMAP_WORK,      /* the request in tx.wr */
	RDMAP_RESPONSE,  /* to the oldest request in ird */
	RDMAP_TERMINATE, /* tx.term */
};

struct rdmap_tx {
	enum rdmap_kind kind; /* the kind of msg */
	uint8_t burst;        /* responses since our last own request */
	uint8_t rtr;     /* WIRE_RTR_ message to be sent first (RFC 6581 9.2), RDMAP_PROBE, or 0 */
	uint8_t idle;    /* requests in a row that sent no message; at RDMAP_IDLE_BURST others take
			    their turn */
	bool reached;    /* a response: ops->reach has permitted to read as far as ... */
	uint64_t within; /* ... this offset in it; likewise in a request */
	bool finishing; /* raw, RDMAP_REPORTED: msg was begun before the error and does not count as
			   the message after it */
	bool held;      /* wr is the youngest request of sq, waiting or being sent */
	uint8_t part;   /* which of its messages is next, or being sent. A Read has one for each
			   element, RDMAP_WITH_IMM makes two */
	bool last_ones; /* the ULP has closed: only `left` more requests are taken */
	uint32_t left;
	bool no_answers;     /* the peer has ended the session: no response will follow */
	bool failed;         /* RDMAP_STRICT_SENDS: the youngest request of sq has failed */
	uint8_t term_len;    /* length of a Terminate to be sent, or 0 */
	struct rdmap_wr *wr; /* a block; NULL: no request was taken */
	struct ddp_tx msg;
	uint32_t msn[RDMAP_RAW_QUEUES]; /* next message on each queue */
};

_Static_assert(sizeof(struct rdmap_wr) <= BLOCKS_SIZE, "a request fits into a block");

/* RDMAP_RNR: waiting for receives of the peer, and of this end. */
struct rdmap_rnr {
	bool agreed;       /* in this session, until the end of the peer arrives */
	uint8_t retry;     /* of this end, or RDMAP_RNR_NO_END */
	uint32_t timer_ms; /* of the peer's retries */
	uint64_t heard;    /* reports of the peer so far */
	uint64_t pos;      /* of the last one, while this end waits ... */
	uint64_t deadline; /* ... until then ... */
	struct list wait;  /* ... in assoc.not_ready */
};

/* The Write that was delivered last, for the Immediate Data after it. */
struct rdmap_written {
	uint32_t len;  /* bytes of the segments that follow each other in memory, up to the last */
	uint32_t stag; /* of the next one, and ... */
	uint64_t to;   /* ... its offset, if it continues them */
	bool goes_on;  /* more segments of the Write follow */
};

/* The members that each message touches are the first: a daemon may have more endpoints than the
 * processor's cache has room for. */
struct rdmap {
	enum rdmap_state state;
	bool plain; /* no RFC 7306 */
	bool raw;
	uint8_t queues; /* number of queues */
	uint8_t wait;   /* do not send before the peer's first message, which may be one of these
			   WIRE_RTR_ (RFC 6581 5); 0: do not wait */
	struct assoc_stream *stream; /* stream of the association; NULL if unbound */
	struct stag_table *stags;
	struct stag_accessor accessor;
	const struct rdmap_ops *ops;
	void *user;
	struct drr *owner;
	struct blocks *pool;
	uint64_t tx_msgs, rx_msgs, tx_bytes, rx_bytes;
	struct rdmap_written written;
	struct rdmap_tx tx;
	struct rdmap_sq sq;
	struct rdmap_rq *rq; /* QN 0; raw: one for each queue, then one for notifications */
	uint32_t rq_taken;   /* receives taken and not completed, all queues together */
	uint8_t max_recv_sge;
	uint8_t notify_mask;
	bool keeps_recvs;              /* of a session that is over */
	bool acks;                     /* assoc_cfg.acks of the session */
	unsigned options;              /* RDMAP_PLACE_IN_ORDER ... */
	uint32_t hold_ms;              /* how long one waits for a receive; 0: it does not */
	struct hold hold;              /* messages that wait for a receive or for earlier ones */
	uint32_t window;               /* RDMAP_CREDITS: for the peer; 0: it need not wait */
	uint32_t credit_tag, peer_tag; /* of the credits to this end and to the peer */
	struct credit_rx credit_rx;
	struct credit_tx credit_tx; /* all zero without RDMAP_CREDITS at both ends */
	struct rdmap_rnr rnr;
	struct rdmap_ird ird;
	uint64_t held_msgs;             /* messages that waited for a receive */
	uint64_t bad_recvs;             /* receives so far that were invalid */
	bool more_recvs;                /* the last search for a receive ended at its bound */
	uint32_t tries;                 /* attempts to execute an atomic */
	uint8_t term[WIRE_TERM_MAX];    /* that is to be sent */
	uint8_t term_in[WIRE_TERM_MAX]; /* QN 2: the peer's Terminate */
	struct ddp_gather term_gather;
	struct ddp_gaps gaps[DDP_GAPS_MAX]; /* of untagged messages, see ddp_rx_gather() */
	uint64_t tagged_len;     /* raw: bytes so far of the tagged message being delivered */
	struct perr_at at;       /* RDMAP_FAILED, RDMAP_REPORTED: why */
	struct wire_term reason; /* the same as a Terminate, sent or received */
};

/* ---- rdmap.c: life ---- */

/* An access of the endpoint to local memory: STAG_LOCAL_WRITE to write, 0 to read. */
static inline struct sgl_access rdmap_access(const struct rdmap *ep, uint32_t rights)
{
	return (struct sgl_access){ep->stags, &ep->accessor, rights};
}

/* The limits of the endpoint: the terms of a session without negotiation. */
struct enh_terms rdmap_terms(const struct rdmap *ep);

/* A session begins: resets the endpoint. RDMAP_OPEN. */
void rdmap_bind(struct rdmap *ep, const struct enh_terms *terms);

/* Begins no further message; the one being sent is finished. */
void rdmap_stop(struct rdmap *ep);

/* The ULP has closed: the next n requests of the owner are the last ones. rdmap_stop() follows when
 * rdmap_tx_spent() is true, or earlier. */
void rdmap_stop_after(struct rdmap *ep, uint32_t n);

/* Whether its owner permits to read or write this memory of a request now. */
static inline bool rdmap_may_touch(const struct rdmap *ep, const struct span *at, unsigned n)
{
	return n == 0 || !ep->ops->touch || ep->ops->touch(ep->user, at, n);
}

/* True after rdmap_stop_after(). */
static inline bool rdmap_last_ones(const struct rdmap *ep)
{
	return ep->tx.last_ones;
}

/* Stops sending and receiving; completes all requests that were taken. No Terminate. */
void rdmap_abort(struct rdmap *ep);

/* Raw: stops receiving and completes all requests that were taken; one more message may be sent.
 */
void rdmap_report(struct rdmap *ep);

/* Memory for the next request in tx.wr. */
static inline void rdmap_take_wr(struct rdmap *ep)
{
	if (!ep->tx.wr)
		ep->tx.wr = blocks_get(ep->pool);
}

/* The request in tx.wr is not needed any more. */
static inline void rdmap_drop_wr(struct rdmap *ep)
{
	ep->tx.held = false;
	ep->tx.part = 0;
	blocks_put(ep->pool, ep->tx.wr);
	ep->tx.wr = NULL;
}

/* The session is over: completes all requests that were taken. by_peer: the peer ended it in order,
 * so that receives may be kept. RDMAP_UNBOUND. */
void rdmap_unbind(struct rdmap *ep, bool by_peer);

/* True for operations that have a response: they count against ORD. */
static inline bool rdmap_op_has_response(unsigned op)
{
	return opcode_has(op, OPCODE_RESPONSE);
}

/* True for requests that consume a receive of the peer. */
static inline bool rdmap_takes_receive(unsigned op, unsigned flags)
{
	return opcode_has(op, OPCODE_RECEIVE) || flags & RDMAP_WITH_IMM;
}

/* ---- rdmap_sq.c ---- */

static inline struct rdmap_rec *rdmap_sq_youngest(const struct rdmap_sq *q)
{
	return q->youngest;
}

/* Adds the request in tx.wr. There is room. */
void rdmap_sq_add(struct rdmap *ep);

/* Number of Reads and atomics that are outstanding. */
static inline uint32_t rdmap_orq_len(const struct rdmap_sq *q)
{
	return block_ring_len(&q->orq);
}

/* The message of the youngest request, a Read or an atomic, was sent: it is outstanding from now
 * on. The request ends with the response to the last one. */
void rdmap_orq_push(struct rdmap *ep, const struct sgl_elem *sink, bool last);

/* The i-th oldest outstanding Read or atomic, or NULL. */
struct rdmap_orq_entry *rdmap_orq_at(const struct rdmap_sq *q, unsigned i);

/* The request of an entry. */
static inline struct rdmap_rec *rdmap_orq_rec(const struct rdmap_sq *q,
					      const struct rdmap_orq_entry *a)
{
	return block_ring_at(&q->rec, a->pos);
}

/* The oldest outstanding message has its response: removes it from the ORQ, and marks its request
 * as ended if it was the last one. */
void rdmap_orq_pop(struct rdmap *ep);

/* RDMAP_ACKED: true if responses are due, which the end of the session waits for. */
static inline bool rdmap_sq_unanswered(const struct rdmap *ep)
{
	return ep->options & RDMAP_ACKED && rdmap_orq_len(&ep->sq) > 0;
}

/* RDMAP_ACKED: true if requests that were sent still have to be acknowledged to complete, or
 * answered. */
static inline bool rdmap_sq_unacked(const struct rdmap *ep)
{
	return ep->sq.awaiting > 0 || rdmap_sq_unanswered(ep);
}

/* The youngest request was sent and ends when this many messages of the association are
 * acknowledged. */
void rdmap_sq_await(struct rdmap *ep, uint32_t mark);

/* The peer has ended the session in order: no response will follow. RDMAP_PACED requests end as
 * others do: at once, or with RDMAP_ACKED when this many messages are acknowledged. */
void rdmap_sq_unpace(struct rdmap *ep, uint32_t mark);

/* A response proves that all requests before this one have been delivered: ends them. */
void rdmap_sq_delivered(struct rdmap *ep, uint32_t pos);

/* `count` messages are acknowledged: ends requests, which rdmap_sq_report() completes. */
void rdmap_sq_acked(struct rdmap *ep, uint32_t count);

/* Completes the oldest requests that have ended. */
void rdmap_sq_report(struct rdmap *ep);

/* Completes all requests but the `keep` youngest, with their own error or RDMAP_FLUSH_ERR. */
void rdmap_sq_flush(struct rdmap *ep, unsigned keep);

/* RDMAP_STRICT_SENDS: true if the youngest request has failed and all others have ended. */
bool rdmap_sq_stuck(const struct rdmap *ep);

/* Sets the status of the oldest request that may wait for a receive of the peer. */
void rdmap_sq_not_ready(struct rdmap *ep);

/* Sets the status of the requests that a Terminate of the peer refers to. */
void rdmap_sq_assign_error(struct rdmap_sq *q, const struct wire_term *t, const struct perr_at *at);

/* ---- rdmap_rq.c ---- */

/* The number of receive queues of the endpoint. */
static inline unsigned rdmap_rqs(const struct rdmap *ep)
{
	return ep->raw ? ep->queues + 1U : 1;
}

/* A bad receive ends the session. */
static inline bool rdmap_is_strict(const struct rdmap *ep)
{
	return ep->options & RDMAP_STRICT_RECVS;
}

/*
 * Finds the slot for a message of the queue; takes receives from the owner up to its message
 * number. PERR_NONE with *ret_slot, PERR_MSN_RANGE, PERR_NO_BUFFER, or PERR_BAD_RECEIVE: the last
 * receives were taken, and they were invalid; with RDMAP_STRICT_RECVS, one was.
 */
enum perr rdmap_rq_acquire(struct rdmap *ep, struct rdmap_rq *q, uint32_t msn,
			   struct rdmap_rq_slot **ret_slot);

/* Finds where to place a segment of a message: *ret_n spans in dst. PERR_NONE or the error. */
enum perr rdmap_rq_place(struct rdmap *ep, struct rdmap_rq *q, const struct ssn_rec *c,
			 struct span *dst, unsigned *ret_n);

/* RDMAP: the number of the last message for which there is a receive. */
uint32_t rdmap_rq_limit(const struct rdmap *ep);

/* The slot for a message, or NULL if no receive was taken for it. */
struct rdmap_rq_slot *rdmap_rq_find(const struct rdmap_rq *q, uint32_t msn);

/* The oldest message, Immediate Data, is delivered, and the next one takes its receive. None of the
 * next one was placed. */
void rdmap_rq_hand_on(struct rdmap_rq *q);

/* Completes the oldest receive as *done says, then bad receives that follow it. */
void rdmap_rq_complete(struct rdmap *ep, struct rdmap_rq *q, struct rdmap_done *done);

/* Completes all receives, with their own error or RDMAP_FLUSH_ERR. */
void rdmap_rq_flush(struct rdmap *ep);

/* ---- rdmap_ird.c ---- */

/* The slot for a request that is not delivered yet. PERR_NONE with *ret_slot, PERR_MSN_RANGE or
 * PERR_NO_BUFFER. */
enum perr rdmap_ird_slot(struct rdmap *ep, uint32_t msn, struct rdmap_ird_slot **ret_slot);

/* The next request is complete and in order: it may be answered. */
void rdmap_ird_deliver(struct rdmap_ird *q);

/* The oldest one that may be answered, or NULL. */
struct rdmap_ird_slot *rdmap_ird_oldest(const struct rdmap_ird *q);

/* The oldest one was answered. */
void rdmap_ird_answered(struct rdmap *ep);

/*
 * The access check of the `size` bytes that a request of the peer reads or changes. Size 0 is not
 * checked (RFC 5040 5.2.1). PERR_NONE with *ret_p, or a PERR_ACCESS_ error.
 */
enum perr rdmap_ird_access(const struct rdmap *ep, uint32_t rights, uint32_t stag, uint64_t to,
			   uint32_t size, uint8_t **ret_p);

#endif
