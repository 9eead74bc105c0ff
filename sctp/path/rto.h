/* SPDX-License-Identifier: BSD-2-Clause */
/* Round-trip time and retransmission timeout of a path (RFC 9260 6.3.1). Times are microseconds. */
#ifndef SCTP_RTO_H
#define SCTP_RTO_H

#include <stdbool.h>
#include <stdint.h>

#include "sctp/sctp.h"

struct sctp_rto {
	uint32_t srtt_us, rttvar_us; /* srtt 0: not measured */
	uint32_t rto_us;
	uint32_t min_us, max_us, initial_us;
	uint32_t min_rtt_us;  /* least sample of the last 10 to 20 s; UINT32_MAX: none */
	uint32_t next_min_us; /* least sample since min_since_us */
	uint64_t min_since_us;
};

/* Not measured: RTO.Initial (C1). */
void sctp_rto_init(struct sctp_rto *r, const struct sctp_config *cfg);
/* A measurement; 0 counts as 1 us. It ends a back-off (C2..C7). The caller measures once per round
 * trip (C4) and never with a chunk that was sent more than once (C5). */
void sctp_rto_sample(struct sctp_rto *r, uint32_t rtt_us, uint64_t now_us);
/* A round trip that is longer than the timeout would be without its bounds. */
static inline bool sctp_rto_exceeded(const struct sctp_rto *r, uint32_t rtt_us)
{
	return rtt_us > r->srtt_us + 4 * (uint64_t)r->rttvar_us;
}
/* Doubles the timeout up to its maximum (E2). */
void sctp_rto_back_off(struct sctp_rto *r);
/* Takes the doublings back: the packet was late and not lost. No effect before the first
 * measurement. */
void sctp_rto_restore(struct sctp_rto *r);

#endif
