/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The session on one DDP stream, RFC 5043 section 6: which control messages and segments
 * are legal when, from Initiate to Terminate. It decides only; assoc.c does what it orders.
 *
 * active:   IDLE -> REQUESTING -> OPEN
 * passive:  IDLE -> PENDING -> OPEN, or -> LAST_CHUNK where the answer is no
 * the end:  OPEN -> ENDING -> LOCAL_ENDED -> QUARANTINE   we end it first
 *           OPEN -> PEER_ENDED -> QUARANTINE              the peer does
 *           OPEN -> HALF_CLOSED -> PEER_ENDED -> ...      the same, and the ULP has more to say
 *           QUARANTINE -> IDLE when our last chunk is known to have arrived (6.6)
 */
#ifndef PROTO_SESSION_H
#define PROTO_SESSION_H

#include <stdint.h>

enum session_state {
	SESSION_IDLE,       /* no session; the stream may begin one */
	SESSION_REQUESTING, /* our Initiate is unanswered */
	SESSION_CANCELLED,  /* the same, but nobody waits for the answer: there is no cancel message
			     */
	SESSION_PENDING,    /* the peer's Initiate waits for the ULP's decision */
	SESSION_OPEN,       /* accepted */
	SESSION_ENDING,     /* our Terminate is still to be sent, the peer's has not come */
	SESSION_LOCAL_ENDED, /* our Terminate is sent, the peer's has not come */
	SESSION_HALF_CLOSED, /* the peer's Terminate has come; the ULP has not ordered ours (raw) */
	SESSION_PEER_ENDED,  /* the peer's Terminate has come, ours is still to be sent */
	SESSION_LAST_CHUNK,  /* over, but for a Reject or Terminate of ours still to be sent */
	SESSION_QUARANTINE,  /* over; our last chunk may be outstanding */
	SESSION_DEAD,        /* over, but the peer never said so: the stream is not used again */
	SESSION_STATE_COUNT,
};

enum session_event {
	SESSION_CONNECT, /* local calls */
	SESSION_ACCEPT,
	SESSION_REJECT,
	SESSION_REFUSE,
	SESSION_CLOSE,
	SESSION_RX_INITIATE, /* received, in order of DDP-SSN */
	SESSION_RX_UNWANTED, /* an Initiate beyond the limit, malformed, or of a kind not spoken */
	SESSION_RX_ACCEPT,
	SESSION_RX_REJECT,
	SESSION_RX_TERMINATE,
	SESSION_RX_HALF_CLOSE, /* a Terminate, where the ULP decides when to answer */
	SESSION_RX_SEGMENT,
	SESSION_RX_VIOLATION, /* a chunk that is in no legal pattern */
	SESSION_LAST_SENT,    /* the transport took our Terminate or Reject */
	SESSION_ACKED,        /* all our chunks are known to have arrived */
	SESSION_TIMEOUT, /* the ULP did not decide or close, or the peer did not end, in time */
	SESSION_LOST,    /* the association is gone */
	SESSION_EVENT_COUNT,
};

/* What the caller has to do, as a set. */
enum {
	SESSION_DO_BAD = 1, /* did not fit: a local call fails, a chunk is counted and dropped */
	SESSION_DO_INITIATE = 2,      /* send it */
	SESSION_DO_ACCEPT = 4,        /* send it, open the endpoint */
	SESSION_DO_REJECT = 8,        /* send it */
	SESSION_DO_TERMINATE = 16,    /* send it, behind all that is to go before it */
	SESSION_DO_REQUEST = 32,      /* report: decide about an Initiate */
	SESSION_DO_WITHDRAW = 64,     /* report: nothing to decide any more */
	SESSION_DO_OPEN = 128,        /* report: accepted; open the endpoint */
	SESSION_DO_REJECTED = 256,    /* report, let go of the endpoint */
	SESSION_DO_REFUSED = 512,     /* report, let go of the endpoint */
	SESSION_DO_DELIVER = 1024,    /* the segment is the endpoint's */
	SESSION_DO_STOP = 2048,       /* the endpoint begins no message any more */
	SESSION_DO_FAIL = 4096,       /* the endpoint neither sends nor receives any more */
	SESSION_DO_END = 8192,        /* complete everything, report, let go of the endpoint */
	SESSION_DO_TELL_HALF = 16384, /* report: the peer has ended its half */
};

/* Told of every change of state. fn may be NULL. */
struct session_trace {
	void (*fn)(void *user, uint16_t sid, const char *from, const char *to, const char *event);
	void *user;
};

struct session {
	enum session_state state;
	uint16_t sid;
	const struct session_trace *trace;
};

/* Moves the session on. Returns what is to be done, a set of SESSION_DO_ values. */
unsigned session_event(struct session *s, enum session_event ev);

/* "idle", "local-ended" and so on. */
const char *session_state_str(enum session_state state);

#endif
