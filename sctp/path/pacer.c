/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/path/pacer.h"

#include "util/minmax.h"

/* A batch begins: time in which no packet waited does not count. */
static void open_batch(struct sctp_pacer *p, uint64_t now_us)
{
	uint64_t credit_us = p->waiting ? min_u64(p->batch_us, now_us) : 0;

	p->next_ns = max_u64(p->next_ns, (now_us - credit_us) * 1000);
	p->open_us = now_us;
	p->waiting = false;
}

void sctp_pacer_sent(struct sctp_pacer *p, uint32_t bytes, uint64_t now_us)
{
	if (!p->rate)
		return;
	if (p->open_us != now_us && p->next_ns <= now_us * 1000)
		open_batch(p, now_us);
	p->next_ns += (bytes * UINT64_C(1000000000) + p->rate - 1) / p->rate;
}
