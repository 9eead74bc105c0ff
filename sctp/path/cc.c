/* SPDX-License-Identifier: BSD-2-Clause */
/* The common part of both algorithms: slow start with HyStart++, the use of the window, reductions,
 * idle time; and RFC 9260's congestion avoidance. */
#include "sctp/path/cc.h"

#include <assert.h>

#include "sctp/path/cc_ops.h"
#include "sctp/wire/tsn.h"
#include "util/minmax.h"

enum {
	MAX_PMDCS = 65535,
	FLOOR = 4, /* packets: least ssthresh (7.2.3) */
	/* RFC 9406 4.3 */
	MIN_RTT_THRESH_US = 4000,
	MAX_RTT_THRESH_US = 16000,
	MIN_RTT_DIVISOR = 8,
	RTT_SAMPLES = 8,
	CSS_GROWTH_DIVISOR = 4,
	CSS_ROUNDS = 5,
	/* RFC 7661 4.4.3: a window that is not in use is kept so long */
	UNUSED_US = 300 * 1000000,
};

static const uint32_t max_window = UINT32_C(1) << 31;
static const uint32_t ssthresh_unknown = UINT32_MAX;

/* ---- RFC 9260 7.2.2, 7.2.3 ---- */

static void rfc9260_avoid(struct sctp_cc *c, const struct sctp_cc_ack *a, bool full,
			  uint64_t now_us)
{
	uint64_t partial = (uint64_t)c->partial + a->bytes;

	(void)now_us;
	if (!full && partial > c->cwnd)
		partial = c->cwnd;
	if (full && partial >= c->cwnd) {
		partial -= c->cwnd;
		sctp_cc_raise(c, c->pmdcs);
	}
	c->partial = partial < c->cwnd ? (uint32_t)partial : c->cwnd;
}

static uint32_t rfc9260_reduce(struct sctp_cc *c, bool timeout)
{
	(void)timeout;
	return c->cwnd / 2;
}

static void rfc9260_rest(struct sctp_cc *c)
{
	c->ssthresh = c->cwnd;
}

static const struct sctp_cc_ops rfc9260_ops = {
	.limit = 1,
	.literal = true,
	.avoid = rfc9260_avoid,
	.reduce = rfc9260_reduce,
	.rest = rfc9260_rest,
	.pacing_rate = sctp_cc_window_rate,
};

/* ---- initial window ---- */

/* 7.2.1. BBR, which somebody has to choose, begins as it does with TCP and QUIC: RFC 6928. */
static uint32_t initial_cwnd(const struct sctp_cc *c)
{
	if (c->ops->model)
		return min_u32(10 * c->pmdcs, max_u32(2 * c->pmdcs, 14600));
	return min_u32(4 * c->pmdcs, max_u32(2 * c->pmdcs, c->v6 ? 4344 : 4404));
}

static const struct sctp_cc_ops *find_ops(enum sctp_cc_algo algo)
{
	switch (algo) {
	case SCTP_CC_BBR:
		return &sctp_cc_bbr_ops;
	case SCTP_CC_CUBIC:
		return &sctp_cc_cubic_ops;
	default:
		return &rfc9260_ops;
	}
}

void sctp_cc_init(struct sctp_cc *c, enum sctp_cc_algo algo, uint32_t pmdcs, bool v6,
		  uint32_t max_cwnd)
{
	assert(pmdcs > 0 && pmdcs <= MAX_PMDCS);
	*c = (struct sctp_cc){
		.ops = find_ops(algo),
		.ssthresh = ssthresh_unknown,
		.pmdcs = pmdcs,
		.max_cwnd = min_u32(max_cwnd, max_window),
		.v6 = v6,
		.fresh = true,
		.hystart = {.last_min_us = UINT32_MAX, .min_us = UINT32_MAX},
	};
	c->cwnd = initial_cwnd(c);
}

void sctp_cc_set_pmdcs(struct sctp_cc *c, uint32_t pmdcs)
{
	assert(pmdcs > 0 && pmdcs <= MAX_PMDCS);
	c->pmdcs = pmdcs;
	if (c->fresh)
		c->cwnd = initial_cwnd(c);
	c->cwnd = max_u32(c->cwnd, pmdcs);
}

/* ---- HyStart++ (RFC 9406): only while ssthresh is unknown ---- */

/* Conservative slow start lasts some rounds unless the delay turns out to be jitter. */
static void end_round(struct sctp_cc *c, uint32_t next_tsn)
{
	struct sctp_cc_hystart *h = &c->hystart;

	if (h->samples) {
		h->last_min_us = h->min_us;
		h->min_us = UINT32_MAX;
		h->samples = 0;
	}
	h->round_end = next_tsn - 1;
	h->round_open = true;
	if (h->in_css && ++h->css_rounds >= CSS_ROUNDS) {
		h->in_css = false;
		if (c->ssthresh == ssthresh_unknown)
			c->ssthresh = c->cwnd;
	}
}

