/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One SCTP association as DDP sees it (RFC 5043): its streams, the session on each of
 * them, what to send next, what an arriving message is. The only header of proto/ that
 * the datapath needs. No I/O and no clock: messages are pushed in, segments are
 * pulled out, time is an argument.
 *
 *   down:  while (assoc_tx_next(a, mulpdu, &seg) && transport takes seg) assoc_tx_accepted(a);
 *   up:    if (assoc_rx(a, &msg, &place) == ASSOC_RX_PLACE) move the bytes;  assoc_rx_placed(a);
 *          then the same for every message that assoc_rx_early() hands back
 *          (after assoc_accept() as well);
 *          then assoc_event() until it is empty.
 */
#ifndef PROTO_ASSOC_H
#define PROTO_ASSOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/perr.h"
#include "proto/rdmap.h"
#include "proto/wire.h"
#include "util/span.h"

struct assoc;

struct assoc_cfg {
	uint16_t streams; /* stream ids 0 .. streams - 1 are usable */
	bool opener;      /* we opened the association: sessions of ours get even ids, else odd */
	uint16_t pending_max; /* Initiates that may wait for a decision, RFC 5043 6.4 */
	uint32_t records_max; /* messages ahead of their turn, all streams together */
	uint32_t early_max;   /* bytes of messages that overtook their session's Accept, or its
				 ready-to-receive message */
	uint32_t answer_ms;   /* a pending Initiate is refused after this time */
	uint32_t close_ms;    /* after our Terminate, wait this long for the peer's; half of it is
				 what a raw endpoint has for its last words */
	bool plain_only;      /* RFC 6581 is not spoken: its function codes are unknown ones */
};

/* Bytes of memory for an association. Most of it is never touched. */
size_t assoc_size(const struct assoc_cfg *cfg);

/* Makes an association in zeroed memory of that size; the memory stays the caller's. */
struct assoc *assoc_init(void *mem, const struct assoc_cfg *cfg);

/* ---- sessions ---- */

enum {
	ASSOC_E_OK,
	ASSOC_E_NO_STREAM, /* every stream id of ours is in use or not yet reusable */
	ASSOC_E_STATE,     /* the stream is not in the state that this call needs */
	ASSOC_E_LEN,       /* no room for so much private data */
};

/* What goes with an Initiate, an Accept or a Reject. Copied at the call. */
struct assoc_params {
	const void *priv; /* private data */
	size_t len;       /* at most WIRE_PRIVATE_MAX, less WIRE_ENH_LEN in an enhanced message */
	/*
	 * Initiate: NULL for a plain one; else the words of an enhanced one. ird and ord are at
	 * most what the endpoint was made for, or WIRE_ENH_UNCHANGED.
	 * Accept, Reject: wishes of the ULP, used if the request was an enhanced one: ird and ord,
	 * of an Accept at most what the endpoint was made for; WIRE_ENH_UNCHANGED, or enh NULL: no
	 * wish.
	 */
	const struct wire_enh *enh;
};

/*
 * Starts a session for the endpoint on a free stream: an Initiate. Returns ASSOC_E_OK
 * with *ret_sid, or ASSOC_E_NO_STREAM. The endpoint is bound until ASSOC_EV_CLOSED or
 * assoc_unbind().
 */
int assoc_connect(struct assoc *a, struct rdmap *ep, const struct assoc_params *offer,
		  uint16_t *ret_sid);

/* True if assoc_connect() would find no stream. */
bool assoc_full(struct assoc *a);

/*
 * Answers a pending Initiate with Accept, in kind, and binds the endpoint. ASSOC_E_OK,
 * ASSOC_E_STATE, or ASSOC_E_LEN if the request was an enhanced one and private data too long.
 */
int assoc_accept(struct assoc *a, uint16_t sid, struct rdmap *ep, const struct assoc_params *offer);

/* Answers a pending Initiate with Reject, on the ULP's order only (RFC 5043 6.4). As above. */
int assoc_reject(struct assoc *a, uint16_t sid, const struct assoc_params *offer);

/* Answers a pending Initiate with Terminate: every refusal that is not the ULP's. */
int assoc_refuse(struct assoc *a, uint16_t sid);

/*
 * Ends the endpoint's session in order: the message being sent is finished, nothing more is
 * taken, the rest is flushed, a Terminate goes out. ASSOC_EV_CLOSED follows.
 * Without a session it does nothing.
 */
void assoc_close(struct assoc *a, struct rdmap *ep);

/*
 * Lets go of the endpoint at once, without completions and without an event; its memory may
 * be freed on return. The session is ended with a Terminate behind its back.
 */
void assoc_unbind(struct assoc *a, struct rdmap *ep);

/*
 * The transport lost the association: every pending request is dropped and every session
 * ends with ASSOC_EV_CLOSED and PERR_LLP_LOST. Nothing is sent any more.
 */
void assoc_lost(struct assoc *a);

/* Sessions that are not over, pending requests included. */
uint16_t assoc_sessions(const struct assoc *a);

/* True if everything is at rest: no session, nothing to send, no stream waiting for proof. */
bool assoc_idle(const struct assoc *a);

/* ---- events ---- */

enum assoc_ev_type {
	ASSOC_EV_REQUEST,   /* an Initiate: accept, reject or refuse it. ep is NULL */
	ASSOC_EV_WITHDRAWN, /* a pending request is gone: timed out and refused, peer gave up, lost
			     */
	ASSOC_EV_ACCEPTED,  /* our Initiate was accepted: the session is established */
	ASSOC_EV_REJECTED,  /* ... rejected by the peer's ULP. The endpoint is unbound */
	ASSOC_EV_REFUSED,   /* ... answered with Terminate. The endpoint is unbound */
	ASSOC_EV_CLOSED,    /* the session is over, all that was taken is completed; unbound */
	ASSOC_EV_ERROR, /* raw: an error, `at` and `term`. Nothing is received any more, what was
			   taken is completed; one more message may be sent, then close */
	ASSOC_EV_HALF_CLOSED, /* raw: the peer has ended its half; close when all is sent */
};

