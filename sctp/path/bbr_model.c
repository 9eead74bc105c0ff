/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR: "Updating Network Path Model Parameters". */
#include "sctp/path/bbr_model.h"

#include "util/minmax.h"

enum {
	MIN_RTT_LEN_US = 10000000,
	PROBE_RTT_INTERVAL_US = 5000000,
	SAME_RTT_DIVISOR = 64, /* round trips that differ less are the same: hosts are not exact */
	EXTRA_LONGEST_US = 10000000, /* whatever was acknowledged, it is less than expected then */
	EXTRA_ROUNDS = 5,            /* half of ExtraAckedFilterLen: the filter has two slots */
	FULL_BW_ROUNDS = 3,
	FEW_LOST = 5, /* packets */
};

static const uint64_t us_per_s = 1000000;

/* ---- rounds ---- */

void sctp_bbr_start_round(struct sctp_bbr *b)
{
	b->round_end = b->delivery.delivered;
}

static void update_round(struct sctp_bbr *b, const struct sctp_sample *s)
{
	b->round_start = s->known && s->prior_delivered >= b->round_end;
	if (!b->round_start)
		return;
	sctp_bbr_start_round(b);
	b->rounds++;
	b->rounds_since_probe++;
}

/* ---- "BBR.max_bw Max Filter" ---- */

uint64_t sctp_bbr_max_bw(const struct sctp_bbr *b)
{
	return max_u64(b->max_bw[0], b->max_bw[1]);
}

void sctp_bbr_next_cycle(struct sctp_bbr *b)
{
	if (!b->max_bw[0])
		return;
	b->max_bw[1] = b->max_bw[0];
	b->max_bw[0] = 0;
}

static void update_max_bw(struct sctp_bbr *b, const struct sctp_sample *s)
{
	if (s->rate >= sctp_bbr_max_bw(b) || !s->app_limited)
		b->max_bw[0] = max_u64(b->max_bw[0], s->rate);
}

/* ---- "When not Probing for Bandwidth": losses ---- */

void sctp_bbr_reset_signals(struct sctp_bbr *b)
{
	b->loss_in_round = false;
	b->bw_latest = 0;
	b->inflight_latest = 0;
}

void sctp_bbr_reset_shortterm(struct sctp_bbr *b)
{
	b->bw_shortterm = SCTP_BBR_ANY_RATE;
	b->inflight_shortterm = SCTP_BBR_ANY_VOLUME;
}

void sctp_bbr_note_loss(struct sctp_bbr *b, uint32_t bytes)
{
	if (!b->loss_in_round) {
		b->loss_round_end = b->loss_round_begin = b->delivery.delivered;
		b->loss_round_lost = 0;
	}
	b->loss_in_round = true;
	b->loss_round_lost += bytes;
}

static void update_latest(struct sctp_bbr *b, const struct sctp_sample *s)
{
	b->loss_round_start = false;
	b->bw_latest = max_u64(b->bw_latest, s->rate);
	b->inflight_latest = max_u32(b->inflight_latest, s->delivered);
	if (s->known && s->prior_delivered >= b->loss_round_end) {
		b->loss_round_end = b->delivery.delivered;
		b->loss_round_start = true;
	}
}

/* IsProbingBW(). */
static bool accelerates(const struct sctp_bbr *b)
{
	return b->state == SCTP_BBR_STARTUP || b->state == SCTP_BBR_REFILL ||
	       b->state == SCTP_BBR_UP;
}

/* InitLowerBounds(), LossLowerBounds(). */
static void lower_bounds(struct sctp_cc *c)
{
	struct sctp_bbr *b = c->bbr;

	if (b->bw_shortterm == SCTP_BBR_ANY_RATE)
		b->bw_shortterm = sctp_bbr_max_bw(b);
	if (b->inflight_shortterm == SCTP_BBR_ANY_VOLUME)
		b->inflight_shortterm = c->cwnd;
	b->bw_shortterm = max_u64(b->bw_latest, b->bw_shortterm * SCTP_BBR_BETA / 100);
	b->inflight_shortterm =
		max_u32(b->inflight_latest,
			(uint32_t)((uint64_t)b->inflight_shortterm * SCTP_BBR_BETA / 100));
}

bool sctp_bbr_exceeds_loss(const struct sctp_cc *c, uint64_t lost, uint64_t sent)
{
	uint64_t few = min_u64(FEW_LOST * c->pmdcs, sent / 10);

	return lost * 100 > sent * SCTP_BBR_LOSS_THRESH && lost > few;
}

