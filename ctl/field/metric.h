/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The metrics: counters and gauges, each a field of an object, declared once with unit and help.
 * `ddpctl stats` prints them, and `ddpctl -w` knows from them which fields are counters.
 */
#ifndef CTL_METRIC_H
#define CTL_METRIC_H

#include <stdbool.h>
#include <stdio.h>

#include "ctl/field/field.h"
#include "ctl/field/query.h"

enum { METRIC_LABELS = 4 };

enum metric_format {
	METRIC_TEXT,        /* a line each: name, labels, value */
	METRIC_JSON,        /* an array of objects */
	METRIC_OPENMETRICS, /* with type, unit and help */
	METRIC_PROMETHEUS,  /* the text format 0.0.4 of Prometheus, with type and help */
};

/* Whether the field counts up and never down. */
bool metric_is_counter(const struct field_object *obj, const struct field *f);

/* The keys that tell the objects of this kind apart, the labels of their metrics: METRIC_LABELS of
 * them, or NULL after the last one. NULL: there is only one such object, or it has no metrics. */
const char *const *metric_labels(const char *object);

/* Asks the daemon for the objects that have metrics, and prints them. */
enum ctl_exit metric_print(FILE *out, const char *socket, int timeout_ms,
			   enum metric_format format);

#endif
