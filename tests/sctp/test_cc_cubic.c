/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: CUBIC's window follows a floating-point model of RFC 9438 within 2 %, for any size and
 * any time. */
#include <criterion/criterion.h>

#include "sctp/path/cc.h"
#include "tests/sctp/cc_textbook.h"

enum { P = 1460, BIG = 1 << 30 };

static const uint32_t largest = UINT32_C(1) << 31;

static struct sctp_cc fresh(uint32_t pmdcs)
{
	struct sctp_cc c;

	sctp_cc_init(&c, SCTP_CC_CUBIC, pmdcs, false, UINT32_MAX);
	return c;
}

/* After a loss at this window. */
static struct sctp_cc after_loss(uint32_t pmdcs, uint32_t cwnd)
{
	struct sctp_cc c = fresh(pmdcs);

	c.cwnd = cwnd;
	sctp_cc_lost(&c, c.cwnd);
	return c;
}

/* One full window is acknowledged, spread over a round trip. */
static void full_round(struct sctp_cc *c, uint64_t *now, uint32_t rtt_us)
{
	uint32_t flight = c->cwnd, n = flight / c->pmdcs;

	n = n > 500 ? 500 : n;
	for (uint32_t i = 0; i < n; i++) {
		*now += rtt_us / n;
		sctp_cc_acked(c,
			      &(struct sctp_cc_ack){.bytes = flight / n,
						    .flight = flight,
						    .cum_advanced = true,
						    .limited = true,
						    .srtt_us = rtt_us},
			      *now);
	}
}

/* The same for the model. */
static void model_round(struct cc_textbook *m, double *now_s, double rtt_s)
{
	int n = (int)m->cwnd;
	double packets = m->cwnd / n;

	for (int i = 0; i < n; i++) {
		*now_s += rtt_s / n;
		cc_textbook_acked(m, packets, *now_s, rtt_s);
	}
}

Test(sctp_cc_cubic, the_window_follows_the_model)
{
	static const struct {
		uint32_t pmdcs, segments, rtt_us;
		int rounds;
	} row[] = {
		{P, 100, 100000, 200},   {P, 1000, 100000, 300},  {P, 1000, 10000, 3000},
		{P, 20, 1000, 3000},     {P, 50, 300000, 100},    {1188, 3000, 50000, 400},
		{65484, 100, 500, 2000}, {65484, 40, 30000, 800},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct sctp_cc c = after_loss(row[i].pmdcs, row[i].pmdcs * row[i].segments);
		struct cc_textbook m = {.cwnd = row[i].segments};
		double now_s = 0;
		uint64_t now = 5;

		/* Slow start does not leave ssthresh in the model. */
		c.ssthresh--;
		cc_textbook_reduce(&m, false);
		for (int n = 0; n < row[i].rounds && c.cwnd < 400000000; n++) {
			double is;

			full_round(&c, &now, row[i].rtt_us);
			model_round(&m, &now_s, row[i].rtt_us / 1e6);
			is = (double)c.cwnd / row[i].pmdcs;
			cr_assert(is > 0.98 * m.cwnd && is < 1.02 * m.cwnd,
				  "row %u, round %d: %f segments, model %f", i, n, is, m.cwnd);
		}
	}
}

Test(sctp_cc_cubic, the_old_window_is_reached_after_k_seconds)
{
	/* K = (1000 * 0.3 / 0.4)^(1/3) = 9.086 s */
	struct sctp_cc c = after_loss(P, 1000 * P);
	uint64_t now = 1;

	c.ssthresh--;
	full_round(&c, &now, 100000);
	cr_assert_float_eq(c.cubic.k_us, 9085603, 10000, "%u", c.cubic.k_us);
	while (now < 9085603)
		full_round(&c, &now, 100000);
	cr_assert_float_eq(c.cwnd, 1000.0 * P, 5.0 * P, "%u", c.cwnd / P);
}

Test(sctp_cc_cubic, loss)
{
	struct sctp_cc c = after_loss(P, 100 * P);

	cr_assert_eq(c.cwnd, 70 * P);
	cr_assert_eq(c.ssthresh, 70 * P);
	cr_assert_eq(c.cubic.w_max, 100 * P);
	sctp_cc_lost(&c, c.cwnd);
	cr_assert_eq(c.cwnd, 49 * P);
	cr_assert_eq(c.cubic.w_max, 70 * P * 17 / 20, "fast convergence");
	cr_assert_eq(c.cubic.prior, 70 * P);
}

