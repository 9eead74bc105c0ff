/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/path/delivery.h"

#include <assert.h>
#include <stddef.h>

#include "util/minmax.h"

enum { FLIGHTS = 3 };

static const uint64_t us_per_s = 1000000;

/* ---- records ---- */

void sctp_delivery_give(struct sctp_delivery *d, void *memory, unsigned bytes)
{
	d->record = memory;
	d->first = d->n = 0;
	d->room = bytes / sizeof(*d->record);
	assert(d->room >= FLIGHTS);
}

void *sctp_delivery_take(struct sctp_delivery *d)
{
	void *memory = d->record;

	d->record = NULL;
	d->n = d->room = 0;
	return memory;
}

/* 0: the oldest one. */
static struct sctp_sending *nth_record(const struct sctp_delivery *d, unsigned i)
{
	return &d->record[(d->first + i) % d->room];
}

/* The newest record of that time or before; NULL. */
static const struct sctp_sending *find_record(const struct sctp_delivery *d, uint64_t sent_us)
{
	unsigned low = 0, high = d->n;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (nth_record(d, mid)->sent_us <= sent_us)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? nth_record(d, low - 1) : NULL;
}

static struct sctp_sending *add_record(struct sctp_delivery *d, uint64_t now_us)
{
	struct sctp_sending *r;

	if (d->n == d->room)
		d->first = (d->first + 1) % d->room;
	else
		d->n++;
	r = nth_record(d, d->n - 1);
	*r = (struct sctp_sending){
		.sent_us = now_us,
		.delivered = d->delivered,
		.delivered_us = d->delivered_us,
		.first_sent_us = d->first_sent_us,
		.lost = d->lost,
		.app_limited = d->app_limited != 0,
	};
	d->unrecorded = 0;
	return r;
}

/* The record of a batch: that of an earlier one if little was sent since. */
static struct sctp_sending *take_record(struct sctp_delivery *d, uint32_t before, uint32_t after,
					uint64_t now_us)
{
	struct sctp_sending *last = d->n ? nth_record(d, d->n - 1) : NULL;

	if (!last || before == 0 ||
	    (last->sent_us < now_us && d->unrecorded >= after / (d->room / FLIGHTS)))
		last = add_record(d, now_us);
	d->unrecorded += after - before;
	return last;
}

/* ---- events ---- */

void sctp_delivery_sent(struct sctp_delivery *d, uint32_t before, uint32_t after, uint64_t now_us)
{
	if (before == 0)
		d->first_sent_us = d->delivered_us = now_us;
	if (d->record)
		take_record(d, before, after, now_us)->in_flight = after;
}

static uint32_t clip(uint64_t bytes)
{
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static struct sctp_sample make_sample(const struct sctp_delivery *d, const struct sctp_sending *r)
{
	if (!r)
		return (struct sctp_sample){0};
	return (struct sctp_sample){
		.prior_delivered = r->delivered,
		.delivered = clip(d->delivered - r->delivered),
		.lost = clip(d->lost - r->lost),
		.in_flight = r->in_flight,
		.app_limited = r->app_limited,
		.known = true,
	};
}

/* The slower one of the rates at which data left and was acknowledged: acknowledgements may arrive
 * in clusters. */
static uint64_t rate_since(const struct sctp_delivery *d, const struct sctp_sending *r,
			   uint64_t sent_us, uint32_t least_us)
{
	uint64_t interval = max_u64(sent_us - r->first_sent_us, d->delivered_us - r->delivered_us);

	if (interval == 0 || interval < least_us)
		return 0;
	return (d->delivered - r->delivered) * us_per_s / interval;
}

struct sctp_sample sctp_delivery_acked(struct sctp_delivery *d, uint32_t acked, uint64_t sent_us,
				       uint32_t least_us, uint64_t now_us)
{
	const struct sctp_sending *r = find_record(d, sent_us);
	struct sctp_sample s;

	d->delivered += acked;
	d->delivered_us = now_us;
	if (d->app_limited && d->delivered > d->app_limited)
		d->app_limited = 0;
	s = make_sample(d, r);
	s.acked = acked;
	if (r) {
		s.rate = rate_since(d, r, sent_us, least_us);
		d->first_sent_us = sent_us;
	}
	return s;
}

struct sctp_sample sctp_delivery_lost(struct sctp_delivery *d, uint32_t bytes, uint64_t sent_us)
{
	d->lost += bytes;
	return make_sample(d, find_record(d, sent_us));
}

void sctp_delivery_limit(struct sctp_delivery *d, uint32_t flight)
{
	d->app_limited = max_u64(d->delivered + flight, 1);
}