static void check_delay(struct sctp_cc_hystart *h)
{
	uint32_t thresh = max_u32(MIN_RTT_THRESH_US,
				  min_u32(h->last_min_us / MIN_RTT_DIVISOR, MAX_RTT_THRESH_US));

	if (h->samples < RTT_SAMPLES)
		return;
	if (h->in_css) {
		h->in_css = h->min_us >= h->css_baseline_us;
	} else if (h->last_min_us != UINT32_MAX && h->min_us >= (uint64_t)h->last_min_us + thresh) {
		h->in_css = true;
		h->css_rounds = 0;
		h->css_baseline_us = h->min_us;
	}
}

/* One sample per packet: rounds with few SACKs have enough of them. A single SACK is not: it may
 * have been delayed. */
static unsigned count_samples(const struct sctp_cc *c, uint32_t bytes)
{
	return max_u32(1, min_u32(bytes / c->pmdcs, RTT_SAMPLES / 2));
}

static void hystart(struct sctp_cc *c, const struct sctp_cc_ack *a)
{
	struct sctp_cc_hystart *h = &c->hystart;

	if (a->rtt_us) {
		h->min_us = min_u32(h->min_us, a->rtt_us);
		h->samples += count_samples(c, a->bytes);
		if (c->ssthresh == ssthresh_unknown)
			check_delay(h);
	}
	if (!h->round_open || !sctp_tsn_before(a->cum, h->round_end))
		end_round(c, a->next_tsn);
}

/* ---- use of the window ---- */

static bool by_round_trips(const struct sctp_cc *c)
{
	return c->paced && !c->ops->literal;
}

/* RFC 7661 4.3: the path carries half of it at least. Bytes in flight count as well: in slow
 * start the window is twice the acknowledged bytes. */
static uint32_t window_in_use(const struct sctp_cc *c, uint32_t flight)
{
	return max_u32(sctp_pipe_ack_bytes(&c->pipe_ack), flight);
}

static bool is_validated(const struct sctp_cc *c, uint32_t flight)
{
	return !by_round_trips(c) || c->cwnd / 2 <= window_in_use(c, flight);
}

/* RFC 7661 4.4.3 */
static void age_window(struct sctp_cc *c, uint64_t now_us)
{
	uint32_t floor = FLOOR * c->pmdcs;

	for (; now_us - c->validated_us >= UNUSED_US && c->cwnd > floor;
	     c->validated_us += UNUSED_US) {
		c->ssthresh = max_u32(c->ssthresh, c->cwnd - c->cwnd / 4);
		c->cwnd = max_u32(c->cwnd / 2, floor);
	}
}

static void validate(struct sctp_cc *c, const struct sctp_cc_ack *a, uint64_t now_us)
{
	if (c->validated_us == 0 || now_us < c->validated_us || c->cwnd <= FLOOR * c->pmdcs ||
	    is_validated(c, a->flight))
		c->validated_us = now_us;
	else
		age_window(c, now_us);
}

/* Was the window in full use? On a paced path the round trip decides: the window was reached in it,
 * or in slow start half of the window, which an acknowledged round trip doubles. */
static bool in_full_use(struct sctp_cc *c, const struct sctp_cc_ack *a)
{
	bool full = a->limited || a->flight >= c->cwnd;
	struct sctp_cc_use *u = &c->use;

	if (!by_round_trips(c))
		return full;
	if (full || !u->open || !sctp_tsn_before(a->cum, u->end) ||
	    (!u->full && a->flight > u->flight))
		*u = (struct sctp_cc_use){
			.end = a->next_tsn, .flight = a->flight, .full = full, .open = true};
	return u->full || (c->cwnd <= c->ssthresh && c->cwnd / 2 < u->flight);
}

/* ---- growth ---- */

/* 7.2.1. A step larger than a packet does not carry the window far beyond ssthresh. */
static void slow_start(struct sctp_cc *c, uint32_t bytes)
{
	uint64_t end = (uint64_t)c->ssthresh + c->pmdcs;
	uint32_t step = bytes;

	if (!by_round_trips(c))
		step = min_u32(step, c->ops->limit * c->pmdcs);
	if (c->hystart.in_css)
		step /= CSS_GROWTH_DIVISOR;
	if (c->cwnd + (uint64_t)step > end)
		step = (uint32_t)(end - c->cwnd);
	sctp_cc_raise(c, step);
}

/* Bytes that slow start counts: with those that were acknowledged while the cumulative TSN stood.
 */
static uint32_t credit_gaps(struct sctp_cc *c, const struct sctp_cc_ack *a)
{
	uint32_t held = by_round_trips(c) ? c->gap_acked : 0,
		 bytes = min_u32(a->bytes, UINT32_MAX - held) + held;

	c->gap_acked = by_round_trips(c) && !a->cum_advanced ? bytes : 0;
	return bytes;
}

