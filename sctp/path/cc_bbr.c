/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR (bbr.h) as a table of cc_ops.h: "Algorithm Organization", Startup, Drain, losses. */
#include "sctp/path/cc_bbr.h"

#include "sctp/path/bbr_control.h"
#include "sctp/path/bbr_model.h"
#include "sctp/path/bbr_probe.h"
#include "sctp/path/bbr_probe_rtt.h"
#include "sctp/path/cc_ops.h"
#include "util/minmax.h"

enum {
	DRAIN_ROUNDS = 3,
	LOST_RANGES = 6, /* BBRStartupFullLossCnt */
	STARTUP_GAIN = 277,
};

/* ---- "Initialization" ---- */

bool sctp_cc_bbr_wanted(const struct sctp_cc *c)
{
	return c->ops == &sctp_cc_bbr_ops && !c->bbr;
}

void sctp_cc_bbr_begin(struct sctp_cc *c, struct sctp_bbr *b, uint32_t random, uint64_t now_us)
{
	if (!b) {
		c->ops = &sctp_cc_cubic_ops;
		return;
	}
	*b = (struct sctp_bbr){
		.inflight_longterm = SCTP_BBR_ANY_VOLUME,
		.up_acked_per_inc = UINT32_MAX,
		.min_rtt_us = UINT32_MAX,
		.probe_rtt_us = UINT32_MAX,
		.min_rtt_at_us = now_us,
		.probe_rtt_at_us = now_us,
		.extra_since_us = now_us,
		.initial_cwnd = c->cwnd,
		.random = random ? random : 1,
		.undo.state = SCTP_BBR_NO_STATE,
		.state = SCTP_BBR_STARTUP,
	};
	sctp_bbr_reset_shortterm(b);
	c->bbr = b;
}

/* ---- "Startup" ---- */

/* CheckStartupHighLoss(). Losses began at least one round ago, or loss_round_start is false. */
static void check_high_loss(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	struct sctp_bbr *b = c->bbr;

	if (!b->loss_round_start)
		return;
	if (b->in_recovery && b->lost_ranges >= LOST_RANGES && !b->full_bw_reached &&
	    sctp_bbr_inflight_too_high(c, &k->s)) {
		b->undo.state = SCTP_BBR_STARTUP;
		b->full_bw_reached = true;
		b->inflight_longterm =
			max_u32(sctp_bbr_bdp(b, sctp_bbr_max_bw(b), 100), b->inflight_latest);
	}
	b->lost_ranges = 0;
}

/* CheckStartupDone(), CheckDrainDone(). */
static void check_startup(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	struct sctp_bbr *b = c->bbr;

	check_high_loss(c, k);
	if (b->state == SCTP_BBR_STARTUP && b->full_bw_reached) {
		b->state = SCTP_BBR_DRAIN;
		b->drain_round = b->rounds;
	}
	if (b->state == SCTP_BBR_DRAIN && (k->flight <= sctp_bbr_inflight(c, b->bw, 100) ||
					   b->rounds > b->drain_round + DRAIN_ROUNDS))
		sctp_bbr_start_down(b, k->now_us);
}

/* ---- "Per-ACK Steps" ---- */

/* InitPacingRate(): with the first round-trip time. The packet size may have grown since data
 * began, and the initial window with it. */
static void init_pacing(struct sctp_cc *c, uint32_t srtt_us)
{
	struct sctp_bbr *b = c->bbr;

	if (b->pacing_rate || !srtt_us)
		return;
	b->initial_cwnd = c->cwnd;
	b->pacing_rate = (uint64_t)c->cwnd * 10000 * STARTUP_GAIN / srtt_us;
}

static void update(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	sctp_bbr_learn(c, k);
	check_startup(c, k);
	sctp_bbr_cycle(c, k);
	sctp_bbr_learn_rtt(c->bbr, k);
	sctp_bbr_check_probe_rtt(c, k);
	sctp_bbr_conclude(c->bbr, k);
	sctp_bbr_control(c, k->s.acked);
}

void sctp_cc_bbr_delivered(struct sctp_cc *c, const struct sctp_bbr_delivered *d, uint64_t now_us)
{
	struct sctp_bbr *b = c->bbr;
	struct sctp_bbr_ack k = {
		.flight = d->flight,
		.limited = d->limited,
		.rtt_us = d->rtt_us,
		.now_us = now_us,
	};

	if (!b)
		return;
	k.s = sctp_delivery_acked(&b->delivery, d->bytes, d->sent_us,
				  b->min_rtt_us == UINT32_MAX ? 0 : b->min_rtt_us, now_us);
	init_pacing(c, d->srtt_us);
	update(c, &k);
}

/* ---- "Per-Transmit Steps", "Restarting From Idle" ---- */

void sctp_cc_bbr_resume(struct sctp_cc *c, uint64_t now_us)
{
	struct sctp_bbr *b = c->bbr;

	if (!b || !b->delivery.app_limited)
		return;
	b->idle_restart = true;
	b->extra_since_us = now_us;
	if (sctp_bbr_probes_bw(b))
		sctp_bbr_set_pacing(b, 100);
	else if (b->state == SCTP_BBR_PROBE_RTT)
		sctp_bbr_probe_rtt_done(c, now_us);
}

