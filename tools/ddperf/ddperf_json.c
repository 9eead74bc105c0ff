/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <time.h>

#include "tools/common/json_out.h"
#include "tools/ddperf/ddperf_report.h"

enum { KEY = 64 }; /* bytes that hold any key */

/* "bandwidth_mean_mb_per_s"; null if there is none. */
static void add_figure(struct json_out *j, const struct ddperf_figures *f, const char *which,
		       bool any, double v)
{
	char key[KEY];

	snprintf(key, sizeof(key), "%s_%s_%s", f->name, which, f->key);
	if (any)
		json_out_fixed(j, key, v, 3);
	else
		json_out_null(j, key);
}

/* "2026-11-26T15:00:00Z" */
static void add_date(struct json_out *j)
{
	time_t now = time(NULL);
	struct tm tm;
	char date[32];

	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	json_out_str(j, "date", date);
}

static void add_head(struct json_out *j, const struct ddperf_run *run)
{
	const struct ddperf_opts *o = run->o;

	json_out_str(j, "tool", "ddperf");
	json_out_str(j, "version", PACKAGE_VERSION);
	add_date(j);
	json_out_str(j, "operation", ddperf_op_str(o->op));
	json_out_str(j, "metric", ddperf_metric_str(o->metric));
	json_out_str(j, "measured", ddperf_figures_meaning(o));
	json_out_str(j, "host", o->host);
	json_out_uint(j, "port", o->port);
	json_out_str(j, "transport", run->caps.transport);
	json_out_uint(j, "size_bytes", o->size);
	json_out_uint(j, "depth", o->depth);
	json_out_uint(j, "batch", run->batch);
	json_out_uint(j, "queue_pairs", o->qps);
	json_out_bool(j, "bidirectional", o->both);
	json_out_bool(j, "inline", o->inline_data);
	json_out_fixed(j, "warm_up_s", o->warm_up, 3);
	json_out_uint(j, "pause_ms", o->pause_ms);
}

static void add_figures(struct json_out *j, const struct ddperf_opts *o,
			const struct ddperf_figures *f)
{
	bool any = f->samples.n > 0;

	add_figure(j, f, "mean", true, f->mean);
	add_figure(j, f, "min", any, f->samples.min);
	add_figure(j, f, "median", any, f->samples.median);
	if (o->metric == DDPERF_LAT) {
		add_figure(j, f, "p99", any, f->samples.p99);
		add_figure(j, f, "p99_9", any, f->samples.p999);
	}
	add_figure(j, f, "max", any, f->samples.max);
	json_out_uint(j, "runs", f->runs.n);
	add_figure(j, f, "runs_min", true, f->runs.min);
	add_figure(j, f, "runs_median", true, f->runs.median);
	add_figure(j, f, "runs_max", true, f->runs.max);
}

int ddperf_json(const struct ddperf_run *run, const struct ddperf_result *res,
		const struct ddperf_figures *f)
{
	const struct ddperf_opts *o = run->o;
	struct json_out j;

	json_out_begin(&j, stdout);
	add_head(&j, run);
	json_out_uint(&j, "messages", f->messages);
	json_out_uint(&j, "bytes", f->messages * o->size);
	json_out_fixed(&j, "elapsed_s", res->there.elapsed, 6);
	json_out_bool(&j, "interrupted", res->interrupted);
	json_out_uint(&j, "samples", f->samples.n);
	if (o->metric != DDPERF_LAT)
		json_out_uint(&j, "sample_interval_ms", o->interval_ms);
	add_figures(&j, o, f);
	json_out_fixed(&j, "cpu_user_s", res->user, 6);
	json_out_fixed(&j, "cpu_system_s", res->system, 6);
	json_out_fixed(&j, "cpu_percent", ddperf_figures_cpu_percent(res), 1);
	json_out_fixed(&j, "cpu_daemon_user_s", res->daemon_user, 6);
	json_out_fixed(&j, "cpu_daemon_system_s", res->daemon_system, 6);
	json_out_uint(&j, "retransmits", res->retransmits);
	return json_out_end(&j);
}
