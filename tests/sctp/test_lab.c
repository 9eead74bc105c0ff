/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: over the links of the laboratory, bulk data with CUBIC has the goodput below, and bad
 * links end no association. tests/sctp/lab/lab measures other links and flows by hand. */
#include <criterion/criterion.h>

#include "sctp/base/assoc.h"
#include "sctp/base/path.h"
#include "sctp/path/bbr.h"
#include "tests/sctp/lab/lab.h"

static double goodput(const struct lab_config *c)
{
	double sum = 0;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct lab_config one = *c;
		struct lab *l;

		one.seed = seed;
		l = lab_new(&one);
		lab_run(l, one.time_s + 0.5);
		cr_assert(l->flow[0].up && !l->flow[0].down, "the association ended");
		sum += lab_flow_rate(&l->flow[0], 0, l->flow[0].seconds) / 3;
		lab_free(l);
	}
	return sum;
}

struct row {
	const char *link;
	enum sctp_cc_algo algo;
	double seconds, least;
};

static void check_rows(const struct row *row, unsigned n, uint32_t gather_us)
{
	for (unsigned i = 0; i < n; i++) {
		struct lab_config c = lab_config(lab_link_find(row[i].link));
		const char *algo = row[i].algo == SCTP_CC_BBR ? "bbr" : "cubic";
		double ours;

		c.time_s = row[i].seconds;
		c.flow[0].algo = row[i].algo;
		c.gather_us = gather_us;
		ours = goodput(&c);
		cr_log_info("%s %s: %.2f MB/s", row[i].link, algo, ours);
		cr_expect_geq(ours, row[i].least, "%s %s: %.2f MB/s, not %.2f", row[i].link, algo,
			      ours, row[i].least);
	}
}

#define CHECK_ROWS(row, gather_us) check_rows(row, sizeof(row) / sizeof((row)[0]), gather_us)

/* MB/s, about 9 of 10 of what a sender has that does not pace. */
Test(lab, bad_links_cost_no_more_than_before)
{
	static const struct row row[] = {
		{"100m20-loss5", SCTP_CC_CUBIC, 30, 0.46},
		{"100m20-loss20", SCTP_CC_CUBIC, 30, 0.14},
		{"100m20-burst256", SCTP_CC_CUBIC, 30, 4.8},
		{"100m20-burst256", SCTP_CC_BBR, 30, 8},
	};

	CHECK_ROWS(row, 60);
}

/* From a cold start. With CUBIC, Linux's TCP reaches 35.9, 6.4, 1.6, 26.9, 22.4 and 31.5. */
Test(lab, a_link_of_300_mbit_is_used)
{
	static const struct row row[] = {
		{"300m10", SCTP_CC_CUBIC, 6, 35.2},
		{"300m10", SCTP_CC_BBR, 6, 35.2},
		{"300m10-loss0.1", SCTP_CC_CUBIC, 6, 6.4},
		{"300m10-loss0.1", SCTP_CC_BBR, 6, 33.5},
		{"300m10-loss1", SCTP_CC_CUBIC, 6, 1.6},
		{"300m10-loss1", SCTP_CC_BBR, 6, 33},
		{"300m10-reorder2", SCTP_CC_CUBIC, 6, 35},
		{"300m10-reorder2", SCTP_CC_BBR, 6, 35},
		{"300m10-queue26", SCTP_CC_CUBIC, 6, 22.4},
		{"300m10-queue26", SCTP_CC_BBR, 6, 33.3},
		{"300m100", SCTP_CC_CUBIC, 6, 27},
		{"300m100", SCTP_CC_BBR, 6, 30.2},
	};

	CHECK_ROWS(row, 60);
}

/* A host that receives a millisecond of packets as one run acknowledges them by one SACK. */
Test(lab, long_runs_cost_little)
{
	static const struct row row[] = {
		{"300m10", SCTP_CC_CUBIC, 6, 34.5},
		{"300m10", SCTP_CC_BBR, 6, 33.5},
		{"1g50", SCTP_CC_CUBIC, 6, 100},
		{"1g50", SCTP_CC_BBR, 6, 100},
	};

	CHECK_ROWS(row, 1000);
}