static void grow(struct sctp_cc *c, const struct sctp_cc_ack *a, uint64_t now_us)
{
	bool full = in_full_use(c, a);
	uint32_t bytes = credit_gaps(c, a);

	if (c->cwnd > c->ssthresh)
		c->ops->avoid(c, a, full, now_us);
	else if (full && a->cum_advanced)
		slow_start(c, bytes);
}

void sctp_cc_acked(struct sctp_cc *c, const struct sctp_cc_ack *a, uint64_t now_us)
{
	uint32_t before = c->cwnd;

	c->paced = a->paced;
	if (a->bytes) {
		c->one_packet = false;
		c->idle = false;
	}
	sctp_pipe_ack_add(&c->pipe_ack, a->bytes, a->cum, a->next_tsn, a->all_acked, a->srtt_us,
			  now_us);
	if (c->ops->model) {
		c->fresh = c->fresh && !a->bytes;
		return;
	}
	hystart(c, a);
	if (a->recovery) {
		c->gap_acked = 0;
	} else {
		validate(c, a, now_us);
		grow(c, a, now_us);
	}
	if (a->all_acked)
		c->partial = 0;
	c->fresh = c->fresh && c->cwnd == before;
}

/* ---- reductions ---- */

static void reduce_window(struct sctp_cc *c, bool timeout, uint32_t flight)
{
	uint32_t floor = FLOOR * c->pmdcs;

	c->undo.cwnd = c->cwnd;
	c->undo.ssthresh = c->ssthresh;
	c->undo.cubic = c->cubic;
	/* RFC 7661 4.4.1: an unused window is no measure of the path. */
	if (!is_validated(c, flight))
		c->cwnd = min_u32(c->cwnd, max_u32(window_in_use(c, flight), floor));
	c->ssthresh = max_u32(c->ops->reduce(c, timeout), floor);
	c->partial = c->gap_acked = 0;
	c->use.open = false;
	c->fresh = false;
	c->hystart.in_css = false;
}

void sctp_cc_lost(struct sctp_cc *c, uint32_t flight)
{
	if (c->ops->model) {
		c->ops->model->lost(c);
		return;
	}
	reduce_window(c, false, flight);
	c->cwnd = min_u32(c->cwnd, c->ssthresh);
	if (!c->ops->literal)
		sctp_prr_begin(&c->prr, flight);
}

void sctp_cc_recover(struct sctp_cc *c, const struct sctp_prr_ack *a)
{
	sctp_prr_acked(&c->prr, a, c->cwnd, c->pmdcs); /* that is ssthresh, or less */
}

void sctp_cc_timed_out(struct sctp_cc *c, uint32_t flight)
{
	bool again = c->one_packet;

	if (c->ops->model)
		c->ops->model->timed_out(c);
	else if (again)
		c->ssthresh = FLOOR * c->pmdcs;
	else
		reduce_window(c, true, flight);
	c->cwnd = c->pmdcs;
	c->one_packet = true;
	sctp_prr_end(&c->prr);
}

void sctp_cc_undo(struct sctp_cc *c)
{
	if (c->ops->model)
		c->ops->model->undo(c);
	if (!c->undo.cwnd)
		return;
	c->cwnd = max_u32(c->cwnd, c->undo.cwnd);
	c->ssthresh = max_u32(c->ssthresh, c->undo.ssthresh);
	c->cubic = c->undo.cubic;
	c->partial = 0;
	c->one_packet = false;
	c->undo.cwnd = 0;
	sctp_prr_end(&c->prr);
}

/* ---- idle time, bursts, rate ---- */

void sctp_cc_idle(struct sctp_cc *c, uint64_t idle_us, uint32_t rto_us, uint64_t now_us)
{
	uint64_t times = rto_us ? idle_us / rto_us : 0;
	uint32_t floor = FLOOR * c->pmdcs;

	if (!times || c->ops->model)
		return;
	c->cubic.epoch_us = 0;
	if (by_round_trips(c)) {
		age_window(c, now_us);
		return;
	}
	if (c->cwnd <= floor)
		return;
	if (!c->idle)
		c->ops->rest(c);
	c->idle = true;
	c->fresh = false;
	for (; times && c->cwnd > floor; times--)
		c->cwnd = max_u32(c->cwnd / 2, floor);
}

void sctp_cc_burst(struct sctp_cc *c, uint32_t flight, unsigned packets)
{
	c->burst_from = flight;
	c->burst = packets;
}

uint64_t sctp_cc_pacing_rate(const struct sctp_cc *c, uint32_t srtt_us)
{
	return srtt_us ? c->ops->pacing_rate(c, srtt_us) : 0;
}
