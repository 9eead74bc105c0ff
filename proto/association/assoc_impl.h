/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of an association, for this room only:
 *
 *   assoc.c         set-up, calls, time, the actions of a session
 *   assoc_event.c   events for the owner
 *   assoc_stream.c  the memory of streams
 *   assoc_sched.c   which streams may send
 *   assoc_share.c   whose streams they are
 *   assoc_refusal.c Initiates that find no memory for their stream
 *   assoc_tx.c      the next message to send
 *   assoc_rx.c      arriving messages
 *   assoc_hold.c    messages that wait for a receive
 *   assoc_credit.c  how far one end may be ahead of the receives of the other
 */
#ifndef PROTO_ASSOC_IMPL_H
#define PROTO_ASSOC_IMPL_H

#include "proto/association/assoc.h"
#include "proto/rdmap/rdmap_ep.h"
#include "proto/session/session.h"
#include "proto/ddp/ssn.h"
#include "proto/session/early_queue.h"
#include "util/drr.h"
#include "util/list.h"

enum {
	/* RFC 5043 10: unacknowledged chunks of one stream. Two are reserved for the Terminates. */
	ASSOC_UNACKED_MAX = 32767,
	ASSOC_UNACKED_ENDS = 2, /* RDMAP Terminate and session Terminate */
	ASSOC_OWNERS = 8, /* lists of shares: short for an idle association, searched at a bind */
	ASSOC_PIECE = 2,  /* streams that get memory together */
};

/* The streams of one owner. Those of a stream without an endpoint are in assoc.own. All zero until
 * it is first used. */
struct assoc_share {
	struct drr turn; /* its leaves are the streams; its parent is the owner */
	struct assoc *assoc;
	struct list held;         /* in assoc.held */
	struct assoc_share *next; /* in assoc.shares, or in assoc.free_shares */
	uint32_t endpoints;       /* bound to its streams */
};

/* One stream pair. All zero while it is not used. The members that each message touches are in
 * one line of the processor's cache. */
struct assoc_stream {
	_Alignas(64) struct session session;
	struct rdmap *ep;       /* bound endpoint, or NULL */
	struct drr turn;        /* in its share, while it may have something to send */
	uint32_t unacked;       /* chunks that the transport accepted in acked epoch ... */
	uint32_t unacked_epoch; /* ... this one */
	uint32_t ahead;         /* records in the store, and messages in the endpoint's hold */
	uint16_t tx_ssn;
	uint16_t rx_ssn;      /* next in order */
	uint8_t first;        /* Initiate, Accept or Reject still to be sent, with priv; or 0 */
	bool terminate_due;   /* a Terminate is to be sent */
	bool tx_started;      /* the transport accepted a chunk of this session */
	bool by_peer;         /* it began the session */
	bool peer_early;      /* the peer sends before our Accept: its segments prove no arrival */
	bool first_delivered; /* our first control message is known to have arrived */
	bool has_priv;        /* priv is a block */
	enum {
		ASSOC_CREDITS_NONE,
		ASSOC_CREDITS_OFFERED, /* in our Initiate */
		ASSOC_CREDITS_ASKED,   /* in the peer's Initiate */
		ASSOC_CREDITS_AGREED,  /* the Accept has the answer */
	} credits;

	struct assoc_share *share;
	struct list park;  /* in assoc.waiting or .later */
	struct list timer; /* in assoc.deciding, .grace, .sending_last, .closing, .quarantine or
			      .unused, as the state is */
	struct list await; /* in assoc.awaiting */
	struct list event_link; /* in assoc.event_streams while events is not 0 */
	uint64_t deadline;

	/* sending */
	bool enhanced;      /* the session's Initiate is an enhanced one (RFC 6581) */
	bool peer_enhanced; /* the peer's Initiate or answer is enhanced, too */
	struct wire_enh enh_local, enh_peer; /* enhanced parameters sent and received */
	struct enh_terms terms;              /* terms that the endpoint is bound with */
	struct wire_offer offer;             /* of the peer */
	uint32_t first_epoch; /* assoc.acked_epoch when the transport accepted `first` */

