/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "tools/ddperf/ddperf_report.h"

void ddperf_csv_head(void)
{
	puts("operation,metric,size_bytes,depth,queue_pairs,bidirectional,runs,unit,mean,runs_min,"
	     "runs_median,runs_max,messages,elapsed_s,cpu_user_s,cpu_system_s,cpu_daemon_user_s,"
	     "cpu_daemon_system_s,retransmits");
}

void ddperf_csv(const struct ddperf_opts *o, const struct ddperf_result *res,
		const struct ddperf_figures *f)
{
	printf("%s,%s,%u,%u,%u,%s,%zu,%s,%.3f,%.3f,%.3f,%.3f,%llu,%.6f,%.6f,%.6f,%.6f,%.6f,%llu\n",
	       ddperf_op_str(o->op), ddperf_metric_str(o->metric), o->size, o->depth, o->qps,
	       o->both ? "yes" : "no", f->runs.n, f->key, f->mean, f->runs.min, f->runs.median,
	       f->runs.max, (unsigned long long)f->messages, res->there.elapsed, res->user,
	       res->system, res->daemon_user, res->daemon_system,
	       (unsigned long long)res->retransmits);
	fflush(stdout);
}
