/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddperf/ddperf_earlier.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/message.h"

/* The part of the keys before and after "_runs_median_", for each metric. */
static const struct {
	const char *name, *unit;
} keys[] = {
	[DDPERF_BW] = {"bandwidth", "mb_per_s"},
	[DDPERF_LAT] = {"latency", "us"},
	[DDPERF_RATE] = {"rate", "messages_per_s"},
};

static const char *string_of(struct json_object *test, const char *key)
{
	struct json_object *v = NULL;

	return json_object_object_get_ex(test, key, &v) && json_object_is_type(v, json_type_string)
		       ? json_object_get_string(v)
		       : "";
}

static bool figure_of(struct json_object *test, enum ddperf_metric metric, const char *which,
		      double *ret)
{
	struct json_object *v = NULL;
	char key[64];

	snprintf(key, sizeof(key), "%s_runs_%s_%s", keys[metric].name, which, keys[metric].unit);
	if (!json_object_object_get_ex(test, key, &v))
		return false;
	*ret = json_object_get_double(v);
	return true;
}

static bool read_point(struct json_object *test, enum ddperf_metric metric,
		       struct ddperf_point *ret)
{
	struct json_object *size = NULL;

	if (!json_object_object_get_ex(test, "size_bytes", &size) ||
	    ddperf_op_parse(string_of(test, "operation"), &ret->op) < 0)
		return false;
	ret->size = (unsigned)json_object_get_int(size);
	return figure_of(test, metric, "median", &ret->median) &&
	       figure_of(test, metric, "min", &ret->min) &&
	       figure_of(test, metric, "max", &ret->max);
}

static int wrong_file(const char *file, const char *why)
{
	message_error("--compare %s: %s", file, why);
	return -EINVAL;
}

static int read_test(struct ddperf_earlier *e, const char *file, enum ddperf_metric metric,
		     struct json_object *test)
{
	const char *date = string_of(test, "date");

	if (strcmp(string_of(test, "tool"), "ddperf") != 0)
		return wrong_file(file, "is not the output of ddperf -j");
	if (strcmp(string_of(test, "metric"), ddperf_metric_str(metric)) != 0)
		return wrong_file(file, "measured another metric");
	if (e->n == DDPERF_EARLIER_MAX)
		return wrong_file(file, "has too many tests");
	if (!read_point(test, metric, &e->points[e->n]))
		return wrong_file(file, "lacks figures of a test");
	if (e->n++ == 0)
		snprintf(e->about, sizeof(e->about), "%s by transport %s%s%s",
			 string_of(test, "host"), string_of(test, "transport"), *date ? ", " : "",
			 date);
	return 0;
}

int ddperf_earlier_read(struct ddperf_earlier *e, const char *file, enum ddperf_metric metric)
{
	struct json_object *all = json_object_from_file(file);
	bool list = json_object_is_type(all, json_type_array);
	size_t n = list ? json_object_array_length(all) : 1;
	int r = 0;

	e->n = 0;
	if (!all)
		return wrong_file(file, "cannot be read as JSON");
	for (size_t i = 0; r == 0 && i < n; i++)
		r = read_test(e, file, metric, list ? json_object_array_get_idx(all, i) : all);
	json_object_put(all);
	return r == 0 && e->n == 0 ? wrong_file(file, "has no test") : r;
}
