/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/pace.h"

#include "util/minmax.h"

enum { BATCHES = 20 }; /* of a round trip at least */

/* Where a round trip is short, so are queues: a batch of 1 ms, and one that is late, would fill
 * them. */
static uint32_t batch_us(const struct sctp_path *p)
{
	uint32_t part = p->rto.min_rtt_us / BATCHES;

	return max_u32(min_u32(part, SCTP_PACER_BATCH_US), SCTP_PACER_BATCH_US / 2);
}

void sctp_path_pace(struct sctp_path *p)
{
	uint64_t rate = sctp_path_is_long(p) ? sctp_cc_pacing_rate(&p->cc, p->rto.srtt_us) : 0;

	sctp_pacer_set_rate(&p->pacer, rate, batch_us(p));
}

void sctp_path_burst(struct sctp_path *p)
{
	sctp_cc_burst(&p->cc, p->flight.bytes, p->pacer.rate ? 0 : SCTP_BURST);
}
