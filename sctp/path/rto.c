/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/path/rto.h"

#include "util/minmax.h"

enum { MIN_PERIOD_US = 10 * 1000000 };

/* C6, C7. The maximum wins if the configuration contradicts itself. */
static uint32_t clamp(const struct sctp_rto *r, uint64_t us)
{
	if (us < r->min_us)
		us = r->min_us;
	return us > r->max_us ? r->max_us : (uint32_t)us;
}

void sctp_rto_init(struct sctp_rto *r, const struct sctp_config *cfg)
{
	*r = (struct sctp_rto){
		.min_us = cfg->rto_min_us,
		.max_us = cfg->rto_max_us,
		.initial_us = cfg->rto_initial_us,
		.min_rtt_us = UINT32_MAX,
		.next_min_us = UINT32_MAX,
	};
	r->rto_us = min_u32(r->initial_us, r->max_us);
}

/* C2, C3, G1: RTTVAR is computed with the old SRTT. Rounds to the nearest microsecond. */
static void smooth(struct sctp_rto *r, uint32_t rtt)
{
	uint32_t diff = rtt > r->srtt_us ? rtt - r->srtt_us : r->srtt_us - rtt;

	if (!r->srtt_us) {
		r->srtt_us = rtt;
		r->rttvar_us = rtt / 2;
	} else {
		r->rttvar_us = (uint32_t)((3 * (uint64_t)r->rttvar_us + diff + 2) / 4);
		r->srtt_us = (uint32_t)((7 * (uint64_t)r->srtt_us + rtt + 4) / 8);
	}
	if (!r->rttvar_us)
		r->rttvar_us = 1;
}

/* Two periods: the finished one keeps its least sample until the next one is finished. */
static void track_min(struct sctp_rto *r, uint32_t rtt, uint64_t now_us)
{
	uint64_t age = now_us > r->min_since_us ? now_us - r->min_since_us : 0;

	if (r->min_rtt_us == UINT32_MAX || age >= 2 * (uint64_t)MIN_PERIOD_US) {
		r->min_rtt_us = r->next_min_us = rtt;
		r->min_since_us = now_us;
	} else if (age >= MIN_PERIOD_US) {
		r->min_rtt_us = r->next_min_us;
		r->next_min_us = rtt;
		r->min_since_us = now_us;
	}
	r->next_min_us = min_u32(r->next_min_us, rtt);
	r->min_rtt_us = min_u32(r->min_rtt_us, rtt);
}

void sctp_rto_sample(struct sctp_rto *r, uint32_t rtt_us, uint64_t now_us)
{
	if (!rtt_us)
		rtt_us = 1;
	smooth(r, rtt_us);
	track_min(r, rtt_us, now_us);
	sctp_rto_restore(r);
}

void sctp_rto_restore(struct sctp_rto *r)
{
	if (r->srtt_us)
		r->rto_us = clamp(r, (uint64_t)r->srtt_us + 4 * (uint64_t)r->rttvar_us);
}

void sctp_rto_back_off(struct sctp_rto *r)
{
	r->rto_us = clamp(r, 2 * (uint64_t)r->rto_us);
}
