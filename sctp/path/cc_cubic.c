/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CUBIC (RFC 9438) in integers. The window is in bytes, a "segment" of the RFC is PMDCS. C = 0.4
 * segments/s^3, beta = 0.7, alpha = 3 (1 - beta) / (1 + beta) = 9/17.
 */
#include "sctp/path/cc_ops.h"

enum {
	/* The cube of a longer time would not fit; it is beyond any window. */
	MAX_TIME_US = 200 * 1000000,
	EST_SCALE = 4096,
};

static const uint32_t max_bytes = UINT32_C(1) << 31;

/* C * t^3 in bytes: 2/5 * pmdcs * (t/10^6)^3. At most 1.1 * 10^18 before the last division. */
static uint64_t cube(uint32_t pmdcs, uint64_t t_us)
{
	uint64_t t2, t3;

	if (t_us > MAX_TIME_US)
		t_us = MAX_TIME_US;
	t2 = t_us * t_us / 1000000;
	t3 = t2 * t_us / 1000000;
	return 2 * pmdcs * t3 / 5000000;
}

/* The least time with cube() >= bytes: K. Needed once per epoch, so that bisection is good enough.
 */
static uint32_t cube_root(uint32_t pmdcs, uint32_t bytes)
{
	uint32_t low = 0, high = MAX_TIME_US;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (cube(pmdcs, mid) >= bytes)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* 4.2, 4.8: an epoch begins with the first growth in congestion avoidance. */
static void begin_epoch(struct sctp_cc *c, uint64_t now_us)
{
	struct sctp_cc_cubic *q = &c->cubic;

	q->epoch_us = q->seen_us = now_us ? now_us : 1;
	q->w_est_q = (uint64_t)c->cwnd * EST_SCALE;
	q->rest = 0;
	if (c->cwnd < q->w_max) {
		q->origin = q->w_max;
		q->k_us = cube_root(c->pmdcs, q->w_max - c->cwnd);
	} else {
		q->origin = c->cwnd;
		q->k_us = 0;
	}
}

static uint32_t w_cubic(const struct sctp_cc *c, uint64_t t_us)
{
	const struct sctp_cc_cubic *q = &c->cubic;
	uint64_t d;

	if (t_us < q->k_us) {
		d = cube(c->pmdcs, q->k_us - t_us);
		return d < q->origin ? (uint32_t)(q->origin - d) : 0;
	}
	d = q->origin + cube(c->pmdcs, t_us - q->k_us);
	return d < max_bytes ? (uint32_t)d : max_bytes;
}

/* 4.3: the estimated window of Reno. alpha is 1 once the window before the loss is reached
 * again. */
static uint32_t grow_estimate(struct sctp_cc *c, uint32_t bytes)
{
	struct sctp_cc_cubic *q = &c->cubic;
	uint64_t step = (uint64_t)EST_SCALE * c->pmdcs * bytes / c->cwnd;

	if (q->w_est_q / EST_SCALE < q->prior)
		step = step * 9 / 17;
	q->w_est_q += step;
	if (q->w_est_q > (uint64_t)max_bytes * EST_SCALE)
		q->w_est_q = (uint64_t)max_bytes * EST_SCALE;
	return (uint32_t)(q->w_est_q / EST_SCALE);
}

/* 4.4, 4.5: (target - cwnd) / cwnd per acknowledged byte, the target being at most 1.5 cwnd. */
static void approach(struct sctp_cc *c, uint32_t target, uint32_t bytes)
{
	struct sctp_cc_cubic *q = &c->cubic;
	uint64_t distance, sum;

	if (target <= c->cwnd)
		return;
	distance = target - c->cwnd;
	if (distance > c->cwnd / 2)
		distance = c->cwnd / 2;
	sum = distance * bytes + q->rest;
	q->rest = (uint32_t)(sum % c->cwnd);
	sctp_cc_raise(c, (uint32_t)(sum / c->cwnd));
}

/* Time in which the window was not in full use does not count (5.8). */
static uint64_t epoch_time(struct sctp_cc *c, bool full, uint64_t now_us)
{
	struct sctp_cc_cubic *q = &c->cubic;

	if (now_us < q->seen_us)
		now_us = q->seen_us;
	if (!full)
		q->epoch_us += now_us - q->seen_us;
	q->seen_us = now_us;
	return now_us - q->epoch_us;
}

static void avoid(struct sctp_cc *c, const struct sctp_cc_ack *a, bool full, uint64_t now_us)
{
	uint32_t bytes = a->bytes < c->cwnd ? a->bytes : c->cwnd, est;
	uint64_t t;

	if (!c->cubic.epoch_us) {
		if (!full)
			return;
		begin_epoch(c, now_us);
	}
	t = epoch_time(c, full, now_us);
	if (!full)
		return;
	est = grow_estimate(c, bytes);
	if (w_cubic(c, t) >= est)
		approach(c, w_cubic(c, t + a->srtt_us), bytes);
	else if (est > c->cwnd)
		sctp_cc_raise(c, est - c->cwnd);
}

/* 4.6, 4.7 (fast convergence). After a timeout the curve begins where slow start ends (4.8). */
static uint32_t cubic_reduce(struct sctp_cc *c, bool timeout)
{
	struct sctp_cc_cubic *q = &c->cubic;

	q->prior = c->cwnd;
	if (timeout)
		q->w_max = 0;
	else if (c->cwnd < q->w_max)
		q->w_max = (uint32_t)((uint64_t)c->cwnd * 17 / 20);
	else
		q->w_max = c->cwnd;
	q->epoch_us = 0;
	return (uint32_t)((uint64_t)c->cwnd * 7 / 10);
}

static void rest(struct sctp_cc *c)
{
	if (c->ssthresh < c->cwnd)
		c->ssthresh = c->cwnd;
}

/* limit: RFC 9406 4.3 recommends it for a sender that does not pace. */
const struct sctp_cc_ops sctp_cc_cubic_ops = {
	.limit = 8,
	.avoid = avoid,
	.reduce = cubic_reduce,
	.rest = rest,
	.pacing_rate = sctp_cc_window_rate,
};
