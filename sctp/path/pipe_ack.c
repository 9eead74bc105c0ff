/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/path/pipe_ack.h"

#include "sctp/wire/tsn.h"
#include "util/minmax.h"

/* RFC 7661 4.2: the largest of the last max(3 * RTT, 1 s). Two periods of it are kept. */
enum { PERIOD_US = 1000000, PERIOD_RTTS = 3 };

static void begin_round(struct sctp_pipe_ack *p, uint32_t next_tsn, uint64_t now_us)
{
	p->open = true;
	p->bytes = 0;
	p->end = next_tsn;
	p->since_us = now_us;
}

static void end_round(struct sctp_pipe_ack *p, uint32_t srtt_us, uint64_t now_us)
{
	uint64_t took = now_us - p->since_us, bytes = p->bytes;
	uint64_t period = max_u64(PERIOD_US, PERIOD_RTTS * (uint64_t)srtt_us);

	if (srtt_us && took > srtt_us)
		bytes = bytes * srtt_us / took;
	if (now_us - p->period_us >= period) {
		p->before = now_us - p->period_us < 2 * period ? p->most : 0;
		p->most = 0;
		p->period_us = now_us;
	}
	p->most = max_u32(p->most, (uint32_t)bytes);
}

void sctp_pipe_ack_add(struct sctp_pipe_ack *p, uint32_t bytes, uint32_t cum, uint32_t next_tsn,
		       bool all, uint32_t srtt_us, uint64_t now_us)
{
	if (!p->open)
		begin_round(p, next_tsn, now_us);
	p->bytes = bytes < UINT32_MAX - p->bytes ? p->bytes + bytes : UINT32_MAX;
	if (sctp_tsn_before(cum, p->end) && !all)
		return;
	end_round(p, srtt_us, now_us);
	begin_round(p, next_tsn, now_us);
	p->open = !all;
}
