/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time-based loss detection of one path, after RFC 8985 (RACK-TLP): a chunk is lost if one that was
 * sent later has arrived and more than a round trip plus a reordering window has passed. Knows
 * numbers only.
 *
 * Use per SACK: sctp_rack_acked() for each chunk that it newly acknowledges; then, for each
 * outstanding chunk with sctp_rack_before(), compare sctp_rack_deadline() with the time: lost, or a
 * timer for the earliest deadline.
 */
#ifndef SCTP_RACK_H
#define SCTP_RACK_H

#include <stdbool.h>
#include <stdint.h>

struct sctp_rack {
	uint64_t sent_us;     /* when the most recently sent chunk that has arrived was sent */
	uint32_t tsn;         /* its TSN: ties are broken by it */
	uint32_t rtt_us;      /* its round trip */
	bool any;             /* the three above are set */
	bool reordering;      /* was seen on this path */
	bool acked;           /* highest is set */
	uint32_t highest;     /* highest TSN that was acknowledged */
	unsigned window_mult; /* in quarters of min_rtt, 1.. */
	unsigned persist;     /* recoveries until the multiplier shrinks back */
};

/* The state before the first acknowledgement. */
void sctp_rack_init(struct sctp_rack *r);

/* A chunk was acknowledged for the first time. Report the chunks of one SACK in the order of their
 * TSNs; another order would look like reordering. sent_us: of its last transmission. repeated: it
 * was sent more than once. min_rtt_us: of the path, UINT32_MAX = unknown. If a repeated chunk is
 * acknowledged sooner than min_rtt, the acknowledgement belongs to an earlier transmission and
 * gives no time; without a min_rtt, no repeated chunk does. */
void sctp_rack_acked(struct sctp_rack *r, uint32_t tsn, uint64_t sent_us, bool repeated,
		     uint32_t min_rtt_us, uint64_t now_us);

/* The timeout was too early: this chunk, sent once, is the last one that has arrived. Repeated
 * chunks that the same SACK acknowledged are ignored. */
void sctp_rack_late(struct sctp_rack *r, uint32_t tsn, uint64_t sent_us, uint64_t now_us);

/* A duplicate report, or an acknowledgement sooner than min_rtt, showed that a retransmission was
 * needless: the window grows by min_rtt/4. The path reorders from now on: the window is never 0
 * again. Once per round trip is the caller's duty. */
void sctp_rack_needless(struct sctp_rack *r);

/* A recovery ended: 16 of them after the last needless retransmission the window is min_rtt/4
 * again. */
void sctp_rack_recovered(struct sctp_rack *r);

/* The reordering window, at most srtt. misses: three miss indications or a recovery that runs:
 * while no reordering was seen the window is then 0. */
uint32_t sctp_rack_window(const struct sctp_rack *r, uint32_t min_rtt_us, uint32_t srtt_us,
			  bool misses);

/* Was a chunk that is outstanding sent before the one that has arrived? If not, no chunk sent
 * later was either. */
static inline bool sctp_rack_before(const struct sctp_rack *r, uint64_t sent_us, uint32_t tsn)
{
	return r->any &&
	       (sent_us < r->sent_us || (sent_us == r->sent_us && (int32_t)(tsn - r->tsn) < 0));
}

/* When such a chunk counts as lost: at or after the returned time. */
static inline uint64_t sctp_rack_deadline(const struct sctp_rack *r, uint64_t sent_us,
					  uint32_t window_us)
{
	return sent_us + r->rtt_us + window_us;
}

/* Time from the last transmission to a tail-loss probe: 2 SRTT, plus the peer's delay of
 * acknowledgements if a single packet is out; at least 5 ms, UINT32_MAX without a measurement. If
 * T3-rtx expires sooner, there is no probe. */
uint32_t sctp_rack_probe_us(uint32_t srtt_us, bool single, uint32_t ack_delay_us);

#endif