/* The round with losses that ends. */
static bool lost_much(const struct sctp_cc *c)
{
	const struct sctp_bbr *b = c->bbr;
	uint64_t delivered = b->delivery.delivered - b->loss_round_begin;

	return sctp_bbr_exceeds_loss(c, b->loss_round_lost, delivered);
}

static void update_congestion(struct sctp_cc *c, const struct sctp_sample *s)
{
	struct sctp_bbr *b = c->bbr;

	update_round(b, s);
	update_max_bw(b, s);
	if (!b->loss_round_start)
		return;
	if (b->loss_in_round && !accelerates(b) && lost_much(c))
		lower_bounds(c);
	b->loss_in_round = false;
}

/* ---- "BBR.extra_acked" ---- */

static void keep_extra(struct sctp_bbr *b, uint32_t extra)
{
	b->extra_rounds += b->round_start;
	if (b->extra_rounds >= (b->full_bw_reached ? EXTRA_ROUNDS : 1)) {
		b->extra_rounds = 0;
		b->extra_acked[1] = b->extra_acked[0];
		b->extra_acked[0] = 0;
	}
	b->extra_acked[0] = max_u32(b->extra_acked[0], extra);
}

static void update_aggregation(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	struct sctp_bbr *b = c->bbr;
	uint64_t interval = min_u64(k->now_us - b->extra_since_us, EXTRA_LONGEST_US);
	uint64_t expected = b->bw * interval / us_per_s;

	if (b->extra_delivered <= expected) {
		b->extra_delivered = 0;
		b->extra_since_us = k->now_us;
		expected = 0;
	}
	b->extra_delivered += k->s.acked;
	keep_extra(b, min_u32((uint32_t)(b->extra_delivered - expected), c->cwnd));
}

/* ---- "Exiting Acceleration Based on Bandwidth Plateau" ---- */

void sctp_bbr_reset_full_bw(struct sctp_bbr *b, uint64_t full_bw)
{
	b->full_bw = full_bw;
	b->full_bw_count = 0;
	b->full_bw_now = false;
}

/* A round that a packet ends which overtook others may have no rate. */
static void check_full_bw(struct sctp_bbr *b, const struct sctp_sample *s)
{
	if (b->full_bw_now || !b->round_start || s->app_limited || !s->rate)
		return;
	if (s->rate >= b->full_bw + b->full_bw / 4) {
		sctp_bbr_reset_full_bw(b, s->rate);
		return;
	}
	b->full_bw_count++;
	b->full_bw_now = b->full_bw_count >= FULL_BW_ROUNDS;
	b->full_bw_reached |= b->full_bw_now;
}

/* ---- "ProbeRTT Logic": the round-trip time ---- */

/* The round trip of an empty queue, or nearly. */
static bool is_least(const struct sctp_bbr *b, uint32_t rtt_us)
{
	return rtt_us <= (uint64_t)b->probe_rtt_us + b->probe_rtt_us / SAME_RTT_DIVISOR;
}

void sctp_bbr_learn_rtt(struct sctp_bbr *b, const struct sctp_bbr_ack *k)
{
	b->probe_rtt_expired = k->now_us > b->probe_rtt_at_us + PROBE_RTT_INTERVAL_US;
	if (k->rtt_us && (is_least(b, k->rtt_us) || b->probe_rtt_expired)) {
		if (k->rtt_us < b->probe_rtt_us || b->probe_rtt_expired)
			b->probe_rtt_us = k->rtt_us;
		b->probe_rtt_at_us = k->now_us;
	}
	if (b->probe_rtt_us < b->min_rtt_us || k->now_us > b->min_rtt_at_us + MIN_RTT_LEN_US) {
		b->min_rtt_us = b->probe_rtt_us;
		b->min_rtt_at_us = b->probe_rtt_at_us;
	}
}

/* ---- one SACK ---- */

static void note_limit(struct sctp_bbr *b, bool limited)
{
	if (b->round_start) {
		b->was_limited = b->limited;
		b->limited = false;
	}
	b->limited |= limited;
}

void sctp_bbr_learn(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	update_latest(c->bbr, &k->s);
	update_congestion(c, &k->s);
	note_limit(c->bbr, k->limited);
	update_aggregation(c, k);
	check_full_bw(c->bbr, &k->s);
}

/* AdvanceLatestDeliverySignals(), BoundBWForModel(). */
void sctp_bbr_conclude(struct sctp_bbr *b, const struct sctp_bbr_ack *k)
{
	if (b->loss_round_start) {
		b->bw_latest = k->s.rate;
		b->inflight_latest = k->s.delivered;
	}
	b->bw = min_u64(sctp_bbr_max_bw(b), b->bw_shortterm);
}
