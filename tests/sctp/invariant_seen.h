/* SPDX-License-Identifier: BSD-2-Clause */
/* What the observer of a stack remembers. Private to tests/sctp/invariant*.c. */
#ifndef TESTS_SCTP_INVARIANT_SEEN_H
#define TESTS_SCTP_INVARIANT_SEEN_H

#include "tests/sctp/invariant.h"

enum { INVARIANT_RING = 65536 }; /* more than SCTP_TX_WINDOW: chunks that are outstanding */
_Static_assert(INVARIANT_RING > (int)SCTP_TX_WINDOW, "no two chunks have one place");

/* A chunk that was sent. */
struct invariant_chunk {
	uint8_t path, count; /* of its last transmission; transmissions */
	bool acked;
	uint32_t wire; /* bytes with header and padding */
};

struct invariant_path {
	/* T3 expired, and nothing that was sent to the address was acknowledged since. asked: it
	 * expired because the peer's window is closed, then any SACK ends it. */
	bool silent, asked;
	unsigned packets;  /* with DATA since then */
	unsigned expiries; /* in a row without an answer */
	bool tail;         /* a tail-loss probe is out: nothing was acknowledged since */
	bool extra; /* a packet may leave beyond the window: RFC 9260 7.2.4 (3), RFC 8985 7.3 */
	bool full;  /* the window held data back when the path was last served */
	/* Use of the window in the present round trip, which ends with a TSN, and the last one. */
	struct invariant_use {
		uint32_t end, most; /* bytes in flight */
		bool full;
	} use[2];
	uint32_t held;      /* bytes acknowledged since the cumulative TSN advanced */
	uint64_t stands;    /* bytes acknowledged while the window, in full use, did not grow, */
	uint64_t stands_us; /* since then */
	uint32_t burst_from;
	uint64_t paced_ns; /* what left has used up the rate until then */
	uint32_t acked;    /* bytes that the present packet newly acknowledges */
	bool acked_once;   /* and one of these chunks was sent once */
	uint64_t credit; /* bytes acknowledged in congestion avoidance, less those that raised cwnd
			  */
	uint64_t data_us;
	uint64_t heartbeat_us, heartbeat_rto; /* when the last one was made, 0: none */
	uint32_t least_rto; /* since all had left that had to; a heartbeat may wait for its turn */
	bool heartbeat_answered;
};

struct invariant_seen {
	const struct sctp_assoc *a;
	uint32_t own_tag, own_tsn; /* others: it began again */
	bool live;
	bool blind; /* something was outstanding when it was seen first: wait until nothing is */
	struct invariant_path path[SCTP_MAX_PATHS];
	struct invariant_chunk *chunk; /* by TSN; NULL: none was sent */
	unsigned expiries;             /* of T3 on any path in a row without an answer */
	bool window_asks;              /* one chunk may test the peer's closed window */
	bool moved; /* it was asked whether it still lives (sctp/assoc/moved.c): heartbeats leave
		       for that as well */
	/* as receiver */
	bool sure;    /* the numbers below are complete: DATA that came before is acknowledged */
	unsigned due; /* packets with DATA since the last SACK */
	bool due_now;
	uint64_t due_us;     /* the first of them came then */
	uint32_t own_window; /* before the call */
	bool resting;        /* before the call: no data arrives, and none waits */

	/* before the call */
	enum sctp_state state;
	unsigned errors, npaths, out, unsacked;
	uint8_t primary;
	bool probe_out;
	uint32_t cum, send_tsn, in_flight, rwnd;
	struct sctp_path before[SCTP_MAX_PATHS];
	bool earliest_out[SCTP_MAX_PATHS]; /* earliest is set */
	uint32_t earliest[SCTP_MAX_PATHS]; /* TSN of those in flight on the path */
};

/* A packet that comes. */
struct invariant_packet {
	struct invariant_seen *to; /* NULL: to nobody that is up */
	unsigned path, sacks;
	uint32_t payload; /* bytes of its DATA */
	bool data, prompt, heartbeat_ack;
	bool dups; /* a SACK reports duplicates */
	bool odd;  /* with chunks after which the others may not be read */
};

struct invariant {
	struct judge j;
	uint64_t ran_us;
	unsigned n;
	struct invariant_seen *seen[JUDGE_ASSOCS];
	bool arriving;
	struct invariant_packet packet;
};

/* A packet that leaves. */
struct invariant_out {
	struct invariant_seen *e;
	const struct sctp_path *p; /* the state after the call */
	struct invariant_path *seen;
	bool data;                         /* the batch has some */
	uint32_t flight, in_flight, first; /* before the packet */
	bool started;                      /* T3, by a chunk of the batch */
	unsigned left;                     /* paths that chunks of it were sent on before: bits */
};

#define holds(v, row, cond)                                                                        \
	((cond) ? (void)0                                                                          \
		: (v)->j.wrong((v)->j.user, __FILE__, __LINE__, "row 9260-" row ": " #cond))

static inline struct invariant_chunk *invariant_chunk(const struct invariant_seen *e, uint32_t tsn)
{
	return &e->chunk[tsn % INVARIANT_RING];
}

/* It was up before the call, and is the same association afterwards. */
bool invariant_lives(const struct invariant *v, const struct invariant_seen *e);

/* ---- invariant_send.c ---- */
void invariant_out_data(struct invariant *v, struct invariant_out *o, const uint8_t *pkt,
			size_t len);
void invariant_out_batch(struct invariant *v, const struct invariant_out *o);

/* ---- invariant_window.c ---- */
void invariant_windows_input(struct invariant *v, struct invariant_seen *e);
void invariant_windows_run(struct invariant *v, struct invariant_seen *e);
void invariant_windows_output(struct invariant *v, const struct invariant_seen *e);

/* ---- invariant_timer.c ---- */
void invariant_timers_input(struct invariant *v, struct invariant_seen *e);
void invariant_timers_run(struct invariant *v, struct invariant_seen *e);
void invariant_timers_output(struct invariant *v, const struct invariant_out *o);
void invariant_timers_always(struct invariant *v, const struct sctp_assoc *a);
/* T3 of the path expired in the last sctp_run(), whose time is `now`; *asks: because the peer's
 * window is closed. */
bool invariant_t3_expired(const struct invariant_seen *e, unsigned i, uint64_t now, bool *asks);

/* ---- invariant_rwnd.c ---- */
void invariant_rwnd_note(struct invariant_seen *e);
void invariant_rwnd_input(struct invariant *v);
void invariant_rwnd_run(struct invariant *v);

/* ---- invariant_sack.c ---- */
void invariant_sack_input(struct invariant *v);
void invariant_sack_output(struct invariant *v, struct invariant_seen *e, const uint8_t *pkt,
			   size_t len);
void invariant_sack_idle(struct invariant *v, const struct invariant_seen *e);

#endif