	/* receiving */
	struct list stall;  /* in assoc.stalled: the next message in order waits for a receive */
	struct list resume; /* in assoc.resuming: it is to be examined again */
	uint64_t stall_deadline;
	bool hold_over; /* it waits no longer: time or room is used up */

	/* events to report */
	uint8_t events; /* set of 1 << enum assoc_ev_type */
	bool reason_known;
	enum assoc_reason reason;
	struct perr_at at;
	struct rdmap *event_ep; /* the endpoint of the events */

	uint16_t priv_len;
	uint8_t *priv; /* private data: to be sent with `first`, or received, to be reported */
};

/* The message between assoc_rx() and assoc_rx_placed(). */
struct assoc_arrival {
	enum {
		ASSOC_IGNORE,       /* belongs to no session */
		ASSOC_CREDIT_TAKEN, /* a credit, which needs no more */
		ASSOC_REFUSED,      /* no memory for the stream of this Initiate */
		ASSOC_VIOLATION,    /* violates the sequences of RFC 5043 6 */
		ASSOC_EARLY,        /* before the Accept */
		ASSOC_AHEAD,        /* out of order */
		ASSOC_KEPT,         /* kept whole in the endpoint's hold */
		ASSOC_WAIT,         /* the same, and it stays there */
		ASSOC_OVERFLOW,     /* the hold has no room for it */
		ASSOC_DELIVER_KEPT, /* out of the hold, in order of the DDP-SSN */
		ASSOC_DELIVER,      /* in order of the DDP-SSN */
	} verdict;
	struct assoc_stream *stream;
	struct ssn_rec chunk;
};

/* The message of assoc_tx_next(), committed by assoc_tx_accepted(). */
struct assoc_departure {
	struct assoc_stream *stream; /* NULL: none */
	enum {
		ASSOC_FIRST,
		ASSOC_CREDIT, /* with this position */
		ASSOC_SEGMENT,
		ASSOC_END,
		ASSOC_REFUSAL,
	} what;
	uint16_t sid; /* of the refusal */
	uint32_t len; /* of the message, with its DDP-SSN */
	uint64_t pos;
};

struct assoc {
	struct assoc_cfg cfg;
	struct assoc_stream *
		*piece; /* by assoc_piece_of(), NULL while none of its streams is used */
	struct assoc_refusals *refusals;
	uint32_t touched;    /* ids from this one on were never used */
	uint8_t *event_priv; /* block with the private data of the last event, or NULL */
	struct ssn_store store;
	struct early_queue early;
	struct session_trace trace;
	struct assoc_counters count;
	uint64_t now;
	bool lost;
	bool full;                     /* a stream waits because of ASSOC_UNACKED_MAX */
	bool credits;                  /* some session has or had them */
	uint32_t credit_tag;           /* the last one that was given to a session */
	uint8_t offer[WIRE_OFFER_LEN]; /* of the message that is sent */
	uint32_t room;                 /* as for ddp_tx_cut() */
	uint32_t tx_count;             /* messages that the transport accepted ... */
	uint32_t tx_acked;    /* ... and that the peer has acknowledged, as far as is reported */
	uint32_t tx_seen;     /* the same, when assoc_tx_check() looked */
	uint32_t acked_epoch; /* counts the times that everything was acknowledged */

	uint16_t sessions, peer_sessions;
	uint16_t undecided_count;
	uint32_t ready;           /* streams that may have something to send */
	struct drr root;          /* of their turns, without assoc_cfg.others */
	struct assoc_share own;   /* of streams without an endpoint */
	struct assoc_share first; /* of the first owner: else each association would touch a page */
	struct assoc_share *shares[ASSOC_OWNERS]; /* of the others, by their owner */
	struct assoc_share *free_shares;
	struct assoc_shares *share_blocks; /* memory of them */
	struct list held;                  /* shares that the transport takes no more of */
	struct list waiting;               /* streams that wait until everything is acknowledged */
	struct list later;                 /* streams that wait for the next assoc_tick() */
	struct list undecided;             /* by deadline */
	struct list grace;                 /* by deadline: raw, the ULP may still send a message */
	struct list sending_last; /* by deadline: closed, and earlier requests are still sent */
	struct list closing;      /* by deadline */
	struct list stalled;      /* by deadline */
	struct list resuming;
	struct list not_ready; /* rdmap.rnr.wait, by deadline: the peer has no receive */
	struct list awaiting;  /* streams whose requests await an acknowledgment */
	struct list quarantine;
	struct list unused;        /* streams in SESSION_IDLE or SESSION_DEAD */
	struct list event_streams; /* streams with events to report, oldest first */

