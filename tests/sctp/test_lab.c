/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: over the links of the laboratory, bulk data with CUBIC has the goodput below, and bad
 * links end no association. tests/sctp/lab/lab measures other links and flows by hand. */
#include <criterion/criterion.h>

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

/* MB/s, 9 of 10 of those that were measured with limits of packets per SACK. */
Test(lab, bad_links_cost_no_more_than_before)
{
	static const struct {
		const char *link;
		double seconds, least;
	} row[] = {
		{"300m10", 6, 35},
		{"100m20-loss5", 30, 0.46},
		{"100m20-loss20", 30, 0.16},
		{"100m20-burst256", 30, 4.8},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct lab_config c = lab_config(lab_link_find(row[i].link));
		double ours;

		c.time_s = row[i].seconds;
		ours = goodput(&c);
		cr_log_info("%s: %.2f MB/s", row[i].link, ours);
		cr_assert_geq(ours, row[i].least, "%s: %.2f MB/s, not %.2f", row[i].link, ours,
			      row[i].least);
	}
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
