/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/path/prr.h"

void sctp_prr_begin(struct sctp_prr *p, uint32_t flight)
{
	*p = (struct sctp_prr){.runs = true, .recover_fs = flight};
}

/* In proportion to the delivered bytes, rounded up. */
static uint64_t reduce_flight(const struct sctp_prr *p, uint32_t ssthresh)
{
	uint64_t fs = p->recover_fs ? p->recover_fs : 1,
		 due = (min_u64(p->delivered, fs) * ssthresh + fs - 1) / fs;

	return due > p->out ? due - p->out : 0;
}

/* Less than ssthresh is in flight: PRR-CRB, or PRR-SSRB if it is safe. Bytes that the last SACK
 * admitted and the pacer still holds back stay admitted. */
static uint64_t refill_flight(const struct sctp_prr *p, const struct sctp_prr_ack *a,
			      uint32_t ssthresh, uint32_t pmdcs)
{
	uint64_t left = p->delivered > p->out ? p->delivered - p->out : 0,
		 count = max_u64(left, (uint64_t)p->sndcnt + a->delivered);

	if (a->safe)
		count += max_u32(pmdcs, a->delivered / 2);
	return min_u64(count, ssthresh - a->flight);
}

void sctp_prr_acked(struct sctp_prr *p, const struct sctp_prr_ack *a, uint32_t ssthresh,
		    uint32_t pmdcs)
{
	uint64_t count;

	if (!p->runs)
		return;
	if (p->delivered == 0 && p->out == 0)
		p->recover_fs += a->delivered;
	p->delivered += a->delivered;
	p->above = a->flight > ssthresh;
	count = p->above ? reduce_flight(p, ssthresh) : refill_flight(p, a, ssthresh, pmdcs);
	p->sndcnt = (uint32_t)min_u64(count, UINT32_MAX);
}
