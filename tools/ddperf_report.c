/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "tools/ddperf.h"
#include "tools/json_out.h"

enum { KEY = 64 }; /* bytes that hold any key */

struct quantity {
	const char *name; /* of the quantity */
	const char *key;  /* unit in JSON keys */
	const char *unit; /* in text */
};

static const struct quantity quantities[] = {
	[DDPERF_BW] = {"bandwidth", "mb_per_s", "MB/s"},
	[DDPERF_LAT] = {"latency", "us", "us"},
	[DDPERF_RATE] = {"rate", "messages_per_s", "messages/s"},
};

/* What exactly the figures are. */
static const char *meaning(const struct ddperf_opts *o)
{
	if (o->metric != DDPERF_LAT && ddperf_op_has_response(o->op))
		return "from the first post until the last data arrived";
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

/* The figure of the whole run; for latency, of the samples. */
static double mean(const struct ddperf_opts *o, const struct ddperf_result *res,
		   const struct common_stats *st)
{
	double rate = res->elapsed > 0 ? (double)res->messages / res->elapsed : 0;

	if (o->metric == DDPERF_LAT)
		return st->mean;
	return o->metric == DDPERF_BW ? rate * (double)o->size / 1e6 : rate;
}

static double cpu_percent(const struct ddperf_result *res)
{
	return res->elapsed > 0 ? 100 * (res->user + res->system) / res->elapsed : 0;
}

/* "bandwidth_mean_mb_per_s" */
static void figure(struct json_out *j, const struct quantity *w, const char *which, double v)
{
	char key[KEY];

	snprintf(key, sizeof(key), "%s_%s_%s", w->name, which, w->key);
	json_out_fixed(j, key, v, 3);
}

/* The same of the samples; null where there are none. */
static void sample_figure(struct json_out *j, const struct quantity *w, const char *which,
			  const struct common_stats *st, double v)
{
	char key[KEY];

	snprintf(key, sizeof(key), "%s_%s_%s", w->name, which, w->key);
	if (st->n)
		json_out_fixed(j, key, v, 3);
	else
		json_out_null(j, key);
}

static void json_head(struct json_out *j, const struct ddperf_run *run)
{
	const struct ddperf_opts *o = run->o;

	json_out_begin(j, stdout);
	json_out_str(j, "tool", "ddperf");
	json_out_str(j, "version", PACKAGE_VERSION);
	json_out_str(j, "operation", ddperf_op_str(o->op));
	json_out_str(j, "metric", ddperf_metric_str(o->metric));
	json_out_str(j, "measured", meaning(o));
	json_out_str(j, "host", o->host);
	json_out_uint(j, "port", o->port);
	json_out_str(j, "transport", run->caps.transport);
	json_out_uint(j, "size_bytes", o->size);
	json_out_uint(j, "depth", o->depth);
	json_out_uint(j, "batch", run->batch);
	json_out_bool(j, "inline", o->inline_data);
	json_out_fixed(j, "warm_up_s", o->warm_up, 3);
}

static int report_json(const struct ddperf_run *run, const struct ddperf_result *res,
		       const struct common_stats *st)
{
	const struct ddperf_opts *o = run->o;
	const struct quantity *w = &quantities[o->metric];
	struct json_out j;

	json_head(&j, run);
	json_out_uint(&j, "messages", res->messages);
	json_out_uint(&j, "bytes", res->messages * o->size);
	json_out_fixed(&j, "elapsed_s", res->elapsed, 6);
	json_out_bool(&j, "interrupted", res->interrupted);
	json_out_uint(&j, "samples", st->n);
	if (o->metric != DDPERF_LAT)
		json_out_uint(&j, "sample_interval_ms", o->interval_ms);
	figure(&j, w, "mean", mean(o, res, st));
	sample_figure(&j, w, "min", st, st->min);
	sample_figure(&j, w, "median", st, st->median);
	if (o->metric == DDPERF_LAT)
		sample_figure(&j, w, "p99", st, st->p99);
	sample_figure(&j, w, "max", st, st->max);
	json_out_fixed(&j, "cpu_user_s", res->user, 6);
	json_out_fixed(&j, "cpu_system_s", res->system, 6);
	json_out_fixed(&j, "cpu_percent", cpu_percent(res), 1);
	json_out_uint(&j, "retransmits", res->retransmits);
	return json_out_end(&j);
}

static void report_text(const struct ddperf_run *run, const struct ddperf_result *res,
			const struct common_stats *st)
{
	const struct ddperf_opts *o = run->o;
	const struct quantity *w = &quantities[o->metric];

	printf("%s %s to %s (%s), transport %s\n", ddperf_op_str(o->op),
	       ddperf_metric_str(o->metric), o->host, run->s.peer, run->caps.transport);
	printf("  %-12s%s\n", "measured", meaning(o));
	printf("  %-12s%llu of %u bytes, depth %u%s, in %.3f s%s\n", "messages",
	       (unsigned long long)res->messages, o->size, o->depth,
	       o->inline_data ? ", inline" : "", res->elapsed,
	       res->interrupted ? ", interrupted" : "");
	printf("  %-12s%.3f %s\n", w->name, mean(o, res, st), w->unit);
	if (st->n)
		printf("  %-12smin %.3f, median %.3f, max %.3f %s of %zu samples\n", "", st->min,
		       st->median, st->max, w->unit, st->n);
	if (st->n && o->metric == DDPERF_LAT)
		printf("  %-12sp99 %.3f %s\n", "", st->p99, w->unit);
	printf("  %-12suser %.3f s, system %.3f s, %.1f %%\n", "cpu", res->user, res->system,
	       cpu_percent(res));
	printf("  %-12s%llu\n", "retransmits", (unsigned long long)res->retransmits);
}

int ddperf_report(const struct ddperf_run *run, struct ddperf_result *res)
{
	struct common_stats st;

	common_samples_stats(&res->samples, &st);
	if (run->o->json)
		return report_json(run, res, &st);
	report_text(run, res, &st);
	return 0;
}
