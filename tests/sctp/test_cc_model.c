/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: flows share a bottleneck fairly, lose no more goodput to random loss than a textbook
 * CUBIC TCP with SACK does, and keep their window on a path that reorders. */
#include <criterion/criterion.h>

#include "tests/sctp/cc_model.h"

enum { S = MODEL_SECOND, SEEDS = 3 };

/* A queue of one bandwidth-delay product each. On the short path a Reno flow recovers faster than
 * the cube: CUBIC's Reno-friendly region. On the long one CUBIC takes more than Reno by design. */
static const struct model_link long_path = {.mbit = 50, .rtt_us = 40000, .queue = 170};
static const struct model_link short_path = {.mbit = 20, .rtt_us = 20000, .queue = 34};

/* Mbit/s of a single flow, after its first 5 seconds. TSNs wrap on the way. */
static double run_alone(const struct model_link *link, enum model_kind kind, uint64_t seed,
			uint64_t seconds)
{
	model_set_up(link, seed);
	model_start(kind, UINT32_MAX - 1000);
	model_run_until(5 * (uint64_t)S);
	model_measure();
	model_run_until((5 + seconds) * S);
	return model_goodput(0);
}

/* The second flow begins when the first one has filled the link. */
static void check_shares(const struct model_link *link, enum model_kind first,
			 enum model_kind second, uint64_t seed)
{
	double a, b;

	model_set_up(link, seed);
	model_start(first, 1);
	model_run_until(S);
	model_start(second, 1);
	model_run_until(15 * (uint64_t)S);
	model_measure();
	model_run_until(75 * (uint64_t)S);
	a = model_goodput(0);
	b = model_goodput(1);
	cr_log_info("kinds %d and %d, seed %u: %.1f and %.1f Mbit/s", first, second, (unsigned)seed,
		    a, b);
	cr_assert(a > 0.35 * (a + b) && a < 0.65 * (a + b),
		  "kinds %d and %d, seed %u: %.1f and %.1f Mbit/s", first, second, (unsigned)seed,
		  a, b);
	cr_assert_gt(a + b, 0.9 * link->mbit, "%.1f and %.1f of %.1f Mbit/s", a, b, link->mbit);
}

Test(sctp_cc_model, two_flows_of_a_kind_share_fairly)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		check_shares(&long_path, RFC9260, RFC9260, seed);
		check_shares(&long_path, CUBIC, CUBIC, seed);
		check_shares(&short_path, RFC9260, RFC9260, seed);
		check_shares(&short_path, CUBIC, CUBIC, seed);
	}
}

Test(sctp_cc_model, cubic_is_fair_to_rfc9260_on_a_short_path)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		check_shares(&short_path, RFC9260, CUBIC, seed);
		check_shares(&short_path, CUBIC, RFC9260, seed);
	}
}

Test(sctp_cc_model, random_loss_costs_no_more_than_a_textbook_tcp)
{
	static const double loss[] = {0.01, 0.05};

	for (unsigned i = 0; i < 2; i++) {
		struct model_link link = long_path;
		double sum[3] = {0};

		link.loss = loss[i];
		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			for (enum model_kind k = RFC9260; k <= TEXTBOOK; k++)
				sum[k] += run_alone(&link, k, seed, 100) / SEEDS;
		cr_log_info("loss %.2f: RFC 9260 %.2f, CUBIC %.2f, textbook %.2f Mbit/s", loss[i],
			    sum[RFC9260], sum[CUBIC], sum[TEXTBOOK]);
		cr_assert_geq(sum[CUBIC], sum[TEXTBOOK], "loss %.2f: %.2f, textbook %.2f Mbit/s",
			      loss[i], sum[CUBIC], sum[TEXTBOOK]);
	}
}

Test(sctp_cc_model, lost_retransmissions_need_no_timeout)
{
	struct model_link link = long_path;

	link.loss = 0.05;
	run_alone(&link, CUBIC, 1, 100);
	cr_assert_leq(model_counts(0).timeouts, 2, "%u", model_counts(0).timeouts);
	cr_assert_gt(model_counts(0).reductions, 300);
}

Test(sctp_cc_model, reordering_does_not_collapse_the_window)
{
	static const uint64_t extra_us[] = {5000, 20000};

	for (unsigned i = 0; i < 2; i++)
		for (enum model_kind k = RFC9260; k <= TEXTBOOK; k++) {
			struct model_link link = long_path;
			double straight = run_alone(&link, k, 1, 20), reordered;
			struct model_counts n;

			link.reorder = 0.05;
			link.extra_us = extra_us[i];
			reordered = run_alone(&link, k, 1, 20);
			n = model_counts(0);
			cr_log_info("kind %d, %u us: %.1f of %.1f Mbit/s, %u reductions, %u undone",
				    k, (unsigned)extra_us[i], reordered, straight, n.reductions,
				    n.undone);
			if (k == TEXTBOOK) {
				cr_assert_lt(reordered, 0.5 * straight, "too little reordering");
				continue;
			}
			cr_assert_gt(reordered, 0.8 * straight, "kind %d: %.1f of %.1f Mbit/s", k,
				     reordered, straight);
			cr_assert_leq(n.reductions, 30, "kind %d: %u reductions", k, n.reductions);
		}
}