/* ---- "Per-Loss Steps" ---- */

/* InflightAtLoss(): the part of the batch, or of the flight, that was still safe. */
static uint32_t inflight_at_loss(const struct sctp_sample *s, uint32_t size)
{
	uint32_t before = s->in_flight > size ? s->in_flight - size : 0;
	uint32_t lost = s->lost > size ? s->lost - size : 0;
	uint64_t allowed = (uint64_t)before * SCTP_BBR_LOSS_THRESH;

	if (allowed <= (uint64_t)lost * 100)
		return before;
	return before + (uint32_t)((allowed - (uint64_t)lost * 100) / (100 - SCTP_BBR_LOSS_THRESH));
}

/* Ranges of TSNs; those of one packet count once. */
static void count_range(struct sctp_bbr *b, uint32_t tsn)
{
	if ((b->lost_ranges == 0 || tsn != b->lost_tsn + 1) && b->lost_ranges < LOST_RANGES)
		b->lost_ranges++;
	b->lost_tsn = tsn;
}

/* HandleLostPacket(). */
void sctp_cc_bbr_lost(struct sctp_cc *c, const struct sctp_bbr_loss *l, uint64_t now_us)
{
	struct sctp_bbr *b = c->bbr;
	struct sctp_sample s;

	if (!b)
		return;
	s = sctp_delivery_lost(&b->delivery, l->bytes, l->sent_us);
	sctp_bbr_note_loss(b, l->bytes);
	count_range(b, l->tsn);
	if (!b->probe_sample || !s.known || !sctp_bbr_inflight_too_high(c, &s))
		return;
	s.in_flight = inflight_at_loss(&s, l->bytes);
	sctp_bbr_lower_inflight(c, &s, now_us);
}

/* ---- "Modulating cwnd in Loss Recovery" ---- */

/* SaveStateUponLoss(). */
static void save_state(struct sctp_cc *c)
{
	struct sctp_bbr *b = c->bbr;

	sctp_bbr_save_cwnd(c);
	b->undo.kept = true;
	b->undo.state = SCTP_BBR_NO_STATE;
	b->undo.bw_shortterm = b->bw_shortterm;
	b->undo.inflight_shortterm = b->inflight_shortterm;
	b->undo.inflight_longterm = b->inflight_longterm;
}

static void enter_recovery(struct sctp_cc *c)
{
	save_state(c);
	c->bbr->in_recovery = true;
}

/* The window of one packet stays until something is acknowledged, and grows from there. A second
 * timeout has no better state to save. */
static void time_out(struct sctp_cc *c)
{
	if (!c->one_packet)
		save_state(c);
	c->bbr->in_recovery = true;
	c->cwnd = c->pmdcs;
}

void sctp_cc_bbr_recovered(struct sctp_cc *c)
{
	if (!c->bbr || !c->bbr->in_recovery)
		return;
	c->bbr->in_recovery = false;
	sctp_bbr_restore_cwnd(c);
}

/* ---- "Handling a Spurious Loss Recovery" ---- */

/* To the state in which the path looked for bandwidth. */
static void return_to_probing(struct sctp_bbr *b)
{
	if (b->undo.state == SCTP_BBR_STARTUP && b->state != SCTP_BBR_STARTUP) {
		b->full_bw_reached = false;
		if (b->state != SCTP_BBR_PROBE_RTT)
			b->state = SCTP_BBR_STARTUP;
	} else if (b->undo.state == SCTP_BBR_UP && b->state != SCTP_BBR_UP &&
		   b->state != SCTP_BBR_PROBE_RTT) {
		sctp_bbr_start_refill(b);
	}
	b->undo.state = SCTP_BBR_NO_STATE;
}

static void undo(struct sctp_cc *c)
{
	struct sctp_bbr *b = c->bbr;

	if (!b->undo.kept)
		return;
	b->undo.kept = false;
	b->in_recovery = false;
	c->one_packet = false;
	sctp_bbr_restore_cwnd(c);
	b->loss_in_round = false;
	sctp_bbr_reset_full_bw(b, 0);
	b->bw_shortterm = max_u64(b->bw_shortterm, b->undo.bw_shortterm);
	b->inflight_shortterm = max_u32(b->inflight_shortterm, b->undo.inflight_shortterm);
	b->inflight_longterm = max_u32(b->inflight_longterm, b->undo.inflight_longterm);
	return_to_probing(b);
}

/* ---- the table ---- */

/* At least MinPipeCwnd in a round trip: less would hold back data that the window admits. */
static uint64_t pacing_rate(const struct sctp_cc *c, uint32_t srtt_us)
{
	uint64_t least = (uint64_t)SCTP_BBR_MIN_PIPE * c->pmdcs * 1000000 / srtt_us;

	if (c->bbr && c->bbr->pacing_rate)
		return max_u64(c->bbr->pacing_rate, least);
	return (uint64_t)c->cwnd * 10000 * STARTUP_GAIN / srtt_us;
}

static const struct sctp_cc_model_ops model = {
	.lost = enter_recovery,
	.timed_out = time_out,
	.undo = undo,
};

const struct sctp_cc_ops sctp_cc_bbr_ops = {
	.model = &model,
	.pacing_rate = pacing_rate,
};
