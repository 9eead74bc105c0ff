/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddperf/ddperf_figures.h"

#include "tools/common/samples.h"

static const struct ddperf_figures quantities[] = {
	[DDPERF_BW] = {.name = "bandwidth", .key = "mb_per_s", .unit = "MB/s"},
	[DDPERF_LAT] = {.name = "latency", .key = "us", .unit = "us"},
	[DDPERF_RATE] = {.name = "rate", .key = "messages_per_s", .unit = "messages/s"},
};

const char *ddperf_figures_meaning(const struct ddperf_opts *o)
{
	if (o->metric != DDPERF_LAT && ddperf_op_has_response(o->op))
		return "from the first post until the last data arrived";
	if (o->metric != DDPERF_LAT && o->both)
		return "from the first post until the other side has the last message, both "
		       "directions added up";
	if (o->metric != DDPERF_LAT)
		return "from the first post until the server has the last message";
	switch (o->op) {
	case DDPERF_READ:
	case DDPERF_FETCH_ADD:
		return "there and back: post to completion";
	case DDPERF_SEND:
		return "one way: half of a round of two Sends, each awaited on its CQ";
	default:
		return "one way: half of a round of two Writes, each seen by polling memory";
	}
}

double ddperf_figures_cpu_percent(const struct ddperf_result *res)
{
	double elapsed = res->there.elapsed;

	return elapsed > 0 ? 100 * (res->user + res->system) / elapsed : 0;
}

const char *ddperf_figures_unit(enum ddperf_metric metric)
{
	return quantities[metric].unit;
}

void ddperf_figures_get(const struct ddperf_opts *o, struct ddperf_result *res,
			struct ddperf_figures *ret)
{
	*ret = quantities[o->metric];
	ret->mean = ddperf_result_mean(o, res);
	ret->messages = res->there.messages + res->back.messages;
	samples_summarize(&res->samples, &ret->samples);
	samples_summarize(&res->runs, &ret->runs);
}
