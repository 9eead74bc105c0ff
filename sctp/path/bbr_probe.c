/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR: "ProbeBW": the cycle in which a path looks for more bandwidth, and gives way. */
#include "sctp/path/bbr_probe.h"

#include "sctp/path/bbr_control.h"
#include "sctp/path/bbr_model.h"
#include "util/minmax.h"

enum {
	LEAST_WAIT_US = 2000000, /* "Time Scale for Bandwidth Probing": 2 to 3 s, */
	RANDOM_WAIT_US = 1000000,
	RENO_ROUNDS = 63, /* or 62 or 63 rounds */
	UP_MAX_ROUNDS = 30,
	UP_FIRST = 64, /* packets that the first round of a probe adds, */
	UP_PART = 32,  /* or this part of the window */
	PLATEAU_ROUNDS = 2,
	DOWN_ROUNDS = 10, /* drain the queue of a BDP */
};

/* ---- "ProbeBW Algorithm Details": the states ---- */

/* xorshift32 */
static uint32_t draw(struct sctp_bbr *b)
{
	b->random ^= b->random << 13;
	b->random ^= b->random >> 17;
	b->random ^= b->random << 5;
	return b->random;
}

static void pick_wait(struct sctp_bbr *b)
{
	b->rounds_since_probe = draw(b) & 1;
	b->probe_wait_us = LEAST_WAIT_US + draw(b) % RANDOM_WAIT_US;
}

void sctp_bbr_start_down(struct sctp_bbr *b, uint64_t now_us)
{
	sctp_bbr_reset_signals(b);
	b->up_acked_per_inc = UINT32_MAX;
	pick_wait(b);
	b->cycle_us = now_us;
	b->acks = SCTP_BBR_ACKS_STOPPING;
	sctp_bbr_start_round(b);
	b->state = SCTP_BBR_DOWN;
}

void sctp_bbr_probe_soon(struct sctp_bbr *b)
{
	b->probe_wait_us -= LEAST_WAIT_US;
}

void sctp_bbr_start_refill(struct sctp_bbr *b)
{
	sctp_bbr_reset_shortterm(b);
	b->up_rounds = 0;
	b->up_acked = 0;
	b->probe_precautionary = false;
	b->acks = SCTP_BBR_ACKS_REFILLING;
	sctp_bbr_start_round(b);
	b->state = SCTP_BBR_REFILL;
}

/* RaiseInflightLongtermSlope(). Flows of any size grow alike, so that shares of a queue even out.
 */
static void raise_slope(struct sctp_cc *c)
{
	struct sctp_bbr *b = c->bbr;
	uint32_t first = max_u32(min_u32(c->cwnd / UP_PART / c->pmdcs, UP_FIRST), 1);
	uint32_t per_inc = c->cwnd / first >> b->up_rounds;

	b->up_rounds += b->up_rounds < UP_MAX_ROUNDS;
	b->up_acked_per_inc = max_u32(per_inc, c->pmdcs);
}

static void start_up(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	struct sctp_bbr *b = c->bbr;

	b->acks = SCTP_BBR_ACKS_STARTING;
	sctp_bbr_start_round(b);
	sctp_bbr_reset_full_bw(b, k->s.rate);
	b->state = SCTP_BBR_UP;
	raise_slope(c);
}

/* ---- when a state ends ---- */

/* TargetInflight(). */
static uint32_t target_inflight(const struct sctp_cc *c)
{
	return min_u32(sctp_bbr_bdp(c->bbr, c->bbr->bw, 100), c->cwnd);
}

/* IsTimeToProbeBW(). */
static bool is_time_to_probe(struct sctp_cc *c, uint64_t now_us)
{
	struct sctp_bbr *b = c->bbr;
	uint32_t rounds = min_u32(target_inflight(c) / c->pmdcs, RENO_ROUNDS);

	if (now_us <= b->cycle_us + b->probe_wait_us && b->rounds_since_probe < rounds)
		return false;
	sctp_bbr_start_refill(b);
	return true;
}

/* IsTimeToCruise(). A flight that is larger after DOWN_ROUNDS is no queue of this path: packets
 * that overtook others made min_rtt too short. */
static bool is_time_to_cruise(const struct sctp_cc *c, uint32_t flight)
{
	if (c->bbr->rounds_since_probe > DOWN_ROUNDS)
		return true;
	return flight <= sctp_bbr_headroom(c) &&
	       flight <= sctp_bbr_inflight(c, sctp_bbr_max_bw(c->bbr), 100);
}

static bool uses_longterm(const struct sctp_cc *c)
{
	const struct sctp_bbr *b = c->bbr;

	return (b->limited || b->was_limited) && c->cwnd >= b->inflight_longterm;
}

