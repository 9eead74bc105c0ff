/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sctp/bbr_link.h"

#include "util/minmax.h"

enum { STEP_US = 100, LATER = 3, BURST_US = 1000 };

static struct bbr_run one;

static double chance(struct bbr_run *r)
{
	r->random = r->random * 1664525 + 1013904223;
	return (r->random >> 8) / 16777216.0;
}

static struct bbr_packet *packet(struct bbr_run *r, uint32_t n)
{
	return &r->packet[n % BBR_RING];
}

struct bbr_run *bbr_run_begin(const struct bbr_link *link, uint32_t seed)
{
	struct bbr_run *r = &one;

	*r = (struct bbr_run){.link = *link, .random = seed, .now = 1000};
	sctp_cc_init(&r->cc, SCTP_CC_BBR, BBR_PACKET, false, UINT32_C(1) << 31);
	sctp_cc_bbr_begin(&r->cc, &r->model, seed, r->now);
	sctp_delivery_give(&r->model.delivery, r->record, sizeof(r->record));
	return r;
}

/* ---- sending ---- */

static void send_packet(struct bbr_run *r)
{
	uint64_t start = max_u64(r->free_us, r->now);
	struct bbr_packet *p = packet(r, r->next++);

	*p = (struct bbr_packet){.sent_us = r->now, .out = true};
	r->flight += BBR_PACKET;
	if (start - r->now > r->link.queue_us || chance(r) < r->link.loss)
		return;
	r->queue_us_sum += start - r->now;
	r->queue_samples++;
	r->free_us = start + BBR_PACKET * UINT64_C(1000000) / r->link.rate;
	p->acked_us = r->free_us + r->link.rtt_us;
}

static bool has_data(const struct bbr_run *r)
{
	return r->user_rate == 0 || r->written >= BBR_PACKET;
}

static void send_all(struct bbr_run *r)
{
	struct sctp_delivery *d = &r->model.delivery;
	uint32_t before = r->flight;
	double rate = r->srtt_us ? (double)sctp_cc_pacing_rate(&r->cc, r->srtt_us) : 1e9;

	r->written += (double)r->user_rate * STEP_US / 1e6;
	r->credit += rate * STEP_US / 1e6;
	if (r->credit > rate * BURST_US / 1e6 + BBR_PACKET)
		r->credit = rate * BURST_US / 1e6 + BBR_PACKET;
	if (r->starved && has_data(r))
		sctp_delivery_limit(d, before);
	if (before == 0 && has_data(r))
		sctp_cc_bbr_resume(&r->cc, r->now);
	for (; r->credit >= BBR_PACKET && has_data(r) && sctp_cc_room(&r->cc, r->flight);
	     r->credit -= BBR_PACKET, r->written -= BBR_PACKET)
		send_packet(r);
	if (r->flight != before)
		sctp_delivery_sent(d, before, r->flight, r->now);
	r->starved = !has_data(r);
	if (r->user_rate == 0)
		r->written = 0;
}

/* ---- losses ---- */

static void lose(struct bbr_run *r, uint32_t n)
{
	struct bbr_packet *p = packet(r, n);
	const struct sctp_bbr_loss l = {.tsn = n, .bytes = BBR_PACKET, .sent_us = p->sent_us};

	p->out = false;
	if (!r->recovery)
		sctp_cc_lost(&r->cc, r->cc.cwnd);
	if (!r->recovery)
		r->recovery_end = r->next;
	r->recovery = true;
	sctp_cc_bbr_lost(&r->cc, &l, r->now);
	r->flight -= BBR_PACKET;
}

void bbr_run_lose(struct bbr_run *r, unsigned n)
{
	r->recovery = true;
	for (uint32_t i = r->first; i != r->next && n; i++)
		if (packet(r, i)->out) {
			lose(r, i);
			n--;
		}
}

/* ---- acknowledgements ---- */

static uint32_t acknowledge(struct bbr_run *r, struct sctp_bbr_delivered *d)
{
	uint32_t newest = r->first;

	for (uint32_t i = r->first; i != r->next; i++) {
		struct bbr_packet *p = packet(r, i);

		if (!p->out || p->acked_us == 0)
			continue;
		if (p->acked_us > r->now)
			break;
		p->out = false;
		newest = i;
		r->flight -= BBR_PACKET;
		d->bytes += BBR_PACKET;
		d->sent_us = p->sent_us;
		d->rtt_us = (uint32_t)(r->now - p->sent_us);
	}
	r->arrived += d->bytes;
	return newest;
}

static void pass_first(struct bbr_run *r)
{
	while (r->first != r->next && !packet(r, r->first)->out)
		r->first++;
	if (r->recovery && (int32_t)(r->first - r->recovery_end) >= 0) {
		r->recovery = false;
		sctp_cc_bbr_recovered(&r->cc);
	}
}

static void receive_acks(struct bbr_run *r)
{
	struct sctp_bbr_delivered d = {.limited = r->flight + BBR_PACKET > r->cc.cwnd};
	uint32_t newest = acknowledge(r, &d);

	if (!d.bytes)
		return;
	r->cc.one_packet = false;
	r->srtt_us = r->srtt_us ? (7 * r->srtt_us + d.rtt_us) / 8 : d.rtt_us;
	for (uint32_t i = r->first; (int32_t)(newest - LATER - i) >= 0; i++)
		if (packet(r, i)->out)
			lose(r, i);
	pass_first(r);
	d.flight = r->flight;
	d.srtt_us = r->srtt_us;
	sctp_cc_bbr_delivered(&r->cc, &d, r->now);
}

/* ---- time ---- */

static void step(struct bbr_run *r)
{
	r->now += STEP_US;
	receive_acks(r);
	send_all(r);
}

void bbr_run_until(struct bbr_run *r, uint64_t us)
{
	while (r->now < us)
		step(r);
}

bool bbr_run_until_state(struct bbr_run *r, enum sctp_bbr_state state, uint64_t within_us)
{
	uint64_t end = r->now + within_us;

	while (r->model.state != state && r->now < end)
		step(r);
	return r->model.state == state;
}

enum sctp_bbr_state bbr_run_next_state(struct bbr_run *r)
{
	uint8_t state = r->model.state;

	while (r->model.state == state)
		step(r);
	return r->model.state;
}
