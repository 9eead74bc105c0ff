/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of an association, for assoc*.c alone. assoc.c: calls, time, and what a session
 * orders; assoc_event.c: what it has to tell; assoc_sched.c: which streams may send; assoc_tx.c:
 * what is sent next; assoc_rx.c: what an arriving message is.
 */
#ifndef PROTO_ASSOC_IMPL_H
#define PROTO_ASSOC_IMPL_H

#include "proto/assoc.h"
#include "proto/rdmap_ep.h"
#include "proto/session.h"
#include "proto/ssn.h"
#include "proto/early_queue.h"
#include "util/list.h"

enum {
	/* RFC 5043 10: chunks of one stream without acknowledgement. Two are kept for the ends. */
	ASSOC_UNACKED_MAX = 32767,
	ASSOC_UNACKED_ENDS = 2, /* RDMAP Terminate and session Terminate */
};

/* One stream pair. All zero until it is first used. */
struct assoc_stream {
	struct session session;
	struct rdmap *ep;  /* bound endpoint, or NULL */
	struct list send;  /* in assoc.ready, or else in .waiting or .later */
	struct list timer; /* in assoc.deciding, .grace, .closing or .quarantine, as the state is */
	struct list news;  /* in assoc.news while events is not 0 */
	uint64_t deadline;

	/* way out */
	uint16_t tx_ssn;
	bool spoken;                  /* the transport took a chunk of this session */
	uint8_t first;                /* Initiate, Accept or Reject to be sent, with priv; or 0 */
	bool enhanced;                /* the session's Initiate is an enhanced one (RFC 6581) */
	bool worded;                  /* the peer's message that opens or answers is one, too */
	struct wire_enh mine, theirs; /* what was said in its messages */
	struct enh_terms terms;       /* what an endpoint is bound with */
	bool end;                     /* a Terminate is to be sent */
	bool parked;                  /* send is linked, but not in assoc.ready */
	bool early;         /* the peer does not wait for our Accept: its segments prove nothing */
	bool proven;        /* the peer has our first control message */
	uint32_t first_dry; /* assoc.dry when the transport took it */
	uint32_t unacked;   /* chunks taken by the transport, while dry is unchanged */
	uint32_t unacked_dry;

	/* way in */
	uint16_t rx_ssn; /* next in order */
	uint32_t ahead;  /* records in the store */

	/* to be told */
	uint8_t events; /* set of 1 << enum assoc_ev_type */
	bool reason_known;
	enum assoc_reason reason;
	struct perr_at at;
	struct rdmap *told; /* the endpoint that the events are about */

	uint16_t priv_len; /* private data: to be sent with `first`, or received and to be told */
	uint8_t priv[WIRE_PRIVATE_MAX];
};

/* The message between assoc_rx() and assoc_rx_placed(). */
struct assoc_arrival {
	enum {
		ASSOC_IGNORE,    /* belongs to no session */
		ASSOC_VIOLATION, /* in no legal pattern */
		ASSOC_EARLY,     /* before the Accept */
		ASSOC_AHEAD,     /* before its turn */
		ASSOC_DELIVER,   /* in its turn */
	} verdict;
	struct assoc_stream *stream;
	struct ssn_rec chunk;
};

/* What assoc_tx_next() made, to be committed by assoc_tx_accepted(). */
struct assoc_departure {
	struct assoc_stream *stream; /* NULL: nothing */
	enum {
		ASSOC_FIRST,
		ASSOC_SEGMENT,
		ASSOC_END,
	} what;
};

struct assoc {
	struct assoc_cfg cfg;
	struct assoc_stream *stream; /* cfg.streams of them */
	uint32_t touched;            /* streams at and above this one were never used */
	struct ssn_store *store;
	struct early_queue early;
	struct session_trace trace;
	struct assoc_counters count;
	uint64_t now;
	bool lost;
	uint32_t dry; /* times that everything was acknowledged */

	uint16_t sessions;
	uint16_t deciding_count;
	struct list ready;    /* streams that may have something to send, fair order */
	struct list waiting;  /* streams that may go on when everything is acknowledged */
	struct list later;    /* streams to be asked again after the next assoc_tick() */
	struct list deciding; /* by deadline */
	struct list grace;    /* by deadline: raw, the ULP's last words */
	struct list closing;  /* by deadline */
	struct list quarantine;
	struct list news;

	struct assoc_arrival in;
	struct assoc_departure out;
};

/* The stream, made usable if it was never used. sid is less than cfg.streams. */
struct assoc_stream *assoc_stream_get(struct assoc *a, uint16_t sid);

/* Chunks that the transport took and that are not known to have arrived. */
static inline uint32_t assoc_unacked(const struct assoc *a, const struct assoc_stream *s)
{
	return s->unacked_dry == a->dry ? s->unacked : 0;
}

/* Moves the session on and does what it orders. Returns the same set of SESSION_DO_ values. */
unsigned assoc_session(struct assoc *a, struct assoc_stream *s, enum session_event ev);

/* The first reason for the end of a session is the one that is told. at: may be NULL. */
void assoc_reason(struct assoc_stream *s, enum assoc_reason reason, const struct perr_at *at);

/* The endpoint found an error, or got a Terminate: tells why and ends the session. */
void assoc_failed(struct assoc *a, struct assoc_stream *s, enum assoc_reason reason);

/* An event to be told. */
void assoc_tell(struct assoc *a, struct assoc_stream *s, enum assoc_ev_type type);

/* Events, as a set of 1 << type, that are not to be told. */
void assoc_untell(struct assoc_stream *s, unsigned types);

/* Raw: from now on the ULP has half the time of a close for its last words. In SESSION_OPEN no
 * other clock runs. */
void assoc_grace(struct assoc *a, struct assoc_stream *s);

/* What came before its session could take it may be examined; while the endpoint waits for the
 * peer's first message, that one alone. */
void assoc_release_early(struct assoc *a, struct assoc_stream *s);

/* The stream may have something to send. One that waits for its turn keeps its place. */
void assoc_ready(struct assoc *a, struct assoc_stream *s);

/* The stream waits on this list, assoc.waiting or assoc.later, until assoc_unpark_all(). */
void assoc_park(struct assoc_stream *s, struct list *where);

/* All streams of the list may have something to send again. */
void assoc_unpark_all(struct assoc *a, const struct list *parked);

/* The time limit on an ending session starts anew: there was progress. */
void assoc_progress(struct assoc *a, struct assoc_stream *s);

#endif
