/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One SCTP association as DDP sees it (RFC 5043): its streams, the session on each stream, the
 * choice of the next message to send, and the examination of arriving messages. The datapath needs
 * no other header of proto/. No I/O and no clock: messages are pushed in, segments are pulled out,
 * time is an argument.
 *
 *   down:  while (assoc_tx_next(a, mulpdu, &seg) && transport takes seg) assoc_tx_accepted(a);
 *   up:    if (assoc_rx(a, &msg, &place) == ASSOC_RX_PLACE) move the bytes;  assoc_rx_placed(a);
 *          then the same for every message that assoc_rx_early() hands back
 *          (after assoc_accept(), assoc_rx_wake() and assoc_tick() as well);
 *          then assoc_event() until there is no event.
 */
#ifndef PROTO_ASSOC_H
#define PROTO_ASSOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/ddp/perr.h"
#include "proto/rdmap/rdmap.h"
#include "proto/session/early_queue.h"
#include "proto/ddp/wire.h"
#include "util/span.h"

struct assoc;
struct assoc_share;
struct drr;

struct assoc_cfg {
	uint16_t streams;     /* stream ids 0 .. streams - 1 are usable */
	bool even;            /* our sessions get even stream ids, those of the peer odd ones */
	uint16_t pending_max; /* Initiates that may wait for a decision, RFC 5043 6.4 */
	uint32_t records_max; /* messages that arrived out of order, sum of all streams */
	uint32_t early_max;   /* bytes of messages that arrive before their session's Accept or
				 ready-to-receive message ... */
	struct early_memory early_memory; /* ... and who has them */
	uint32_t answer_ms;               /* a pending Initiate is refused after this time */
	uint32_t close_ms;   /* how long to wait for the peer's Terminate after ours; after an
				error a raw endpoint has half of it for one more message */
	bool acks;           /* assoc_tx_progress() is called; else only assoc_tx_acked() */
	bool plain_only;     /* without RFC 6581: its function codes are unknown */
	struct blocks *pool; /* of memory in flight; assoc_blocks() of it are reserved */
	struct drr *others;  /* owner of messages of no endpoint, in the tree of rdmap_cfg.owner;
				NULL: no endpoint has an owner, and all streams take turns */
	void *user;          /* for assoc_share_user() */
};

/* Bytes of memory for an association. Most of them are never written. */
size_t assoc_size(const struct assoc_cfg *cfg);

/* Blocks of the pool that the caller reserves for it. It reserves more of them when it needs them,
 * for streams and for messages out of order; without them it has fewer sessions at once. */
uint32_t assoc_blocks(void);

/* Makes an association in zeroed memory of that size. The caller keeps the memory and frees it,
 * after assoc_clear(). */
struct assoc *assoc_init(void *mem, const struct assoc_cfg *cfg);

/* Gives all blocks back, before its memory is freed. NULL is fine. */
void assoc_clear(struct assoc *a);

/* ---- sessions ---- */

enum {
	ASSOC_E_OK,
	ASSOC_E_NO_STREAM, /* all our stream ids are in use or not yet reusable */
	ASSOC_E_STATE,     /* the stream is in the wrong state for this call */
	ASSOC_E_LEN,       /* too much private data */
};

/* Parameters of an Initiate, an Accept or a Reject. Copied during the call. */
struct assoc_params {
	const void *priv; /* private data */
	/* At most WIRE_PRIVATE_MAX, less WIRE_ENH_LEN in an enhanced message; less WIRE_OFFER_LEN
	 * in an Initiate or Accept of an endpoint with RDMAP_CREDITS. */
	size_t len;
	/*
	 * Initiate: NULL for a plain one, else the parameters of an enhanced one. ird and ord are
	 * at most those of the endpoint, or WIRE_ENH_UNCHANGED.
	 * Accept, Reject: the ird and ord that the ULP wants, used if the request was enhanced. In
	 * an Accept they are at most those of the endpoint. WIRE_ENH_UNCHANGED, or enh NULL: the
	 * ULP does not care.
	 */
	const struct wire_enh *enh;
};

/*
 * Starts a session for the endpoint on a free stream, with an Initiate. Returns ASSOC_E_OK
 * with *ret_sid, or ASSOC_E_NO_STREAM. The endpoint is bound until ASSOC_EV_CLOSED or
 * assoc_unbind().
 */
