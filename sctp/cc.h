/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control of one path behind a table: RFC 9260 section 7.2 and CUBIC (RFC 9438), both
 * with HyStart++ (RFC 9406) at the end of slow start. Knows numbers only: bytes that were
 * acknowledged or lost, round-trip times, the time. Sizes count DATA chunks with header and
 * padding.
 */
#ifndef SCTP_CC_H
#define SCTP_CC_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/sctp.h"

struct sctp_cc_ops;

struct sctp_cc {
	const struct sctp_cc_ops *ops;
	uint32_t cwnd, ssthresh;
	uint32_t partial;  /* partial_bytes_acked */
	uint32_t pmdcs;    /* largest chunk of a packet: the unit of the RFC's rules */
	uint32_t max_cwnd; /* no window grows beyond it: twice the send buffer */
	/* To undo a reduction that turns out to be needless. */
	uint32_t undo_cwnd, undo_ssthresh;
	/* HyStart++ */
	uint32_t round_end; /* TSN whose acknowledgement ends the round */
	uint32_t last_round_min_us, round_min_us, css_baseline_us;
	unsigned round_samples, css_rounds;
	bool in_css, round_open;
	/* CUBIC; zero while no epoch runs */
	uint64_t epoch_us;
	uint32_t w_max, origin, k_us;
	uint64_t w_est_q; /* in 1/256 bytes */
	uint32_t grow;    /* bytes acknowledged that did not grow the window yet */
};

/* pmdcs: bytes. v6: initial windows differ (7.2.1). */
void sctp_cc_init(struct sctp_cc *c, enum sctp_cc_algo algo, uint32_t pmdcs, bool v6,
		  uint32_t max_cwnd);

/* The path MTU changed (7.2.1..7.2.2 use the new one from here on; cwnd is at least one packet). */
void sctp_cc_set_pmdcs(struct sctp_cc *c, uint32_t pmdcs);

struct sctp_cc_ack {
	uint32_t bytes;    /* newly acknowledged on this path */
	uint32_t flight;   /* outstanding on this path before the SACK */
	bool cum_advanced; /* the Cumulative TSN Ack advanced */
	bool recovery;     /* fast recovery: no growth */
	bool limited;      /* the window was in full use: cwnd - flight was below a packet, or data
			      waited for it */
	bool all_acked;    /* nothing is outstanding on this path any more */
	uint32_t rtt_us;   /* sample of this SACK, 0 = none */
	uint32_t srtt_us;
	uint32_t cum,
		next_tsn; /* Cumulative TSN Ack, and the next TSN to be sent: rounds of HyStart++ */
};
void sctp_cc_acked(struct sctp_cc *c, const struct sctp_cc_ack *a, uint64_t now_us);

/* Loss was detected: one call per recovery (7.2.4 (2), RFC 9438 4.6). */
void sctp_cc_lost(struct sctp_cc *c, uint32_t flight, uint64_t now_us);

/* T3-rtx expired (7.2.3). */
void sctp_cc_timed_out(struct sctp_cc *c, uint32_t flight, uint64_t now_us);

/* The last reduction was needless: every chunk that was thought lost had arrived. */
void sctp_cc_undo(struct sctp_cc *c);

/* Nothing was sent on the path for idle_us (7.2.1: cwnd decays once per RTO; ssthresh is set first;
 * never raises cwnd). */
void sctp_cc_idle(struct sctp_cc *c, uint64_t idle_us, uint32_t rto_us);

/* Bytes that may be sent at once now (7.2.1 rule B, RFC 9260 6.1: overshoot up to pmdcs - 1). */
static inline uint32_t sctp_cc_room(const struct sctp_cc *c, uint32_t flight)
{
	return flight < c->cwnd ? c->cwnd - flight : 0;
}

#endif
