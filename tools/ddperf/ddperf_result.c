/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/samples.h"
#include "tools/ddperf/ddperf.h"

static double way_rate(const struct ddperf_way *way)
{
	return way->elapsed > 0 ? (double)way->messages / way->elapsed : 0;
}

double ddperf_result_mean(const struct ddperf_opts *o, const struct ddperf_result *res)
{
	double sum = 0, rate = way_rate(&res->there) + way_rate(&res->back);

	for (size_t i = 0; o->metric == DDPERF_LAT && i < res->samples.n; i++)
		sum += res->samples.v[i];
	if (o->metric == DDPERF_LAT)
		return res->samples.n ? sum / (double)res->samples.n : 0;
	return o->metric == DDPERF_BW ? rate * (double)o->size / 1e6 : rate;
}

int ddperf_result_add(struct ddperf_result *res, const struct ddperf_opts *o,
		      const struct ddperf_result *run)
{
	int r = samples_add(&res->runs, ddperf_result_mean(o, run));

	for (size_t i = 0; r == 0 && i < run->samples.n; i++)
		r = samples_add(&res->samples, run->samples.v[i]);
	res->there.messages += run->there.messages;
	res->there.elapsed += run->there.elapsed;
	res->back.messages += run->back.messages;
	res->back.elapsed += run->back.elapsed;
	res->user += run->user;
	res->system += run->system;
	res->daemon_user += run->daemon_user;
	res->daemon_system += run->daemon_system;
	res->retransmits += run->retransmits;
	res->interrupted |= run->interrupted;
	return r;
}

void ddperf_result_free(struct ddperf_result *res)
{
	samples_free(&res->samples);
	samples_free(&res->runs);
	*res = (struct ddperf_result){.interrupted = false};
}
