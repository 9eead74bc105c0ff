/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "tools/ddperf.h"

struct words {
	const char *name; /* of the quantity */
	const char *key;  /* unit in JSON keys */
	const char *unit; /* in text */
};

static const struct words words[] = {
	[DDPERF_BW] = {"bandwidth", "mb_per_s", "MB/s"},
	[DDPERF_LAT] = {"latency", "us", "us"},
	[DDPERF_RATE] = {"rate", "messages_per_s", "messages/s"},
};

/* What exactly the figures are. */
static const char *meaning(const struct ddperf_opts *o)
{
	if (o->metric != DDPERF_LAT && ddperf_op_has_response(o->op))
		return "from the first post until the last data had come";
	if (o->metric != DDPERF_LAT)
		return "from the first post until the server had the last message";
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

/* A figure; null where there are no samples. */
static void json_stat(const struct words *w, const char *which, const struct common_stats *st,
		      double v)
{
	printf(",\n \"%s_%s_%s\": ", w->name, which, w->key);
	if (st->n)
		printf("%.3f", v);
	else
		printf("null");
}

static void json_head(const struct ddperf_run *run)
{
	const struct ddperf_opts *o = run->o;

	printf("{\"tool\": \"ddperf\", \"version\": \"" PACKAGE_VERSION
	       "\", \"operation\": \"%s\", "
	       "\"metric\": \"%s\",\n \"measured\": ",
	       ddperf_op_str(o->op), ddperf_metric_str(o->metric));
	common_json_str(stdout, meaning(o));
	printf(",\n \"host\": ");
	common_json_str(stdout, o->host);
	printf(", \"port\": %u, \"transport\": ", o->port);
	common_json_str(stdout, run->caps.transport);
	printf(",\n \"size_bytes\": %u, \"depth\": %u, \"batch\": %u, \"inline\": %s, "
	       "\"warm_up_s\": %.3f",
	       o->size, o->depth, run->batch, o->inline_data ? "true" : "false", o->warm_up);
}

static void report_json(const struct ddperf_run *run, const struct ddperf_result *res,
			const struct common_stats *st)
{
	const struct ddperf_opts *o = run->o;
	const struct words *w = &words[o->metric];

	json_head(run);
	printf(",\n \"messages\": %llu, \"bytes\": %llu, \"elapsed_s\": %.6f, \"interrupted\": %s",
	       (unsigned long long)res->messages, (unsigned long long)res->messages * o->size,
	       res->elapsed, res->interrupted ? "true" : "false");
	printf(",\n \"samples\": %zu", st->n);
	if (o->metric != DDPERF_LAT)
		printf(", \"sample_interval_ms\": %u", o->interval_ms);
	printf(",\n \"%s_mean_%s\": %.3f", w->name, w->key, mean(o, res, st));
	json_stat(w, "min", st, st->min);
	json_stat(w, "median", st, st->median);
	if (o->metric == DDPERF_LAT)
		json_stat(w, "p99", st, st->p99);
	json_stat(w, "max", st, st->max);
	printf(",\n \"cpu_user_s\": %.6f, \"cpu_system_s\": %.6f, \"cpu_percent\": %.1f", res->user,
	       res->system, cpu_percent(res));
	printf(",\n \"retransmits\": %llu}\n", (unsigned long long)res->retransmits);
}

static void report_text(const struct ddperf_run *run, const struct ddperf_result *res,
			const struct common_stats *st)
{
	const struct ddperf_opts *o = run->o;
	const struct words *w = &words[o->metric];

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

void ddperf_report(const struct ddperf_run *run, struct ddperf_result *res)
{
	struct common_stats st;

	common_samples_stats(&res->samples, &st);
	if (run->o->json)
		report_json(run, res, &st);
	else
		report_text(run, res, &st);
}
