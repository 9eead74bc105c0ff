/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control of one path behind a table: RFC 9260 section 7.2 and CUBIC (RFC 9438), both
 * with HyStart++ (RFC 9406) at the end of slow start. Knows numbers only: bytes that were
 * acknowledged or lost, round-trip times, the time. Sizes count DATA chunks with header and
 * padding.
 *
 * Where RFC 9260's formulas would raise the window because it is below 4 * PMDCS (loss, idle time),
 * the window keeps its size.
 *
 * RFC 9260 judges by SACKs: the window is in full use, or is not, when one arrives; and a window
 * that rested is halved each RTO because the packets of a large one would leave at once. On a paced
 * path they do not, and the window is reached for a moment of a round trip only. So CUBIC does
 * there as TCP: it judges by round trips, credits bytes of gap blocks when the cumulative
 * TSN advances, and validates its window as RFC 7661 has it. After 5 minutes without use it is
 * halved, and after a loss it is a part of the bytes in use. Its fast recovery is RFC 9937's
 * everywhere.
 */
#ifndef SCTP_CC_H
#define SCTP_CC_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/path/pipe_ack.h"
#include "sctp/path/prr.h"
#include "sctp/sctp.h"
#include "util/minmax.h"

struct sctp_cc_ops;
struct sctp_bbr;

struct sctp_cc_cubic {
	uint64_t epoch_us; /* start of the epoch, without idle time; 0 while no epoch runs */
	uint64_t seen_us;  /* last acknowledgement of the epoch */
	uint64_t w_est_q;  /* window of a Reno flow, in 1/4096 bytes */
	uint32_t w_max;    /* window before the last loss, 0 = unknown */
	uint32_t prior;    /* the same without fast convergence */
	uint32_t origin, k_us;
	uint32_t rest; /* of the growth: in 1/cwnd bytes */
};

struct sctp_cc_hystart {
	uint32_t round_end; /* TSN whose acknowledgement ends the round */
	uint32_t last_min_us, min_us, css_baseline_us;
	unsigned samples, css_rounds;
	bool in_css, round_open;
};

/* Use of the window in the last round trip. */
struct sctp_cc_use {
	uint32_t end;    /* the TSN that ends the round trip */
	uint32_t flight; /* most bytes in flight */
	bool full, open; /* full: it was reached */
};

struct sctp_cc {
	const struct sctp_cc_ops *ops;
	uint32_t cwnd, ssthresh;
	uint32_t partial;    /* partial_bytes_acked */
	uint32_t pmdcs;      /* largest chunk of a packet: the unit of the RFC's rules */
	uint32_t max_cwnd;   /* no window grows beyond it: twice the send buffer */
	uint32_t burst_from; /* of sctp_cc_burst() */
	unsigned burst;      /* packets; 0: no limit */
	bool v6;
	bool paced;      /* as the last SACK said */
	bool fresh;      /* cwnd is still the initial one */
	bool idle;       /* ssthresh was set by sctp_cc_idle() */
	bool one_packet; /* after T3-rtx: a single packet may be in flight */
	/* To undo a reduction that turns out to be needless; cwnd 0: there is none. */
	struct {
		uint32_t cwnd, ssthresh;
		struct sctp_cc_cubic cubic;
	} undo;
	struct sctp_cc_hystart hystart;
	struct sctp_cc_cubic cubic;
	struct sctp_cc_use use;
	struct sctp_pipe_ack pipe_ack;
	struct sctp_prr prr;
	uint32_t gap_acked; /* bytes that gap blocks acknowledged since the cumulative TSN stands */
	uint64_t validated_us; /* the window was in use then (RFC 7661) */
	struct sctp_bbr *bbr;  /* cc_bbr.h; NULL with other algorithms */
};

/* pmdcs: 1 to 65,535 bytes. v6: initial windows differ (7.2.1). max_cwnd: at most 2^31 is used. */
void sctp_cc_init(struct sctp_cc *c, enum sctp_cc_algo algo, uint32_t pmdcs, bool v6,
		  uint32_t max_cwnd);

/* The path MTU changed: the rules use the new one from here on. The initial window is computed
 * again while it has neither grown nor shrunk; cwnd is at least one packet. */
void sctp_cc_set_pmdcs(struct sctp_cc *c, uint32_t pmdcs);