	struct assoc_arrival in;
	struct assoc_departure out;
};

/* The piece of a stream. Each side begins sessions on ids of one parity: these are together. */
static inline uint32_t assoc_piece_of(uint32_t sid)
{
	return sid / (2 * ASSOC_PIECE) * 2 + sid % 2;
}

/* The first stream of a piece. */
static inline uint32_t assoc_piece_sid(uint32_t piece)
{
	return piece / 2 * 2 * ASSOC_PIECE + piece % 2;
}

/* Where a stream is, whose piece has memory. */
static inline struct assoc_stream *assoc_stream_at(const struct assoc *a, uint32_t sid)
{
	return &a->piece[assoc_piece_of(sid)][sid / 2 % ASSOC_PIECE];
}

/* The stream, or NULL while it is not used. sid is less than cfg.streams. */
static inline struct assoc_stream *assoc_stream_used(const struct assoc *a, uint32_t sid)
{
	struct assoc_stream *piece = a->piece[assoc_piece_of(sid)];
	struct assoc_stream *s = piece ? &piece[sid / 2 % ASSOC_PIECE] : NULL;

	return s && s->session.trace ? s : NULL;
}

/* ---- assoc_stream.c ---- */

/* Bytes beside struct assoc, and blocks of the pool that are reserved for the first streams. */
size_t assoc_streams_size(const struct assoc_cfg *cfg);
uint32_t assoc_streams_blocks(void);

/* An association begins. mem: zeroed. */
void assoc_streams_init(struct assoc *a, void *mem);

/* It ends, and gives all blocks back. */
void assoc_streams_clear(struct assoc *a);

/* Memory of a stream, all zero, begins as that of this stream. */
void assoc_stream_init(struct assoc *a, struct assoc_stream *s, uint16_t sid);

/* Gives the memory of streams back that have neither a session nor anything to report or to send.
 * No stream is in use by the caller. */
void assoc_streams_trim(struct assoc *a);

/* True if the stream is not used again and has no memory any more. sid is less than cfg.streams. */
bool assoc_stream_is_dead(const struct assoc *a, uint32_t sid);

/* The stream, initialized at its first use. NULL: the pool has no memory for it, or it is dead. */
struct assoc_stream *assoc_stream_make(struct assoc *a, uint16_t sid);

/* The stream of a message that arrived. NULL: there is none, no session can begin with this message
 * on a stream that was never used, it is dead, or the pool has no memory. */
struct assoc_stream *assoc_stream_for(struct assoc *a, const struct assoc_msg *m);

static inline struct assoc_stream *assoc_stream_get(struct assoc *a, uint16_t sid)
{
	struct assoc_stream *s = assoc_stream_used(a, sid);

	return s ? s : assoc_stream_make(a, sid);
}

/* ---- assoc.c ---- */

/* Makes sure that the stream gets acknowledgments if its requests await some. */
static inline void assoc_await_acks(struct assoc *a, struct assoc_stream *s)
{
	if (s->ep->sq.awaiting > 0 && !list_linked(&s->await))
		list_add_tail(&a->awaiting, &s->await);
}

/* Chunks that the transport accepted and that are not known to have arrived: at most those of all
 * streams. */
static inline uint32_t assoc_unacked(const struct assoc *a, const struct assoc_stream *s)
{
	uint32_t all = a->tx_count - a->tx_seen;

	if (s->unacked_epoch != a->acked_epoch)
		return 0;
	return s->unacked < all ? s->unacked : all;
}

/* Gives the event to the session and carries out its actions. Returns them: a set of SESSION_DO_
 * values. */
unsigned assoc_session(struct assoc *a, struct assoc_stream *s, enum session_event ev);

/* Notes why the session ends. The first reason counts. at: may be NULL. */
void assoc_reason(struct assoc_stream *s, enum assoc_reason reason, const struct perr_at *at);