int assoc_connect(struct assoc *a, struct rdmap *ep, const struct assoc_params *params,
		  uint16_t *ret_sid);

/* True if no stream is free for assoc_connect(). */
bool assoc_full(struct assoc *a);

/*
 * Answers a pending Initiate with an Accept of the same kind and binds the endpoint. Returns
 * ASSOC_E_OK, ASSOC_E_STATE, or ASSOC_E_LEN if the private data is too long because the request was
 * enhanced or offered credits.
 */
int assoc_accept(struct assoc *a, uint16_t sid, struct rdmap *ep,
		 const struct assoc_params *params);

/* Answers a pending Initiate with a Reject, only if the ULP decides so (RFC 5043 6.4). Returns as
 * assoc_accept(). */
int assoc_reject(struct assoc *a, uint16_t sid, const struct assoc_params *params);

/* Answers a pending Initiate with a Terminate, for every refusal that the ULP did not decide.
 * Returns ASSOC_E_OK or ASSOC_E_STATE. */
int assoc_refuse(struct assoc *a, uint16_t sid);

/*
 * Ends the endpoint's session in an orderly way: finishes the message being sent, takes no further
 * request, flushes the rest and sends a Terminate. ASSOC_EV_CLOSED follows. No effect if the
 * endpoint has no session.
 */
void assoc_close(struct assoc *a, struct rdmap *ep);

/*
 * Ends it against a peer that may have no more: from now on none of its messages is placed,
 * delivered or answered, whatever the peer does, and all requests are flushed. The rest is as with
 * assoc_close().
 */
void assoc_abort(struct assoc *a, struct rdmap *ep);

/*
 * Closes after the next n requests of the endpoint's owner: these, and those that were taken, are
 * sent, answered and acknowledged, as each of them requires, before the Terminate. Then, or after
 * half of assoc_cfg.close_ms, the session ends as by assoc_close(), which may be called earlier. An
 * error in between is the reason of ASSOC_EV_CLOSED.
 */
void assoc_close_after(struct assoc *a, struct rdmap *ep, uint32_t n);

/*
 * Unbinds the endpoint at once, without completions and without an event. Its memory may be freed
 * on return. The association itself ends the session with a Terminate.
 */
void assoc_unbind(struct assoc *a, struct rdmap *ep);

/*
 * The transport lost the association: drops every pending request and ends every session with
 * ASSOC_EV_CLOSED and PERR_LLP_LOST. No message is sent afterward.
 */
void assoc_lost(struct assoc *a);

/* Number of sessions that are not over, including pending requests. */
uint16_t assoc_sessions(const struct assoc *a);
/* Of these, those that the peer began; and its requests that are pending. */
uint16_t assoc_peer_sessions(const struct assoc *a);
uint16_t assoc_pending(const struct assoc *a);

/* True if there is no session, no message to send, and no stream that waits for an acknowledgment.
 */
bool assoc_idle(const struct assoc *a);

/* ---- events ---- */

enum assoc_ev_type {
	ASSOC_EV_REQUEST,   /* an Initiate arrived: accept, reject or refuse it. ep is NULL */
	ASSOC_EV_WITHDRAWN, /* a pending request was withdrawn: timed out and refused, canceled by
			       the peer, or lost */
	ASSOC_EV_ACCEPTED,  /* the peer accepted our Initiate: the session is established */
	ASSOC_EV_REJECTED,  /* the peer's ULP rejected it. The endpoint is unbound */
	ASSOC_EV_REFUSED,   /* the peer answered with a Terminate. The endpoint is unbound */
	ASSOC_EV_CLOSED, /* the session is over, all requests are completed, the endpoint is unbound
			  */
	ASSOC_EV_ERROR,  /* raw: an error, see `at` and `term`. Reception has stopped and all
			    requests are completed. Send at most one more message, then close */
	ASSOC_EV_HALF_CLOSED, /* raw: the peer has sent its last message; close when all is sent */
};

