/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddperf/ddperf_report.h"

#include <stdio.h>

bool ddperf_report_several(const struct ddperf_opts *o)
{
	return o->all || o->nops > 1;
}

/* ---- one test in words ---- */

static void print_way(const struct ddperf_opts *o)
{
	if (o->qps > 1)
		printf(", %u queue pairs", o->qps);
	if (o->both)
		printf(", both directions");
}

static void print_figures(const struct ddperf_opts *o, const struct ddperf_figures *f)
{
	printf("  %-12s%.3f %s\n", f->name, f->mean, f->unit);
	if (f->samples.n)
		printf("  %-12smin %.3f, median %.3f, max %.3f %s of %zu samples\n", "",
		       f->samples.min, f->samples.median, f->samples.max, f->unit, f->samples.n);
	if (f->samples.n && o->metric == DDPERF_LAT)
		printf("  %-12sp99 %.3f, p99.9 %.3f %s\n", "", f->samples.p99, f->samples.p999,
		       f->unit);
	if (f->runs.n > 1)
		printf("  %-12smin %.3f, median %.3f, max %.3f %s of %zu runs\n", "", f->runs.min,
		       f->runs.median, f->runs.max, f->unit, f->runs.n);
}

static void print_words(const struct ddperf_run *run, const struct ddperf_result *res,
			const struct ddperf_figures *f)
{
	const struct ddperf_opts *o = run->o;

	printf("%s %s to %s (%s), transport %s\n", ddperf_op_str(o->op),
	       ddperf_metric_str(o->metric), o->host, run->s->peer, run->caps.transport);
	printf("  %-12s%s\n", "measured", ddperf_figures_meaning(o));
	printf("  %-12s%llu of %u bytes, depth %u%s", "messages", (unsigned long long)f->messages,
	       o->size, o->depth, o->inline_data ? ", inline" : "");
	if (o->pause_ms)
		printf(", %u ms of rest before each", o->pause_ms);
	print_way(o);
	printf(", in %.3f s%s\n", res->there.elapsed, res->interrupted ? ", interrupted" : "");
	print_figures(o, f);
	printf("  %-12suser %.3f s, system %.3f s, %.1f %%\n", "cpu", res->user, res->system,
	       ddperf_figures_cpu_percent(res));
	printf("  %-12suser %.3f s, system %.3f s\n", "daemon cpu", res->daemon_user,
	       res->daemon_system);
	printf("  %-12s%llu\n", "retransmits", (unsigned long long)res->retransmits);
}

/* ---- several as a table ---- */

static void print_table_head(const struct ddperf_opts *o, const struct ddperf_run *run)
{
	const char *unit = ddperf_figures_unit(o->metric);

	printf("%s to %s (%s), transport %s, depth %u%s", ddperf_metric_str(o->metric), o->host,
	       run->s->peer, run->caps.transport, o->depth, o->inline_data ? ", inline" : "");
	print_way(o);
	printf("\n%-10s%9s%16s", "operation", "bytes", unit);
	if (o->runs > 1)
		printf("%16s%16s%16s", "run min", "run median", "run max");
	printf("%10s%10s%12s\n", "cpu s", "daemon s", "retransmits");
}

static void print_table_line(const struct ddperf_opts *o, const struct ddperf_result *res,
			     const struct ddperf_figures *f)
{
	printf("%-10s%9u%16.3f", ddperf_op_str(o->op), o->size, f->mean);
	if (o->runs > 1)
		printf("%16.3f%16.3f%16.3f", f->runs.min, f->runs.median, f->runs.max);
	printf("%10.3f%10.3f%12llu%s\n", res->user + res->system,
	       res->daemon_user + res->daemon_system, (unsigned long long)res->retransmits,
	       res->interrupted ? "  interrupted" : "");
	fflush(stdout);
}

/* ---- */

int ddperf_report_begin(struct ddperf_report *p, const struct ddperf_opts *o)
{
	*p = (struct ddperf_report){.o = o};
	return o->plot ? ddperf_plot_begin(&p->plot, o) : 0;
}

/* The objects of several tests are one array. */
static int add_json(struct ddperf_report *p, const struct ddperf_run *run,
		    const struct ddperf_result *res, const struct ddperf_figures *f)
{
	if (ddperf_report_several(p->o))
		fputs(p->tests ? ",\n" : "[\n", stdout);
	return ddperf_json(run, res, f);
}

static int print_test(struct ddperf_report *p, const struct ddperf_run *run,
		      const struct ddperf_result *res, const struct ddperf_figures *f)
{
	if (p->o->json)
		return add_json(p, run, res, f);
	if (p->o->csv) {
		if (!p->tests)
			ddperf_csv_head();
		ddperf_csv(run->o, res, f);
	} else if (ddperf_report_several(p->o)) {
		if (!p->tests)
			print_table_head(p->o, run);
		print_table_line(run->o, res, f);
	} else {
		print_words(run, res, f);
	}
	return 0;
}

int ddperf_report_add(struct ddperf_report *p, const struct ddperf_run *run,
		      struct ddperf_result *res)
{
	struct ddperf_figures f;
	int r;

	ddperf_figures_get(run->o, res, &f);
	r = print_test(p, run, res, &f);
	p->tests++;
	if (r == 0 && p->o->plot)
		r = ddperf_plot_add(&p->plot, run, &f.runs);
	return r;
}

int ddperf_report_end(struct ddperf_report *p, bool complete)
{
	if (p->o->json && ddperf_report_several(p->o))
		puts(p->tests ? "]" : "[]");
	return p->o->plot ? ddperf_plot_end(&p->plot, p->o, ddperf_figures_unit(p->o->metric),
					    complete)
			  : 0;
}