/* The part of the second of two flows, 30 to 60 seconds after it began beside the first one. */
static double late_share(const char *link, enum sctp_cc_algo algo, uint64_t seed)
{
	struct lab_config c = lab_config(lab_link_find(link));
	uint64_t before[2], more[2];
	struct lab *l;

	c.flow[0].algo = c.flow[1].algo = algo;
	c.flow[1].start_s = 5;
	c.flows = 2;
	c.seed = seed;
	l = lab_new(&c);
	lab_run(l, 35);
	for (unsigned i = 0; i < 2; i++)
		before[i] = l->flow[i].bytes;
	lab_run(l, 65);
	for (unsigned i = 0; i < 2; i++)
		more[i] = l->flow[i].bytes - before[i];
	lab_free(l);
	return (double)more[1] / (double)(more[0] + more[1]);
}

static void check_share(const char *link, enum sctp_cc_algo algo)
{
	double sum = 0;

	for (uint64_t seed = 1; seed <= 2; seed++)
		sum += late_share(link, algo, seed);
	cr_log_info("%s: %.3f", link, sum / 2);
	cr_expect(sum / 2 >= 0.4 && sum / 2 <= 0.6, "%s: %.3f", link, sum / 2);
}

Test(lab, a_late_flow_with_cubic_gets_its_share)
{
	check_share("300m10", SCTP_CC_CUBIC);
	check_share("300m100", SCTP_CC_CUBIC);
}

Test(lab, a_late_flow_with_bbr_gets_its_share)
{
	check_share("300m10", SCTP_CC_BBR);
	check_share("300m100", SCTP_CC_BBR);
}

/* Delays of messages of 64 bytes beside bulk data of the same association, or of another one, over
 * a queue of four bandwidth-delay products. */
static struct lab_delays small_delays(enum sctp_cc_algo algo, bool same)
{
	struct lab_config c = lab_config(lab_link_find("300m10"));
	struct lab_delays ret;
	struct lab *l;

	c.link[0].queue *= 4;
	c.flow[0].algo = algo;
	c.flow[0].kind = same ? LAB_BOTH : LAB_BULK;
	c.flow[1].kind = LAB_SMALL;
	c.flows = same ? 1 : 2;
	l = lab_new(&c);
	lab_run(l, 25);
	ret = l->flow[!same].small;
	lab_free(l);
	return ret;
}

/* The way back has no queue: 5 ms. */
static void check_small(enum sctp_cc_algo algo)
{
	struct lab_delays same = small_delays(algo, true), other = small_delays(algo, false);
	double mean = (lab_delays_mean_ms(&same) + 5) / (lab_delays_mean_ms(&other) + 5),
	       p98 = (lab_delays_ms(&same, 98) + 5) / (lab_delays_ms(&other, 98) + 5);

	cr_log_info("mean %.2f, p98 %.2f", mean, p98);
	cr_expect_leq(mean, 1.2, "mean %.2f", mean);
	cr_expect_leq(p98, 1.2, "p98 %.2f", p98);
}

Test(lab, small_messages_wait_in_the_network_not_behind_bulk_data_of_their_association)
{
	check_small(SCTP_CC_CUBIC);
	check_small(SCTP_CC_BBR);
}

/* A user who always has more to send, and waits because enough is unsent, does not limit the
 * rate: samples of the path count. */
Test(lab, a_user_who_waits_for_room_does_not_limit_the_rate)
{
	struct lab_config c = lab_config(lab_link_find("300m100"));
	const struct sctp_bbr *b;
	unsigned limited = 0;
	struct lab *l;

	c.flow[0].algo = SCTP_CC_BBR;
	l = lab_new(&c);
	for (double at_s = 3; at_s < 5; at_s += 0.01) {
		lab_run(l, at_s);
		b = l->flow[0].host[0].assoc->paths.at[0].cc.bbr;
		limited += b->delivery.app_limited != 0;
	}
	cr_assert(b->full_bw_reached);
	cr_assert_eq(limited, 0, "%u of 200 times", limited);
	lab_free(l);
}

/* The first of two paths fails for five seconds: the second one, which is slower, takes over. */
Test(lab, an_outage_moves_the_data_to_a_slower_path)
{
	struct lab_config c = lab_config(lab_link_find("100m20-outage5"));
	double ours;

	c.link[1] = *lab_link_find("20m40");
	c.paths = 2;
	c.time_s = 20;
	ours = goodput(&c);
	cr_log_info("%.2f MB/s", ours);
	cr_assert_geq(ours, 8, "%.2f MB/s", ours);
}
