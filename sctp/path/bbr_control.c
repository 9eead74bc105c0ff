/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR: "Updating Control Parameters": pacing rate and window. */
#include "sctp/path/bbr_control.h"

#include "sctp/wire/chunk.h"
#include "util/minmax.h"

enum {
	PACING_MARGIN = 1, /* percent */
	HEADROOM = 15,     /* percent */
	QUANTA = 3, /* one that waits, one that is sent, one that the peer has not answered */
	QUANTUM_US = 1000, /* a batch of the pacer is not longer */
};

static const uint64_t us_per_s = 1000000;

/* "Summary of Control Behavior in the State Machine", in percent. */
static const struct {
	uint16_t pacing, cwnd;
} gains[] = {
	[SCTP_BBR_STARTUP] = {277, 200},  [SCTP_BBR_DRAIN] = {50, 200},
	[SCTP_BBR_DOWN] = {90, 200},      [SCTP_BBR_CRUISE] = {100, 200},
	[SCTP_BBR_REFILL] = {100, 200},   [SCTP_BBR_UP] = {125, 225},
	[SCTP_BBR_PROBE_RTT] = {100, 50},
};

/* ---- "Pacing Rate" ---- */

void sctp_bbr_set_pacing(struct sctp_bbr *b, unsigned gain)
{
	uint64_t rate = b->bw * gain / 100 * (100 - PACING_MARGIN) / 100;

	if (b->full_bw_reached || rate > b->pacing_rate)
		b->pacing_rate = rate;
}

/* ---- "Computing BBR.max_inflight" ---- */

static uint32_t clip(uint64_t bytes)
{
	return bytes < SCTP_BBR_ANY_VOLUME ? (uint32_t)bytes : SCTP_BBR_ANY_VOLUME - 1;
}

uint32_t sctp_bbr_bdp(const struct sctp_bbr *b, uint64_t bw, unsigned gain)
{
	if (b->min_rtt_us == UINT32_MAX)
		return b->initial_cwnd;
	return clip(bw * b->min_rtt_us / us_per_s * gain / 100);
}

/* "BBR.offload_budget": QUANTA of SetSendQuantum(). */
static uint32_t send_quantum(const struct sctp_cc *c)
{
	uint64_t quantum = c->bbr->pacing_rate * QUANTUM_US / us_per_s;

	return max_u32((uint32_t)min_u64(quantum, SCTP_MAX_PACKET), 2 * c->pmdcs);
}

/* QuantizationBudget(). */
static uint32_t quantize(const struct sctp_cc *c, uint32_t volume)
{
	volume = max_u32(volume, QUANTA * send_quantum(c));
	volume = max_u32(volume, SCTP_BBR_MIN_PIPE * c->pmdcs);
	return clip((uint64_t)volume + (c->bbr->state == SCTP_BBR_UP ? 2 * c->pmdcs : 0));
}

uint32_t sctp_bbr_inflight(const struct sctp_cc *c, uint64_t bw, unsigned gain)
{
	return quantize(c, sctp_bbr_bdp(c->bbr, bw, gain));
}

static uint32_t max_inflight(const struct sctp_cc *c)
{
	const struct sctp_bbr *b = c->bbr;
	uint64_t volume = sctp_bbr_bdp(b, b->bw, gains[b->state].cwnd);

	volume += max_u32(b->extra_acked[0], b->extra_acked[1]);
	return quantize(c, clip(volume));
}

/* ---- windows of the states ---- */

uint32_t sctp_bbr_headroom(const struct sctp_cc *c)
{
	uint32_t all = c->bbr->inflight_longterm;
	uint32_t free = max_u32(c->pmdcs, (uint32_t)((uint64_t)all * HEADROOM / 100));

	if (all == SCTP_BBR_ANY_VOLUME)
		return all;
	return max_u32(all > free ? all - free : 0, SCTP_BBR_MIN_PIPE * c->pmdcs);
}

uint32_t sctp_bbr_probe_rtt_cwnd(const struct sctp_cc *c)
{
	const struct sctp_bbr *b = c->bbr;

	return max_u32(sctp_bbr_bdp(b, b->bw, gains[SCTP_BBR_PROBE_RTT].cwnd),
		       SCTP_BBR_MIN_PIPE * c->pmdcs);
}

/* "Bounding cwnd Based on Recent Congestion". */
static uint32_t bound(const struct sctp_cc *c)
{
	const struct sctp_bbr *b = c->bbr;
	uint32_t cap = SCTP_BBR_ANY_VOLUME;

	if (b->state == SCTP_BBR_PROBE_RTT || b->state == SCTP_BBR_CRUISE)
		cap = sctp_bbr_headroom(c);
	else if (sctp_bbr_probes_bw(b))
		cap = b->inflight_longterm;
	if (b->inflight_shortterm != SCTP_BBR_ANY_VOLUME)
		cap = min_u32(cap, b->inflight_shortterm + send_quantum(c));
	return max_u32(cap, SCTP_BBR_MIN_PIPE * c->pmdcs);
}

/* ---- "Congestion Window" ---- */

void sctp_bbr_save_cwnd(struct sctp_cc *c)
{
	struct sctp_bbr *b = c->bbr;

	if (b->in_recovery || b->state == SCTP_BBR_PROBE_RTT)
		b->prior_cwnd = max_u32(b->prior_cwnd, c->cwnd);
	else
		b->prior_cwnd = c->cwnd;
}

void sctp_bbr_restore_cwnd(struct sctp_cc *c)
{
	c->cwnd = max_u32(c->cwnd, c->bbr->prior_cwnd);
}

/* "cwnd Adjustment Mechanism". */
static void set_cwnd(struct sctp_cc *c, uint32_t acked)
{
	const struct sctp_bbr *b = c->bbr;
	uint64_t grown = (uint64_t)c->cwnd + acked;
	uint32_t most = max_inflight(c);

	if (b->full_bw_reached)
		c->cwnd = (uint32_t)min_u64(grown, most);
	else if (c->cwnd < most || b->delivery.delivered < b->initial_cwnd)
		c->cwnd = clip(grown);
	c->cwnd = max_u32(c->cwnd, SCTP_BBR_MIN_PIPE * c->pmdcs);
	if (b->state == SCTP_BBR_PROBE_RTT)
		c->cwnd = min_u32(c->cwnd, sctp_bbr_probe_rtt_cwnd(c));
	c->cwnd = min_u32(c->cwnd, bound(c));
	c->cwnd = min_u32(c->cwnd, c->max_cwnd);
}

void sctp_bbr_control(struct sctp_cc *c, uint32_t acked)
{
	sctp_bbr_set_pacing(c->bbr, gains[c->bbr->state].pacing);
	set_cwnd(c, acked);
}
