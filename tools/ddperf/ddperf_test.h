/* SPDX-License-Identifier: BSD-2-Clause */
/* A test of ddperf: an operation and a metric, with their names on the command line. */
#ifndef TOOLS_DDPERF_TEST_H
#define TOOLS_DDPERF_TEST_H

#include <stdbool.h>

#include "tools/ddperf/ddperf_proto.h"

/* The name of the command line and of the report. Static. */
const char *ddperf_op_str(enum ddperf_op op);
/* The same for a metric. */
const char *ddperf_metric_str(enum ddperf_metric metric);

/* Return 0, or -EINVAL for an unknown name. */
int ddperf_op_parse(const char *name, enum ddperf_op *ret);
int ddperf_metric_parse(const char *name, enum ddperf_metric *ret);

/* Whether the peer's daemon sends a response: a Read or an atomic, without the peer's program. */
bool ddperf_op_has_response(enum ddperf_op op);

#endif