/* The endpoint found an error or received a Terminate: notes the reason and ends the session. */
void assoc_failed(struct assoc *a, struct assoc_stream *s, enum assoc_reason reason);

/* We have closed, and requests from before that are still sent, acknowledged and answered. */
static inline bool assoc_sends_last(const struct assoc_stream *s)
{
	return s->ep && rdmap_last_ones(s->ep);
}

/* All of them were, or their time is over: no message is begun any more. */
void assoc_stop(struct assoc *a, struct assoc_stream *s);

/* Queues an event. */
void assoc_queue_event(struct assoc *a, struct assoc_stream *s, enum assoc_ev_type type);

/* Private data of len bytes for the stream. */
void assoc_set_priv(struct assoc *a, struct assoc_stream *s, const void *p, size_t len);

/* Gives its memory back if it is neither to be sent nor to be reported. */
void assoc_trim_priv(struct assoc *a, struct assoc_stream *s);

/* Cancels queued events: a set of 1 << type. */
void assoc_cancel_events(struct assoc_stream *s, unsigned types);

/* Raw: from now on the ULP has half of close_ms to send one more message. In SESSION_OPEN no other
 * deadline is set. */
void assoc_start_grace(struct assoc *a, struct assoc_stream *s);

/* Releases the early messages of the stream; while the endpoint waits for the peer's first message,
 * only that one. */
void assoc_release_early(struct assoc *a, struct assoc_stream *s);

/* ---- assoc_hold.c ---- */

/* The hold of the stream's endpoint; NULL if there is none or the endpoint does not receive. */
struct hold *assoc_hold(const struct assoc_stream *s);

/* True if every segment that arrives out of order is kept whole. */
bool assoc_hold_all(const struct assoc_stream *s);

/* True if a message may wait for a receive. */
bool assoc_hold_waits(const struct assoc_stream *s);

/* Keeps a message: *ret says where its bytes go. False if there is no room. */
bool assoc_hold_keep(struct assoc_stream *s, const struct assoc_msg *m, uint16_t ssn,
		     struct assoc_place *ret);

/* The next message in order is kept and waits for a receive: its time begins. */
void assoc_hold_stall(struct assoc *a, struct assoc_stream *s);

/* The peer's end of the session has arrived, behind messages that are missing or wait: from now on
 * nobody is there to decide how long they wait, but the endpoint. */
void assoc_hold_end_follows(struct assoc *a, struct assoc_stream *s);

/* The next message in order is to be examined, if it is kept. */
void assoc_hold_go_on(struct assoc *a, struct assoc_stream *s);

/* The same, and it waits no longer for a receive. */
void assoc_hold_give_up(struct assoc *a, struct assoc_stream *s);

/* The next message in order leaves the hold. */
void assoc_hold_end(struct assoc_stream *s);

/* A message to be examined, as assoc_rx_early() returns it. */
bool assoc_hold_next(struct assoc *a, struct assoc_msg *ret);

/* Drops all kept messages of the stream. */
void assoc_hold_drop(struct assoc *a, struct assoc_stream *s);

/* Gives up messages that have waited long enough. */
void assoc_hold_expire(struct assoc *a);

/* The next such deadline, or UINT64_MAX. */
uint64_t assoc_hold_expiry(const struct assoc *a);

/* ---- assoc_credit.c ---- */

/* An Initiate of the stream's endpoint is to be sent: it offers credits, if the endpoint has them.
 */
void assoc_credit_propose(struct assoc *a, struct assoc_stream *s);

/* Takes the offer out of the private data of an Initiate, or the answer out of those of an Accept,
 * if there is one. Returns their length without it. */
uint32_t assoc_credit_take_offer(struct assoc_stream *s, bool answer, const uint8_t *priv,
				 uint32_t len);

/* Bytes that the answer of this endpoint takes of the private data of an Accept. */
uint32_t assoc_credit_answer_len(const struct assoc_stream *s, const struct rdmap *ep);

/* The endpoint accepts: its Accept answers the offer, if there is one and the endpoint has credits.
 */
void assoc_credit_agree(struct assoc *a, struct assoc_stream *s);