/* Why a session ended. */
enum assoc_reason {
	ASSOC_REASON_LOCAL,     /* assoc_close() */
	ASSOC_REASON_PEER,      /* the peer sent a Terminate in an orderly way */
	ASSOC_REASON_ERROR,     /* we found an error, see `at`; the peer was informed */
	ASSOC_REASON_REMOTE,    /* the peer found an error and sent an RDMAP Terminate: `at` */
	ASSOC_REASON_VIOLATION, /* the peer violated the sequences of RFC 5043 6 */
	ASSOC_REASON_LOST,      /* the association was lost */
};

struct assoc_event {
	enum assoc_ev_type type;
	uint16_t sid;
	struct rdmap *ep;
	const uint8_t *priv; /* REQUEST, ACCEPTED, REJECTED: valid until the next assoc_event() */
	uint16_t priv_len;
	bool enhanced;       /* REQUEST, ACCEPTED, REJECTED: the peer sent an enhanced message */
	struct wire_enh enh; /* its parameters */
	enum assoc_reason reason;     /* CLOSED */
	struct perr_at at;            /* ERROR; CLOSED with ERROR or REMOTE */
	const struct wire_term *term; /* the Terminate for it, with the headers that it copies;
					 valid until the next assoc_ call. NULL if there is none */
};

/* Takes the oldest event. False if there is none: then the memory of streams without a session goes
 * back, between messages, not in the middle of one. */
bool assoc_event(struct assoc *a, struct assoc_event *ret);

/* ---- down ---- */

struct assoc_seg {
	uint16_t sid;
	uint16_t head_len;
	uint32_t ppid;
	unsigned nbody;
	uint32_t len;                /* of the whole message, head and body */
	bool urgent;                 /* a session, or a program, waits for its SACK */
	uint8_t head[WIRE_HEAD_MAX]; /* DDP-SSN and headers */
	struct span body[SGL_MAX];   /* payload in place, or private data */
};

/*
 * Makes the next message to send; streams with messages take turns by their bytes (util/drr.h).
 * Only without assoc_cfg.others. mulpdu: the largest DDP
 * segment, not counting the DDP-SSN, WIRE_MULPDU_MIN .. WIRE_MULPDU_MAX. Changes no state of the
 * protocol: if the transport does not accept the segment, the next call makes it again. Returns
 * false if there is no message to send.
 */
bool assoc_tx_next(struct assoc *a, uint32_t mulpdu, struct assoc_seg *ret);

/*
 * With assoc_cfg.others: the streams of one owner are a share of the association. The tree of
 * owners says which share has its turn. A share goes with its last endpoint, but its memory stays
 * valid as long as the association.
 */

/* The same for the streams of the share. */
bool assoc_tx_next_of(struct assoc_share *h, uint32_t mulpdu, struct assoc_seg *ret);

/* The share of a leaf of the tree, drr_next(). */
struct assoc_share *assoc_share_of(const struct drr *leaf);

/* assoc_cfg.user of its association. */
void *assoc_share_user(const struct assoc_share *h);

/* The transport takes no message now: the share has no turns, until those of the association are
 * released. */
void assoc_share_hold(struct assoc_share *h);
void assoc_share_release_all(struct assoc *a);

/*
 * Sets the length of a DDP segment, not counting the DDP-SSN, that fills the packet which the
 * transport prepares; 0: the packet is full. The next segment of a message that has several gets
 * this length. Without this call messages are cut into equal segments.
 */
void assoc_set_room(struct assoc *a, uint32_t room);

/* The transport accepted the segment of the last assoc_tx_next(): its DDP-SSN is used. True if the
 * turn of its share is over. */
bool assoc_tx_accepted(struct assoc *a);

/* The transport reports that the peer has acknowledged everything it accepted so far. Requests that
 * end by that complete at assoc_tx_report(). */
void assoc_tx_acked(struct assoc *a);

/* The transport reports that the peer has acknowledged all but the `unacked` youngest messages. */
void assoc_tx_progress(struct assoc *a, uint32_t unacked);

/* The same, for the windows of streams only (RFC 5043 10): no request completes. To be called once
 * in some thousand messages. A transport that reports only that everything was acknowledged may
 * never do so while bulk data flow. */
void assoc_tx_check(struct assoc *a, uint32_t unacked);
/* True if a stream waits because it has as many unacknowledged messages as it may have: progress
 * shall be reported. */
bool assoc_tx_full(const struct assoc *a);

