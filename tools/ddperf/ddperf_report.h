/* SPDX-License-Identifier: BSD-2-Clause */
/* The output of ddperf: one test in words, several as a table, or all as JSON or CSV; and the
 * plot. */
#ifndef TOOLS_DDPERF_REPORT_H
#define TOOLS_DDPERF_REPORT_H

#include "tools/ddperf/ddperf.h"
#include "tools/ddperf/ddperf_figures.h"
#include "tools/ddperf/ddperf_plot.h"

struct ddperf_report {
	const struct ddperf_opts *o;
	unsigned tests; /* reported */
	struct ddperf_plot plot;
};

/* Begins the output. 0, or a failure that was printed: of the plot, which is known before a test.
 */
int ddperf_report_begin(struct ddperf_report *p, const struct ddperf_opts *o);

/* A test: prints it and sorts the samples of res. 0 or -ENOMEM. */
int ddperf_report_add(struct ddperf_report *p, const struct ddperf_run *run,
		      struct ddperf_result *res);

/* Ends the output and, if complete is set, draws the plot. 0, or a failure that was printed. */
int ddperf_report_end(struct ddperf_report *p, bool complete);

/* Whether there can be more than one test. */
bool ddperf_report_several(const struct ddperf_opts *o);

/* One test as a JSON object. 0 or -ENOMEM. */
int ddperf_json(const struct ddperf_run *run, const struct ddperf_result *res,
		const struct ddperf_figures *f);

/* The head of the columns; a test as a line. */
void ddperf_csv_head(void);
void ddperf_csv(const struct ddperf_opts *o, const struct ddperf_result *res,
		const struct ddperf_figures *f);

#endif
