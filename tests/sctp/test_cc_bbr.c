/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: BBR finds the rate of a path whatever is lost there at random, keeps its queue short,
 * and its states follow each other as draft-ietf-ccwg-bbr has them. */
#include <criterion/criterion.h>

#include "tests/sctp/bbr_link.h"

enum { MBIT = 1000000 / 8 };

static const struct bbr_link plain = {.rate = 100 * MBIT, .rtt_us = 20000, .queue_us = 20000};

static uint64_t bdp(const struct bbr_link *l)
{
	return l->rate * l->rtt_us / 1000000;
}

static double share(struct bbr_run *r, double from_s, double to_s)
{
	uint64_t before;

	bbr_run_until(r, (uint64_t)(from_s * 1e6));
	before = r->arrived;
	bbr_run_until(r, (uint64_t)(to_s * 1e6));
	return (double)(r->arrived - before) / ((double)r->link.rate * (to_s - from_s));
}

Test(sctp_cc_bbr, startup_finds_the_rate_and_drains_its_queue)
{
	struct bbr_run *r = bbr_run_begin(&plain, 1);
	uint64_t rate = plain.rate;

	bbr_run_until_state(r, SCTP_BBR_DRAIN, 1000000);
	cr_assert_lt(r->now, 400000, "%u us", (unsigned)r->now);
	bbr_run_until_state(r, SCTP_BBR_CRUISE, 1000000);
	cr_assert_lt(r->now, 400000, "%u us", (unsigned)r->now);
	cr_assert_leq(r->flight, bdp(&plain) * 11 / 10);
	cr_assert(r->model.full_bw_reached);
	cr_assert(r->model.bw > rate * 98 / 100 && r->model.bw < rate * 103 / 100, "%u",
		  (unsigned)r->model.bw);
}

/* Drain and ProbeBW_DOWN end at once if the flight is no larger than the path. */
Test(sctp_cc_bbr, the_states_follow_each_other)
{
	static const enum sctp_bbr_state order[] = {
		SCTP_BBR_DRAIN, SCTP_BBR_CRUISE, SCTP_BBR_REFILL, SCTP_BBR_UP,
		SCTP_BBR_DOWN,  SCTP_BBR_CRUISE, SCTP_BBR_REFILL, SCTP_BBR_UP,
		SCTP_BBR_DOWN,  SCTP_BBR_CRUISE, SCTP_BBR_REFILL,
	};
	struct bbr_run *r = bbr_run_begin(&plain, 1);

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		cr_assert_eq(bbr_run_next_state(r), order[i], "change %u: %u", i, r->model.state);
}

Test(sctp_cc_bbr, the_path_is_used_and_the_queue_is_short)
{
	struct bbr_run *r = bbr_run_begin(&plain, 1);
	double used;

	bbr_run_until(r, 2000000);
	r->queue_us_sum = r->queue_samples = 0;
	used = share(r, 2, 20);
	cr_assert_gt(used, 0.96, "%.3f", used);
	cr_assert_lt(r->queue_us_sum / r->queue_samples, plain.rtt_us / 20, "%u us",
		     (unsigned)(r->queue_us_sum / r->queue_samples));
}

Test(sctp_cc_bbr, random_loss_costs_little)
{
	static const struct {
		double loss, least;
	} row[] = {{0.0001, 0.95}, {0.001, 0.94}, {0.01, 0.85}};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bbr_link l = plain;
		double used;

		l.loss = row[i].loss;
		used = share(bbr_run_begin(&l, 1), 2, 30);
		cr_assert_gt(used, row[i].least, "loss %.4f: %.3f", l.loss, used);
	}
}

Test(sctp_cc_bbr, a_short_queue_is_enough)
{
	struct bbr_link l = plain;
	double used;

	l.queue_us = 2000;
	used = share(bbr_run_begin(&l, 1), 2, 20);
	cr_assert_gt(used, 0.85, "%.3f", used);
}

/* A flow that ignores losses fills the queue all the time. Who gives up a part with each round has
 * little left at the next probe. */
Test(sctp_cc_bbr, losses_that_others_cause_lower_the_bounds_of_one_cycle_only)
{
	struct bbr_run *r = bbr_run_begin(&plain, 1);
	uint32_t longterm = (uint32_t)bdp(&plain) * 2;

	bbr_run_until(r, 3000000);
	cr_assert(bbr_run_until_state(r, SCTP_BBR_CRUISE, 5000000));
	r->model.inflight_longterm = longterm;
	r->link.loss = 0.1;
	bbr_run_until(r, r->now + 200000);
	cr_assert_eq(r->model.state, SCTP_BBR_CRUISE);
	cr_assert_lt(r->model.inflight_shortterm, longterm);
	cr_assert_geq(r->model.inflight_longterm, longterm, "%u, not %u",
		      (unsigned)r->model.inflight_longterm, (unsigned)longterm);
}

/* Others fill the queue at the third second, and it stays full. */
Test(sctp_cc_bbr, the_round_trip_is_measured_with_a_short_flight_after_five_seconds_in_a_queue)
{
	struct bbr_run *r = bbr_run_begin(&plain, 1);

	bbr_run_until(r, 3000000);
	r->link.rtt_us += 5000;
	cr_assert(bbr_run_until_state(r, SCTP_BBR_PROBE_RTT, 6000000));
	cr_assert_gt(r->now, 7000000);
	bbr_run_until(r, r->now + 100000);
	cr_assert_leq(r->flight, bdp(&plain) * 6 / 10);
	cr_assert(bbr_run_until_state(r, SCTP_BBR_CRUISE, 600000));
	cr_assert_leq(r->model.min_rtt_us, plain.rtt_us + 2000);
}