/* Why a session ended. */
enum assoc_reason {
	ASSOC_REASON_LOCAL,     /* assoc_close() */
	ASSOC_REASON_PEER,      /* the peer sent a Terminate in order */
	ASSOC_REASON_ERROR,     /* we found an error: `at` tells it, the peer was told */
	ASSOC_REASON_REMOTE,    /* the peer found an error and sent an RDMAP Terminate: `at` */
	ASSOC_REASON_VIOLATION, /* the peer left the legal patterns of RFC 5043 6 */
	ASSOC_REASON_LOST,      /* the association is gone */
};

struct assoc_event {
	enum assoc_ev_type type;
	uint16_t sid;
	struct rdmap *ep;
	const uint8_t *priv; /* REQUEST, ACCEPTED, REJECTED: good until the next assoc_ call */
	uint16_t priv_len;
	bool enhanced;            /* REQUEST, ACCEPTED, REJECTED: an enhanced message, and ... */
	struct wire_enh enh;      /* ... what the peer said in it */
	enum assoc_reason reason; /* CLOSED */
	struct perr_at at;        /* ERROR; CLOSED with ERROR or REMOTE */
	const struct wire_term *term; /* the same: the Terminate with the headers that it copies;
					 good until the next assoc_ call. NULL without any */
};

/* Takes the oldest event. False if there is none. */
bool assoc_event(struct assoc *a, struct assoc_event *ret);

/* ---- down ---- */

struct assoc_seg {
	uint16_t sid;
	uint16_t head_len;
	uint32_t ppid;
	uint32_t len; /* of the whole message, head and body */
	bool urgent;  /* control: sessions wait for its SACK. Segments wait for none */
	unsigned nbody;
	uint8_t head[WIRE_HEAD_MAX]; /* DDP-SSN and headers */
	struct span body[SGL_MAX];   /* payload where it lies, or private data */
};

/*
 * The next message to send, by fair choice among the streams that have one. mulpdu: the
 * largest DDP segment, DDP-SSN not counted, WIRE_MULPDU_MIN .. WIRE_MULPDU_MAX. Changes
 * nothing on the wire's side: a segment that is not accepted is made anew next time.
 * False if there is nothing to send.
 */
bool assoc_tx_next(struct assoc *a, uint32_t mulpdu, struct assoc_seg *ret);

/* The transport took the segment of the last assoc_tx_next(): its DDP-SSN is spent. */
void assoc_tx_accepted(struct assoc *a);

/* The transport reports that everything it ever took has been acknowledged. */
void assoc_tx_acked(struct assoc *a);

/* The endpoint's ring has news, or room to complete: ask its take_send again. */
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
	ASSOC_RX_DONE,  /* nothing to move */
	ASSOC_RX_PLACE, /* move the bytes as *ret tells */
};

/*
 * Examines one message: DDP-SSN window, headers, STag or queue, bounds. Either way
 * assoc_rx_placed() must follow before any other call.
 */
int assoc_rx(struct assoc *a, const struct assoc_msg *msg, struct assoc_place *ret);

/* The bytes are in place: delivers all that is now complete and in order. */
void assoc_rx_placed(struct assoc *a);

/*
 * A message that had to wait for its session's Accept, or ready-to-receive message, and may now be
 * examined: pass it to
 * assoc_rx() like a fresh one. False if there is none.
 */
bool assoc_rx_early(struct assoc *a, struct assoc_msg *ret);

/* ---- time ---- */

/* Sets the time in milliseconds, from which new deadlines count. Call it, or assoc_tick(), before
 * the first other call of a millisecond. */
void assoc_set_time(struct assoc *a, uint64_t now_ms);

/* Sets the time and acts on what is due. */
void assoc_tick(struct assoc *a, uint64_t now_ms);

/*
 * When the next turn is needed, or UINT64_MAX: when assoc_tick() has something to do, or at
 * once if assoc_tx_next() left work undone so that one endpoint's bad requests hold up no other.
 */
uint64_t assoc_expiry(const struct assoc *a);

/* ---- looking at it ---- */

struct assoc_stream_info {
	uint16_t sid;
	const char *state;
	struct rdmap *ep; /* NULL if unbound */
	uint16_t tx_ssn;  /* next DDP-SSN each way */
	uint16_t rx_ssn;
	uint32_t unacked; /* messages given to the transport since it was last dry */
	uint32_t ahead;   /* records of messages ahead of their turn */
};

/* Streams that are not idle: the first one at or after *pos, with *pos set behind it. */
bool assoc_stream_next(const struct assoc *a, uint32_t *pos, struct assoc_stream_info *ret);

struct assoc_counters {
	uint64_t rx_segments, rx_control, rx_ahead, rx_early, rx_dropped, rx_violations;
	uint64_t tx_segments, tx_control, tx_terminates;
};

/* They only grow. */
const struct assoc_counters *assoc_counters(const struct assoc *a);

/* Told of every change of a stream's state: for the log and for tests. */
typedef void assoc_trace_fn(void *user, uint16_t sid, const char *from, const char *to,
			    const char *event);

/* From now on. fn may be NULL. */
void assoc_set_trace(struct assoc *a, assoc_trace_fn *fn, void *user);

#endif