/* More is in flight than the gain of ProbeBW_UP accounts for, and no more arrives. */
static bool fills_queue(const struct sctp_cc *c, uint32_t flight)
{
	const struct sctp_bbr *b = c->bbr;

	return b->acks == SCTP_BBR_ACKS_FEEDBACK && b->full_bw_count >= PLATEAU_ROUNDS &&
	       flight > sctp_bbr_inflight(c, sctp_bbr_max_bw(b), 125);
}

/* IsTimeToGoDown(). */
static bool is_time_to_go_down(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	struct sctp_bbr *b = c->bbr;

	if (b->probe_too_high && k->flight >= b->inflight_longterm) {
		b->probe_precautionary = true;
		return true;
	}
	if (!uses_longterm(c))
		return b->full_bw_now || fills_queue(c, k->flight);
	sctp_bbr_reset_full_bw(b, k->s.rate);
	return false;
}

/* ---- the long-term model ---- */

bool sctp_bbr_inflight_too_high(const struct sctp_cc *c, const struct sctp_sample *s)
{
	return sctp_bbr_exceeds_loss(c, s->lost, s->in_flight);
}

void sctp_bbr_lower_inflight(struct sctp_cc *c, const struct sctp_sample *s, uint64_t now_us)
{
	struct sctp_bbr *b = c->bbr;
	uint64_t least = (uint64_t)target_inflight(c) * SCTP_BBR_BETA / 100;

	b->probe_too_high = true;
	b->probe_sample = false;
	if (!s->app_limited)
		b->inflight_longterm = max_u32(s->in_flight, (uint32_t)least);
	if (b->state == SCTP_BBR_UP) {
		b->undo.state = SCTP_BBR_UP;
		sctp_bbr_start_down(b, now_us);
	}
}

/* ProbeInflightLongtermUpward(). */
static void raise_inflight(struct sctp_cc *c, uint32_t acked)
{
	struct sctp_bbr *b = c->bbr;
	uint64_t up = (uint64_t)b->up_acked + acked;
	uint64_t longterm;

	if (!uses_longterm(c))
		return;
	longterm = b->inflight_longterm + up / b->up_acked_per_inc * c->pmdcs;
	b->inflight_longterm = (uint32_t)min_u64(longterm, SCTP_BBR_ANY_VOLUME - 1);
	b->up_acked = (uint32_t)(up % b->up_acked_per_inc);
	if (b->round_start)
		raise_slope(c);
}

/* Acknowledgements of data that a probe sent begin and end one round after the probe. True
 * if the state changed. */
static bool follow_acks(struct sctp_bbr *b, const struct sctp_sample *s)
{
	if (!b->round_start)
		return false;
	if (b->acks == SCTP_BBR_ACKS_STARTING)
		b->acks = SCTP_BBR_ACKS_FEEDBACK;
	if (b->acks != SCTP_BBR_ACKS_STOPPING)
		return false;
	b->probe_sample = false;
	b->acks = SCTP_BBR_ACKS_INIT;
	if (!sctp_bbr_probes_bw(b))
		return false;
	if (!s->app_limited)
		sctp_bbr_next_cycle(b);
	if (!b->probe_precautionary || b->probe_too_high)
		return false;
	sctp_bbr_start_refill(b);
	return true;
}

/* AdaptLongTermModel(). */
static bool adapt_longterm(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	struct sctp_bbr *b = c->bbr;

	if (follow_acks(b, &k->s))
		return true;
	if (sctp_bbr_inflight_too_high(c, &k->s) || b->inflight_longterm == SCTP_BBR_ANY_VOLUME)
		return false;
	b->inflight_longterm = max_u32(b->inflight_longterm, k->s.in_flight);
	if (b->state == SCTP_BBR_UP)
		raise_inflight(c, k->s.acked);
	return false;
}

/* ---- one SACK ---- */

void sctp_bbr_cycle(struct sctp_cc *c, const struct sctp_bbr_ack *k)
{
	struct sctp_bbr *b = c->bbr;

	if (!b->full_bw_reached || adapt_longterm(c, k))
		return;
	switch (b->state) {
	case SCTP_BBR_DOWN:
		if (!is_time_to_probe(c, k->now_us) && is_time_to_cruise(c, k->flight))
			b->state = SCTP_BBR_CRUISE;
		break;
	case SCTP_BBR_CRUISE:
		(void)is_time_to_probe(c, k->now_us);
		break;
	case SCTP_BBR_REFILL:
		if (b->round_start) {
			b->probe_sample = true;
			start_up(c, k);
		}
		break;
	case SCTP_BBR_UP:
		if (is_time_to_go_down(c, k)) {
			b->probe_too_high = false;
			sctp_bbr_start_down(b, k->now_us);
		}
		break;
	default:
		break;
	}
}