/* Its own probes leave an empty queue, and hosts are not exact to the microsecond. */
Test(sctp_cc_bbr, a_flow_that_is_alone_needs_no_short_flight)
{
	struct bbr_run *r = bbr_run_begin(&plain, 1);

	bbr_run_until(r, 1000000);
	r->link.rtt_us += 200;
	cr_assert_not(bbr_run_until_state(r, SCTP_BBR_PROBE_RTT, 30000000));
	cr_assert_gt(share(r, 31, 41), 0.975);
}

/* The queue of another flow made the round trip look long. */
Test(sctp_cc_bbr, a_longer_route_is_believed_after_ten_seconds)
{
	struct bbr_run *r = bbr_run_begin(&plain, 1);

	bbr_run_until(r, 3000000);
	r->link.rtt_us = 60000;
	bbr_run_until(r, 25000000);
	cr_assert_geq(r->model.min_rtt_us, 60000);
	cr_assert_gt(share(r, 25, 35), 0.9);
}

Test(sctp_cc_bbr, a_user_with_little_to_send_does_not_lower_the_rate)
{
	struct bbr_run *r = bbr_run_begin(&plain, 1);
	uint64_t bw;

	bbr_run_until(r, 3000000);
	bw = r->model.bw;
	r->user_rate = plain.rate / 10;
	bbr_run_until(r, 10000000);
	cr_assert_geq(r->model.bw, bw * 95 / 100, "%u of %u", (unsigned)r->model.bw, (unsigned)bw);
	r->user_rate = 0;
	cr_assert_gt(share(r, 10.2, 11), 0.85);
}

Test(sctp_cc_bbr, a_faster_path_is_found)
{
	struct bbr_link l = plain;
	struct bbr_run *r;

	l.rate /= 10;
	r = bbr_run_begin(&l, 1);
	bbr_run_until(r, 4000000);
	r->link.rate = plain.rate;
	cr_assert_gt(share(r, 14, 20), 0.85);
}

Test(sctp_cc_bbr, a_faster_path_is_found_with_random_loss)
{
	for (uint32_t seed = 1; seed <= 5; seed++) {
		struct bbr_link l = plain;
		struct bbr_run *r;
		double used;

		l.rate /= 50;
		l.loss = 0.01;
		r = bbr_run_begin(&l, seed);
		bbr_run_until(r, 2000000);
		r->link.rate = plain.rate;
		used = share(r, 3, 5);
		cr_assert_gt(used, 0.6, "seed %u: %.3f", seed, used);
	}
}

Test(sctp_cc_bbr, a_slower_path_is_believed_after_two_cycles)
{
	struct bbr_run *r = bbr_run_begin(&plain, 1);

	bbr_run_until(r, 4000000);
	r->link.rate /= 10;
	bbr_run_until(r, 14000000);
	cr_assert_leq(r->model.bw, r->link.rate * 11 / 10, "%u", (unsigned)r->model.bw);
	cr_assert_gt(share(r, 14, 20), 0.8);
}

Test(sctp_cc_bbr, a_timeout_leaves_one_packet_and_recovery_the_window)
{
	struct bbr_run *r = bbr_run_begin(&plain, 1);
	uint32_t cwnd;

	bbr_run_until(r, 3000000);
	cwnd = r->cc.cwnd;
	sctp_cc_timed_out(&r->cc, r->cc.cwnd);
	cr_assert_eq(r->cc.cwnd, r->cc.pmdcs);
	sctp_cc_bbr_recovered(&r->cc);
	cr_assert_eq(r->cc.cwnd, cwnd);
}

Test(sctp_cc_bbr, a_needless_recovery_is_undone)
{
	struct bbr_run *r = bbr_run_begin(&plain, 1);
	uint32_t cwnd;

	cr_assert(bbr_run_until_state(r, SCTP_BBR_UP, 5000000));
	cwnd = r->cc.cwnd;
	sctp_cc_lost(&r->cc, r->cc.cwnd);
	bbr_run_lose(r, 20);
	cr_assert_eq(r->model.state, SCTP_BBR_DOWN);
	cr_assert_neq(r->model.inflight_longterm, SCTP_BBR_ANY_VOLUME);
	sctp_cc_undo(&r->cc);
	cr_assert_eq(r->model.state, SCTP_BBR_REFILL);
	cr_assert_eq(r->model.inflight_longterm, SCTP_BBR_ANY_VOLUME);
	cr_assert_geq(r->cc.cwnd, cwnd);
}

Test(sctp_cc_bbr, without_memory_a_path_uses_cubic)
{
	struct sctp_cc c;

	sctp_cc_init(&c, SCTP_CC_BBR, 1460, false, 1 << 30);
	cr_assert(sctp_cc_bbr_wanted(&c));
	sctp_cc_bbr_begin(&c, NULL, 1, 0);
	cr_assert_not(sctp_cc_bbr_wanted(&c));
	cr_assert_null(sctp_cc_bbr_delivery(&c));
	sctp_cc_lost(&c, c.cwnd);
	cr_assert_lt(c.ssthresh, UINT32_MAX);
}
