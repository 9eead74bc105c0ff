/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The session on one DDP stream, RFC 5043 section 6: which control messages and segments are legal
 * when, from Initiate to Terminate. A pure state machine: assoc.c carries out its actions.
 *
 * active:   IDLE -> REQUESTING -> OPEN
 * passive:  IDLE -> PENDING -> OPEN, or -> LAST_CHUNK if refused
 * the end:  OPEN -> ENDING -> LOCAL_ENDED -> QUARANTINE   we close first
 *           OPEN -> PEER_ENDED -> QUARANTINE              the peer closes first
 *           OPEN -> HALF_CLOSED -> PEER_ENDED -> ...      the same, and the ULP sends more
 *           QUARANTINE -> IDLE when our last chunk is acknowledged (6.6)
 */
#ifndef PROTO_SESSION_H
#define PROTO_SESSION_H

#include <stdint.h>

enum session_state {
	SESSION_IDLE,        /* no session; a new one may begin */
	SESSION_REQUESTING,  /* our Initiate is unanswered */
	SESSION_CANCELED,    /* the same, but closed locally; the protocol has no cancel message
			      */
	SESSION_PENDING,     /* the peer's Initiate waits for a decision of the ULP */
	SESSION_OPEN,        /* accepted */
	SESSION_ENDING,      /* our Terminate is still to be sent, the peer's has not arrived */
	SESSION_LOCAL_ENDED, /* our Terminate is sent, the peer's has not arrived */
	SESSION_HALF_CLOSED, /* the peer's Terminate has arrived; the ULP has not closed yet (raw)
			      */
	SESSION_PEER_ENDED,  /* the peer's Terminate has arrived, ours is still to be sent */
	SESSION_LAST_CHUNK,  /* over, but our Reject or Terminate is still to be sent */
	SESSION_QUARANTINE,  /* over; our last chunk may be unacknowledged */
	SESSION_DEAD, /* over without a Terminate of the peer: the stream is not used again */
	SESSION_STATE_COUNT,
};

enum session_event {
	SESSION_CONNECT, /* local calls */
	SESSION_ACCEPT,
	SESSION_REJECT,
	SESSION_REFUSE,
	SESSION_CLOSE,
	SESSION_RX_INITIATE, /* received, in order of DDP-SSN */
	SESSION_RX_UNWANTED, /* an Initiate beyond the limit, malformed, or of an unsupported kind
			      */
	SESSION_RX_ACCEPT,
	SESSION_RX_REJECT,
	SESSION_RX_TERMINATE,
	SESSION_RX_HALF_CLOSE, /* a Terminate that the ULP answers when it closes */
	SESSION_RX_SEGMENT,
	SESSION_RX_VIOLATION, /* a chunk that fits no legal sequence */
	SESSION_LAST_SENT,    /* the transport accepted our Terminate or Reject */
	SESSION_ACKED,        /* all our chunks are acknowledged */
	SESSION_TIMEOUT, /* the ULP did not decide or close, or the peer did not end, in time */
	SESSION_LOST,    /* the association was lost */
	SESSION_EVENT_COUNT,
};

/* Actions for the caller, as a set. */
enum {
	SESSION_DO_BAD = 1, /* illegal event: a local call fails, a chunk is counted and dropped */
	SESSION_DO_INITIATE = 2,        /* send it */
	SESSION_DO_ACCEPT = 4,          /* send it, open the endpoint */
	SESSION_DO_REJECT = 8,          /* send it */
	SESSION_DO_TERMINATE = 16,      /* send it, after everything that precedes it */
	SESSION_DO_REQUEST = 32,        /* report: decide about an Initiate */
	SESSION_DO_WITHDRAW = 64,       /* report: the request was withdrawn */
	SESSION_DO_OPEN = 128,          /* report: accepted; open the endpoint */
	SESSION_DO_REJECTED = 256,      /* report, unbind the endpoint */
	SESSION_DO_REFUSED = 512,       /* report, unbind the endpoint */
	SESSION_DO_DELIVER = 1024,      /* deliver the segment to the endpoint */
	SESSION_DO_STOP = 2048,         /* the endpoint begins no further message */
	SESSION_DO_FAIL = 4096,         /* the endpoint stops sending and receiving */
	SESSION_DO_END = 8192,          /* complete everything, report, unbind the endpoint */
	SESSION_DO_HALF_CLOSED = 16384, /* report: the peer has sent its last message */
};

/* Called for every change of state. fn may be NULL. */
struct session_trace {
	void (*fn)(void *user, uint16_t sid, const char *from, const char *to, const char *event);
	void *user;
};

struct session {
	enum session_state state;
	uint16_t sid;
	const struct session_trace *trace;
};

/* Handles an event. Returns the actions for the caller, a set of SESSION_DO_ values. */
unsigned session_event(struct session *s, enum session_event ev);

/* "idle", "local-ended" and so on; "?" for an unknown state. */
const char *session_state_str(enum session_state state);

#endif
