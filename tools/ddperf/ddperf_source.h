/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a ddperf session that posts the messages: a client, or a server in the reverse
 * direction. */
#ifndef TOOLS_DDPERF_SOURCE_H
#define TOOLS_DDPERF_SOURCE_H

#include "tools/ddperf/ddperf.h"

/* Makes the queue pair and the memory of run->s, whose protection domain is there, as run->o says,
 * and posts the receives for credits. 0, or a failure that was printed. */
int ddperf_source_set_up(struct ddperf_run *run);

/* Runs for `seconds`, or count messages if that is not 0. res gets the samples, the number of
 * messages and their time; it may be NULL. 0, -EINTR, or a failure that was printed. Afterwards no
 * message is in flight. */
int ddperf_source_phase(struct ddperf_run *run, double seconds, uint64_t count,
			struct ddperf_result *res);

/* Waits until the sink says when to begin. Results: 0; 1 at the end of the session; -EINTR; another
 * negative errno value after a failure that was printed. */
int ddperf_source_await_go(struct ddperf_run *run, struct ddperf_go *ret);

/* Runs a phase and sends its result to the sink. Results as above. */
int ddperf_source_serve_go(struct ddperf_run *run, const struct ddperf_go *go);

#endif
