/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proportional rate reduction (RFC 9937): how many bytes may leave while fast recovery runs, so
 * that the bytes in flight come down to ssthresh in about a round trip, with every acknowledgement,
 * instead of a silence and then a burst. If losses took more than the reduction, the delivered
 * bytes are replaced, and in addition half of them while no more losses appear. The RFC adds a
 * packet per SACK there, which acknowledges two of TCP's as a rule; ours may stand for 64. Knows
 * numbers only.
 */
#ifndef SCTP_PRR_H
#define SCTP_PRR_H

#include <stdbool.h>
#include <stdint.h>

#include "util/minmax.h"

enum { SCTP_PRR_LEAST = 10 };

/* All zero: no recovery runs. The names are the RFC's. */
struct sctp_prr {
	bool runs;
	uint32_t recover_fs; /* bytes in flight when the recovery began */
	uint64_t delivered, out;
	uint32_t sndcnt; /* bytes that may still leave */
	bool above;      /* even though more than ssthresh is in flight */
};

/* A recovery begins; flight: bytes in flight, with those that are lost and, if a SACK shows the
 * loss, without those that it acknowledged. */
void sctp_prr_begin(struct sctp_prr *p, uint32_t flight);

struct sctp_prr_ack {
	uint32_t delivered; /* bytes that the SACK newly acknowledges */
	uint32_t flight;    /* afterwards, without those that are lost */
	bool safe;          /* the cumulative TSN advanced, and no more losses were found */
};
/* A SACK of the recovery, the first one of which may be the one that has begun it. */
void sctp_prr_acked(struct sctp_prr *p, const struct sctp_prr_ack *a, uint32_t ssthresh,
		    uint32_t pmdcs);

static inline void sctp_prr_sent(struct sctp_prr *p, uint32_t bytes)
{
	if (!p->runs)
		return;
	p->out += bytes;
	p->sndcnt -= bytes < p->sndcnt ? bytes : p->sndcnt;
}

static inline void sctp_prr_end(struct sctp_prr *p)
{
	p->runs = false;
}

/* Bytes that may leave. As many packets as in an initial window (RFC 6928) may be in flight if
 * ssthresh admits them: they are no burst, and where every fifth packet is lost, SACKs for a few
 * more prevent a timeout. */
static inline uint32_t sctp_prr_room(const struct sctp_prr *p, uint32_t flight, uint32_t ssthresh,
				     uint32_t pmdcs)
{
	uint32_t least = min_u32(SCTP_PRR_LEAST * pmdcs, ssthresh), room = p->sndcnt;

	if (flight < least)
		room = max_u32(room, least - flight);
	if (p->above)
		return room;
	return flight < ssthresh ? min_u32(room, ssthresh - flight) : 0;
}

#endif