struct sctp_cc_ack {
	uint32_t bytes;    /* newly acknowledged on this path, by the cumulative TSN or by gap
			      blocks. Reports of duplicates are not counted: lengths of chunks
			      that are acknowledged are not known any more */
	uint32_t flight;   /* outstanding on this path before the SACK */
	bool cum_advanced; /* the Cumulative TSN Ack advanced */
	bool recovery;     /* fast recovery: no growth */
	bool paced;        /* the pacer of the path spreads its packets */
	bool limited;      /* the window was in full use when this path was last served: data was
			      left that sctp_cc_room() did not admit although no burst limit and
			      no rwnd held it back. Needed beside flight because several SACKs may
			      arrive before the sender has a turn */
	bool all_acked;    /* the path has no outstanding chunks any more */
	uint32_t rtt_us;   /* round trip of the newest chunk that this SACK newly acknowledges and
			      that was sent once, 0 = none. HyStart++ wants one with each SACK, not
			      one per round trip as rto.h */
	uint32_t srtt_us;
	uint32_t cum, next_tsn; /* Cumulative TSN Ack, and the next TSN to be sent: rounds of
				   HyStart++ */
};
/* A SACK acknowledged chunks of this path. Call it before sctp_cc_lost() for the same SACK. */
void sctp_cc_acked(struct sctp_cc *c, const struct sctp_cc_ack *a, uint64_t now_us);

/* Loss was detected: one call per recovery (7.2.4 (2), RFC 9438 4.6). flight: bytes outstanding,
 * with those that are lost. */
void sctp_cc_lost(struct sctp_cc *c, uint32_t flight);

/* A SACK was processed while fast recovery runs, perhaps the one that has begun it (RFC 9937). */
void sctp_cc_recover(struct sctp_cc *c, const struct sctp_prr_ack *a);

/* Fast recovery is over, or T3-rtx's time: all that was outstanding then is acknowledged. */
static inline void sctp_cc_recovered(struct sctp_cc *c)
{
	sctp_prr_end(&c->prr);
}

/* Chunks left, new ones or lost ones: bytes of a packet. */
static inline void sctp_cc_sent(struct sctp_cc *c, uint32_t bytes)
{
	sctp_prr_sent(&c->prr, bytes);
}

/* T3-rtx expired (7.2.3): one packet may be in flight until something is acknowledged. */
void sctp_cc_timed_out(struct sctp_cc *c, uint32_t flight);

/* The last reduction was needless: every chunk that was thought lost had arrived. Restores the
 * state before it; several T3-rtx expiries without an acknowledgement between them count as one
 * reduction. A second call has no effect. */
void sctp_cc_undo(struct sctp_cc *c);

/* The path was idle for idle_us, the time since the last transmission or since the last call with
 * idle_us >= rto_us: cwnd is halved once per RTO down to 4 * PMDCS (7.2.1), and never raised. Call
 * it before sending resumes, or every RTO. Before the first halving ssthresh is set to cwnd; CUBIC
 * keeps a higher one, because a slow start that did not end has not found the capacity of the
 * path. On a paced path CUBIC keeps the window for 5 minutes, then halves it each 5 minutes. */
void sctp_cc_idle(struct sctp_cc *c, uint64_t idle_us, uint32_t rto_us, uint64_t now_us);

/* Max.Burst (6.1 rule D): until the next call at most this number of packets, of the size that
 * packets then have, may leave beyond the present flight. Call it after each SACK and when sending
 * begins with an empty flight. Without a call bursts have no limit. */
void sctp_cc_burst(struct sctp_cc *c, uint32_t flight, unsigned packets);

/* Bytes per second at which the path may send; 0: the round-trip time is not known yet. */
uint64_t sctp_cc_pacing_rate(const struct sctp_cc *c, uint32_t srtt_us);

/* Bytes that may be sent at once now. If it is not 0, the last packet may exceed it by up to
 * pmdcs - 1 bytes (6.1 rule B). Ask again after each packet. */
static inline uint32_t sctp_cc_room(const struct sctp_cc *c, uint32_t flight)
{
	uint64_t end = c->burst_from + (uint64_t)c->burst * c->pmdcs;
	uint64_t window =
		c->prr.runs ? (uint64_t)flight + sctp_prr_room(&c->prr, flight, c->cwnd, c->pmdcs)
			    : c->cwnd;

	if (c->one_packet && flight)
		return 0;
	if (c->burst == 0 || end > window)
		end = window;
	return flight < end ? (uint32_t)(end - flight) : 0;
}

#endif