/* The session is open. */
void assoc_credit_begin(struct assoc *a, struct assoc_stream *s);

/* Writes the offer or the answer of this control message to a->offer. False if it has none. */
bool assoc_credit_put_offer(struct assoc *a, const struct assoc_stream *s, uint16_t func);

/* True if the segment that was made, in a message of len bytes, need not wait. */
bool assoc_credit_may_send(const struct assoc_stream *s, uint32_t len);

/* It was accepted by the transport. */
void assoc_credit_sent(const struct assoc_stream *s, uint32_t len);

/* Takes a credit that arrived. False: the message is not a credit, or there was no session with
 * credits. s: NULL if the stream is not used. */
bool assoc_credit_rx(struct assoc *a, struct assoc_stream *s, const struct assoc_msg *m);

/* A segment was delivered in order. */
void assoc_credit_delivered(struct assoc *a, struct assoc_stream *s, const struct ssn_rec *c);

/* Makes the next credit. False if none has to be sent. */
bool assoc_credit_make(const struct assoc_stream *s, struct assoc_seg *ret);

/* ---- assoc_rnr.c ---- */

/* A credit of the peer arrived, which was not too late. */
void assoc_rnr_heard(struct assoc *a, struct assoc_stream *s, const struct wire_credit *c);

/* The endpoint is about to be unbound. */
void assoc_rnr_drop(struct assoc_stream *s);

/* A stream whose peer had no receive for too long: its endpoint has failed, assoc_failed() is to be
 * called. NULL: there is none. */
struct assoc_stream *assoc_rnr_give_up(struct assoc *a);

/* The next such deadline, or UINT64_MAX. */
uint64_t assoc_rnr_expiry(const struct assoc *a);

/* ---- assoc_refusal.c ---- */

/* Bytes of memory, zeroed, for assoc.refusals. */
size_t assoc_refusals_size(const struct assoc_cfg *cfg);

/* Refuses an Initiate on a stream without memory. False: it is no such message, or the peer may not
 * begin a session on this stream. */
bool assoc_refusal_add(struct assoc *a, const struct assoc_msg *m);

/* True if it is the turn of the refusals, and not a stream. */
bool assoc_refusal_is(const struct assoc *a, const struct assoc_stream *s);

/* The next stream to be refused; false: there is none. */
bool assoc_refusal_next(const struct assoc *a, uint16_t *ret_sid);

/* The transport accepted it. */
void assoc_refusal_sent(struct assoc *a, uint16_t sid);

/* No message is sent any more. */
void assoc_refusals_drop(struct assoc *a);

/* ---- assoc_rx.c ---- */

/* The endpoint is about to be unbound: its kept messages become records in the store. */
void assoc_rx_release(struct assoc *a, struct assoc_stream *s);

/* Delivers stored messages that are in order now. */
void assoc_rx_stored(struct assoc *a, struct assoc_stream *s);

/* ---- assoc_sched.c ---- */

/* The stream may have something to send. A stream that is ready already keeps its place. */
void assoc_ready(struct assoc *a, struct assoc_stream *s);

/* The stream has no message to send. */
void assoc_not_ready(struct assoc *a, struct assoc_stream *s);

/* The stream waits on this list, assoc.waiting or assoc.later, until assoc_unpark_all(). */
void assoc_park(struct assoc *a, struct assoc_stream *s, struct list *where);

/* All streams of the list may have something to send again. */
void assoc_unpark_all(struct assoc *a, const struct list *parked);

/* The transport accepted the message of the stream. True if the turn of its share is over. */
bool assoc_charge(struct assoc *a, struct assoc_stream *s, uint32_t len);

/* Restarts the time limit of an ending session, because there was progress. */
void assoc_restart_clock(struct assoc *a, struct assoc_stream *s);

/* ---- assoc_share.c ---- */

void assoc_shares_init(struct assoc *a);

/* An association ends: gives all blocks back. No stream is in a share. */
void assoc_shares_clear(struct assoc *a);

/* An endpoint is bound to the stream, or leaves it. */
void assoc_share_join(struct assoc *a, struct assoc_stream *s);
void assoc_share_part(struct assoc *a, struct assoc_stream *s);

#endif
