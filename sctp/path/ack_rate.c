/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/path/ack_rate.h"

#include "util/minmax.h"

enum { SECOND_US = 1000000, LEAST_US = 100000, ROUNDS = 2 };

static uint64_t period_us(uint32_t srtt_us)
{
	return max_u64(LEAST_US, (uint64_t)ROUNDS * srtt_us);
}

static uint64_t mean(const struct sctp_ack_rate *r, uint64_t now_us)
{
	return r->bytes * SECOND_US / (now_us - r->since_us);
}

void sctp_ack_rate_add(struct sctp_ack_rate *r, uint32_t bytes, uint32_t srtt_us, uint64_t now_us)
{
	/* The first SACK after a rest begins a period, and is about the time before it. */
	if (r->bytes == 0 && now_us - r->since_us >= 2 * period_us(srtt_us)) {
		*r = (struct sctp_ack_rate){.since_us = now_us};
		return;
	}
	r->bytes += bytes;
	if (now_us - r->since_us < period_us(srtt_us))
		return;
	*r = (struct sctp_ack_rate){.rate = mean(r, now_us), .since_us = now_us};
}

uint64_t sctp_ack_rate_now(const struct sctp_ack_rate *r, uint32_t srtt_us, uint64_t now_us)
{
	return now_us - r->since_us < 2 * period_us(srtt_us) ? r->rate : mean(r, now_us);
}
