/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/path/rack.h"

#include "sctp/wire/tsn.h"

enum {
	PERSIST = 16,        /* RFC 8985 6.2: recoveries that a larger window is kept */
	MAX_MULT = 256,      /* SRTT limits the window long before */
	MIN_PROBE_US = 5000, /* shorter ones would only measure the scheduler */
};

void sctp_rack_init(struct sctp_rack *r)
{
	*r = (struct sctp_rack){.window_mult = 1};
}

/* A chunk that was sent once and is acknowledged after one with a higher TSN was overtaken. */
static void detect_reordering(struct sctp_rack *r, uint32_t tsn, bool repeated)
{
	if (!r->acked || sctp_tsn_before(r->highest, tsn))
		r->highest = tsn;
	else if (tsn != r->highest && !repeated)
		r->reordering = true;
	r->acked = true;
}

void sctp_rack_acked(struct sctp_rack *r, uint32_t tsn, uint64_t sent_us, bool repeated,
		     uint32_t min_rtt_us, uint64_t now_us)
{
	uint64_t rtt = now_us > sent_us ? now_us - sent_us : 0;

	detect_reordering(r, tsn, repeated);
	if (repeated && rtt < min_rtt_us)
		return;
	if (r->any && (sctp_rack_before(r, sent_us, tsn)))
		return;
	sctp_rack_late(r, tsn, sent_us, now_us);
}

void sctp_rack_late(struct sctp_rack *r, uint32_t tsn, uint64_t sent_us, uint64_t now_us)
{
	uint64_t rtt = now_us > sent_us ? now_us - sent_us : 0;

	r->any = true;
	r->sent_us = sent_us;
	r->tsn = tsn;
	r->rtt_us = rtt < UINT32_MAX ? (uint32_t)rtt : UINT32_MAX;
}

void sctp_rack_needless(struct sctp_rack *r)
{
	r->reordering = true;
	r->persist = PERSIST;
	if (r->window_mult < MAX_MULT)
		r->window_mult++;
}

void sctp_rack_recovered(struct sctp_rack *r)
{
	if (r->persist && !--r->persist)
		r->window_mult = 1;
}

uint32_t sctp_rack_window(const struct sctp_rack *r, uint32_t min_rtt_us, uint32_t srtt_us,
			  bool misses)
{
	uint64_t window = (uint64_t)r->window_mult * min_rtt_us / 4;

	if (!r->reordering && misses)
		return 0;
	return window < srtt_us ? (uint32_t)window : srtt_us;
}

uint32_t sctp_rack_probe_us(uint32_t srtt_us, bool single, uint32_t ack_delay_us)
{
	uint64_t us = 2 * (uint64_t)srtt_us + (single ? ack_delay_us : 0);

	if (!srtt_us)
		return UINT32_MAX;
	if (us < MIN_PROBE_US)
		return MIN_PROBE_US;
	return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX - 1;
}
