/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures that a test of ddperf reports, in whatever format. */
#ifndef TOOLS_DDPERF_FIGURES_H
#define TOOLS_DDPERF_FIGURES_H

#include "tools/common/samples.h"
#include "tools/ddperf/ddperf.h"

/* The figures of a test, beside its options and its result. */
struct ddperf_figures {
	const char *name; /* of the quantity: "bandwidth" */
	const char *key;  /* its unit in keys: "mb_per_s" */
	const char *unit; /* in words: "MB/s" */
	double mean;
	uint64_t messages;              /* of both directions */
	struct samples_summary samples; /* of intervals or messages */
	struct samples_summary runs;    /* of the means of the runs */
};

/* Computes them; sorts the samples of res. */
void ddperf_figures_get(const struct ddperf_opts *o, struct ddperf_result *res,
			struct ddperf_figures *ret);

/* The unit of a metric, in words. Static. */
const char *ddperf_figures_unit(enum ddperf_metric metric);

/* The definition of the figures, in words. Static. */
const char *ddperf_figures_meaning(const struct ddperf_opts *o);

/* CPU time of this process, in percent of one processor. */
double ddperf_figures_cpu_percent(const struct ddperf_result *res);

#endif