/* Completes the requests that were acknowledged. To be called when the messages that arrived with
 * the acknowledgements have been examined: a Terminate among them says which of the requests the
 * peer has refused. */
void assoc_tx_report(struct assoc *a);

/* The endpoint's send queue has a new request, or its completion queue has room again: call its
 * take_send again. */
void assoc_tx_wake(struct assoc *a, struct rdmap *ep);

/* ---- up ---- */

struct assoc_msg {
	uint16_t sid;
	uint32_t ppid;
	uint32_t len;        /* of the whole message */
	const uint8_t *head; /* its first bytes: all headers, and all of a control message */
	uint32_t head_len;   /* at most len */
};

struct assoc_place {
	uint32_t skip; /* where in the message the bytes begin */
	uint32_t len;  /* how many: the sum of dst */
	unsigned ndst;
	struct span dst[SGL_MAX]; /* where they go */
};

enum {
	ASSOC_RX_DONE,  /* no bytes to move */
	ASSOC_RX_PLACE, /* move the bytes as *ret says */
};

/*
 * Examines one message: DDP-SSN window, headers, STag or queue, bounds. Returns ASSOC_RX_DONE or
 * ASSOC_RX_PLACE; in both cases assoc_rx_placed() must follow before any other call.
 */
int assoc_rx(struct assoc *a, const struct assoc_msg *msg, struct assoc_place *ret);

/* The bytes are in place: delivers all messages that are now complete and in order. */
void assoc_rx_placed(struct assoc *a);

/*
 * Takes a message that waited for its session's Accept or ready-to-receive message, for a receive
 * or for earlier messages, and can be examined now: pass it to assoc_rx() like a new one. Returns
 * false if there is none.
 */
bool assoc_rx_early(struct assoc *a, struct assoc_msg *ret);

/* The endpoint may have a receive again: call its take_recv again, if a message waits for one. Call
 * assoc_rx_early() afterward. */
void assoc_rx_wake(struct assoc *a, struct rdmap *ep);

/* ---- time ---- */

/* Sets the time in milliseconds, from which new deadlines count. Call it, or assoc_tick(), before
 * the first other call of a millisecond. */
void assoc_set_time(struct assoc *a, uint64_t now_ms);

/* Sets the time and handles expired deadlines. Call assoc_rx_early() afterward. */
void assoc_tick(struct assoc *a, uint64_t now_ms);

/*
 * The time of the next turn in milliseconds, or UINT64_MAX: the next deadline of assoc_tick(), or
 * now if assoc_tx_next() postponed an endpoint with many bad requests in favor of others.
 */
uint64_t assoc_expiry(const struct assoc *a);

/* ---- inspection ---- */

struct assoc_stream_info {
	uint16_t sid;
	const char *state;
	struct rdmap *ep; /* NULL if unbound */
	bool by_peer;     /* the peer began the session */
	uint16_t tx_ssn;  /* next DDP-SSN each way */
	uint16_t rx_ssn;
	uint32_t unacked; /* messages given to the transport since everything was acknowledged */
	uint32_t ahead; /* messages that arrived out of order, and those that wait for a receive */
	uint32_t held;  /* of them, those that are kept whole */
};

/* Reports the first stream at or after *pos that is not idle, and sets *pos to the next one.
 * Returns false if there is none. */
bool assoc_stream_next(const struct assoc *a, uint32_t *pos, struct assoc_stream_info *ret);

struct assoc_counters {
	uint64_t rx_segments, rx_control, rx_ahead, rx_early, rx_dropped, rx_violations;
	uint64_t tx_segments, tx_control, tx_terminates;
	uint64_t rx_held; /* messages that waited for a receive */
	uint64_t tx_credits, rx_credits;
	uint64_t rx_refused; /* Initiates for whose stream there was no memory; rx_dropped has them,
				too */
};

/* The counters, valid as long as the association. They never decrease. */
const struct assoc_counters *assoc_counters(const struct assoc *a);

/* Called for every state change of a stream: for the log and for tests. */
typedef void assoc_trace_fn(void *user, uint16_t sid, const char *from, const char *to,
			    const char *event);

/* Sets the trace function. fn may be NULL. */
void assoc_set_trace(struct assoc *a, assoc_trace_fn *fn, void *user);

#endif
