/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddperf/ddperf_test.h"

#include <errno.h>
#include <string.h>

static const char *const ops[DDPERF_OPS] = {
	[DDPERF_WRITE] = "write",
	[DDPERF_READ] = "read",
	[DDPERF_SEND] = "send",
	[DDPERF_FETCH_ADD] = "fetch-add",
};

static const char *const metrics[DDPERF_METRICS] = {
	[DDPERF_BW] = "bw",
	[DDPERF_LAT] = "lat",
	[DDPERF_RATE] = "rate",
};

const char *ddperf_op_str(enum ddperf_op op)
{
	return ops[op];
}

const char *ddperf_metric_str(enum ddperf_metric metric)
{
	return metrics[metric];
}

int ddperf_op_parse(const char *name, enum ddperf_op *ret)
{
	for (unsigned i = 0; i < DDPERF_OPS; i++)
		if (!strcmp(name, ops[i])) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

int ddperf_metric_parse(const char *name, enum ddperf_metric *ret)
{
	for (unsigned i = 0; i < DDPERF_METRICS; i++)
		if (!strcmp(name, metrics[i])) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

bool ddperf_op_has_response(enum ddperf_op op)
{
	return op == DDPERF_READ || op == DDPERF_FETCH_ADD;
}