Test(sctp_cc_cubic, an_expiry_starts_the_curve_where_slow_start_ends)
{
	struct sctp_cc c = fresh(P);
	uint64_t now = 1;

	c.cwnd = 100 * P;
	sctp_cc_timed_out(&c, c.cwnd);
	cr_assert_eq(c.cwnd, P);
	cr_assert_eq(c.ssthresh, 70 * P);
	while (c.cwnd <= c.ssthresh)
		full_round(&c, &now, 10000);
	full_round(&c, &now, 10000);
	cr_assert_eq(c.cubic.k_us, 0);
	cr_assert_geq(c.cubic.origin, 70 * P);
	cr_assert_leq(c.cubic.origin, 72 * P);
}

Test(sctp_cc_cubic, a_short_path_grows_as_reno_does)
{
	/* 20 segments, 1 ms: K is 2.5 s, in which the cube hardly grows. Reno's estimate wins. */
	struct sctp_cc c = after_loss(P, 20 * P);
	uint64_t now = 1;

	c.ssthresh--;
	for (int i = 0; i < 11; i++)
		full_round(&c, &now, 1000);
	cr_assert_float_eq(c.cwnd / (double)P, 14 + 11 * 9.0 / 17, 0.5, "%u", c.cwnd);
	for (int i = 0; i < 100; i++)
		full_round(&c, &now, 1000);
	cr_assert_gt(c.cwnd, 110 * P, "a segment per round trip beyond the old window");
}

Test(sctp_cc_cubic, time_without_full_use_does_not_grow_the_window)
{
	struct sctp_cc c = after_loss(P, 100 * P), busy;
	struct sctp_cc_ack few = {
		.bytes = P, .flight = 2 * P, .cum_advanced = true, .srtt_us = 10000};
	uint64_t now = 1, later;
	uint32_t before;

	c.ssthresh--;
	for (int i = 0; i < 50; i++)
		full_round(&c, &now, 10000);
	busy = c;
	before = c.cwnd;
	later = now;
	for (int i = 0; i < 6000; i++)
		sctp_cc_acked(&c, &few, later += 10000);
	cr_assert_eq(c.cwnd, before);
	for (int i = 0; i < 100; i++) {
		full_round(&c, &later, 10000);
		full_round(&busy, &now, 10000);
		cr_assert_float_eq(c.cwnd, busy.cwnd, P, "it goes on where it was");
	}
}

Test(sctp_cc_cubic, undo_restores_the_curve)
{
	struct sctp_cc c = after_loss(P, 1000 * P), same;
	uint64_t now = 1, then;

	c.ssthresh--;
	for (int i = 0; i < 300; i++)
		full_round(&c, &now, 50000);
	same = c;
	then = now;
	sctp_cc_lost(&c, c.cwnd);
	cr_assert_lt(c.cwnd, same.cwnd);
	sctp_cc_undo(&c);
	for (int i = 0; i < 20; i++) {
		full_round(&c, &now, 50000);
		full_round(&same, &then, 50000);
		cr_assert_eq(c.cwnd, same.cwnd);
	}
}

/* UBSan and the assertions find an overflow here. */
Test(sctp_cc_cubic, extreme_numbers)
{
	static const uint32_t pmdcs[] = {1, 488, 1460, 65535};
	static const uint64_t times[] = {0,         1,          1000,       1000000,
					 200000000, 1ULL << 40, 1ULL << 62, UINT64_MAX};
	static const uint32_t bytes[] = {0, 1, 65535, 1u << 31, UINT32_MAX};

	for (unsigned p = 0; p < 4; p++)
		for (unsigned t = 0; t < 8; t++)
			for (unsigned b = 0; b < 5; b++) {
				struct sctp_cc c = after_loss(pmdcs[p], largest);
				struct sctp_cc_ack a = {.bytes = bytes[b],
							.flight = UINT32_MAX,
							.cum_advanced = true,
							.srtt_us = UINT32_MAX,
							.rtt_us = UINT32_MAX};

				c.ssthresh = pmdcs[p];
				for (int i = 0; i < 3; i++) {
					uint32_t before = c.cwnd;

					sctp_cc_acked(&c, &a, times[t]);
					sctp_cc_acked(&c, &a, times[t] / 2);
					cr_assert_geq(c.cwnd, before);
					cr_assert_leq(c.cwnd, largest);
				}
				sctp_cc_timed_out(&c, c.cwnd);
				sctp_cc_lost(&c, c.cwnd);
				cr_assert_geq(c.cwnd, 1);
			}
}
