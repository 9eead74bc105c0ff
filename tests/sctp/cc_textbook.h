/* SPDX-License-Identifier: BSD-2-Clause */
/* The window of a textbook CUBIC TCP (RFC 9438) in floating point, to compare with: packets and
 * seconds. */
#ifndef TESTS_SCTP_CC_TEXTBOOK_H
#define TESTS_SCTP_CC_TEXTBOOK_H

#include <stdbool.h>

struct cc_textbook {
	double cwnd, ssthresh, w_max, prior, k, est;
	double epoch_s; /* below 0: no epoch runs */
};

static inline double cc_textbook_cube_root(double x)
{
	double y = x > 1 ? x : 1;

	for (int i = 0; i < 200; i++)
		y -= (y * y * y - x) / (3 * y * y);
	return y;
}

static inline void cc_textbook_begin_epoch(struct cc_textbook *t, double now_s)
{
	t->epoch_s = now_s;
	t->est = t->cwnd;
	if (t->w_max < t->cwnd)
		t->w_max = t->cwnd;
	t->k = t->w_max > t->cwnd ? cc_textbook_cube_root((t->w_max - t->cwnd) / 0.4) : 0;
}

static inline double cc_textbook_cube(const struct cc_textbook *t, double at_s)
{
	double d = at_s - t->epoch_s - t->k;

	return t->w_max + 0.4 * d * d * d;
}

/* packets were acknowledged outside of recovery, the window being in full use. */
static inline void cc_textbook_acked(struct cc_textbook *t, double packets, double now_s,
				     double rtt_s)
{
	double target;

	if (t->cwnd < t->ssthresh) {
		t->cwnd += packets;
		return;
	}
	if (t->epoch_s < 0)
		cc_textbook_begin_epoch(t, now_s);
	target = cc_textbook_cube(t, now_s + rtt_s);
	if (target > 1.5 * t->cwnd)
		target = 1.5 * t->cwnd;
	t->est += (t->est < t->prior ? 9.0 / 17 : 1) * packets / t->cwnd;
	if (cc_textbook_cube(t, now_s) < t->est)
		t->cwnd = t->est > t->cwnd ? t->est : t->cwnd;
	else if (target > t->cwnd)
		t->cwnd += packets * (target - t->cwnd) / t->cwnd;
}

static inline void cc_textbook_reduce(struct cc_textbook *t, bool timeout)
{
	t->prior = t->cwnd;
	t->w_max = t->cwnd < t->w_max ? t->cwnd * 0.85 : t->cwnd;
	t->ssthresh = t->cwnd * 0.7 > 2 ? t->cwnd * 0.7 : 2;
	t->cwnd = timeout ? 1 : t->ssthresh;
	t->epoch_s = -1;
}

#endif
