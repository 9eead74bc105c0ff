/* SPDX-License-Identifier: BSD-2-Clause */
/* A plot of the figure of each size, drawn by gnuplot. */
#ifndef TOOLS_DDPERF_PLOT_H
#define TOOLS_DDPERF_PLOT_H

#include <stdio.h>

#include "tools/common/samples.h"
#include "tools/ddperf/ddperf.h"
#include "tools/ddperf/ddperf_earlier.h"

struct ddperf_plot {
	const char *name;
	FILE *script; /* of gnuplot, growing */
	int out;      /* the SVG */
	bool used[DDPERF_OPS];
	enum ddperf_op op; /* whose data is being written */
	char transport[sizeof(((struct ddp_caps *)NULL)->transport)];
	struct ddperf_earlier earlier; /* of --compare */
};

/* Opens the files of the options, and makes sure that gnuplot is there. 0, or a failure that was
 * printed. */
int ddperf_plot_begin(struct ddperf_plot *p, const struct ddperf_opts *o);

/* A point: the median of the runs, with their least and largest one. The points of an operation
 * follow each other. 0 or -ENOMEM. */
int ddperf_plot_add(struct ddperf_plot *p, const struct ddperf_run *run,
		    const struct samples_summary *runs);

/* Draws if complete is set and there is a point; else removes the file. 0, or a failure that was
 * printed. */
int ddperf_plot_end(struct ddperf_plot *p, const struct ddperf_opts *o, const char *unit,
		    bool complete);

#endif
