/* SPDX-License-Identifier: BSD-2-Clause */
/* An earlier run, read from the output of `ddperf -j`, to be drawn beside a new one. */
#ifndef TOOLS_DDPERF_EARLIER_H
#define TOOLS_DDPERF_EARLIER_H

#include "tools/ddperf/ddperf_test.h"

enum { DDPERF_EARLIER_MAX = 1024 }; /* points */

struct ddperf_earlier {
	char about[256]; /* host, transport and date, in words */
	unsigned n;
	struct ddperf_point {
		enum ddperf_op op;
		unsigned size;
		double median, min, max;
	} points[DDPERF_EARLIER_MAX];
};

/* Reads the file, of which every test must have the metric. 0, or a failure that was printed. */
int ddperf_earlier_read(struct ddperf_earlier *e, const char *file, enum ddperf_metric metric);

#endif
