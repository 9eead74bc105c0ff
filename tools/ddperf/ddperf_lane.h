/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue pairs of a ddperf client: each has a session and, while it measures, a thread. */
#ifndef TOOLS_DDPERF_LANE_H
#define TOOLS_DDPERF_LANE_H

#include <pthread.h>

#include "tools/ddperf/ddperf.h"
#include "tools/ddperf/ddperf_sink.h"

struct ddperf_lane {
	struct session session;
	struct ddperf_run run;   /* there, or */
	struct ddperf_sink sink; /* back */
	bool reverse;
	/* the phase that is running */
	double seconds;
	uint64_t count;
	bool warm_up;
	struct ddperf_result res;
	int r;
	pthread_t thread;
};

struct ddperf_lanes {
	struct ddperf_opts o; /* of this test */
	struct ddperf_lane v[2 * DDPERF_MAX_QPS];
	unsigned n; /* the first one is never reverse */
};

/* Connects all that o asks for; client is a number that the server knows this program by. 0, or a
 * failure that was printed; close in any case. */
int ddperf_lanes_open(struct ddperf_lanes *l, const struct ddperf_opts *o, uint64_t client);
void ddperf_lanes_close(struct ddperf_lanes *l);

/* Warms up without a result. 0, -EINTR, or a failure that was printed. */
int ddperf_lanes_warm_up(struct ddperf_lanes *l);

/* Measures once and adds the measurement to *res. Results as above; also 0 if it was interrupted
 * and *res has the messages until then, which *res says. */
int ddperf_lanes_measure(struct ddperf_lanes *l, struct ddperf_result *res);

#endif
