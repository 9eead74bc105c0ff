/* SPDX-License-Identifier: BSD-2-Clause */
/* Records as text and as JSON. */
#ifndef CTL_PRINT_H
#define CTL_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "ctl/field/field.h"

struct print_opts {
	bool json, pretty, oneline, numeric, details, stats;
};

/* A filter: records are taken whose field has the value. */
struct print_filter {
	const struct field *field;
	const char *value;
};

enum { PRINT_MAX_FILTERS = 16 };

/* Whether all n filters take the record. */
bool print_takes(const struct print_filter *filters, unsigned n, const struct ctl_record *rec);

/* The records as an array; the caller puts it. NULL: out of memory. */
struct json_object *print_json_array(const struct field_object *obj, const struct ctl_record *recs,
				     size_t n, bool numeric);

/* Prints the record as one line of JSON. Returns 0 or -ENOMEM. */
int print_json_line(FILE *out, const struct field_object *obj, const struct ctl_record *rec,
		    const struct print_opts *o);

/*
 * Prints n records of one object: JSON always an array; text a table, blocks with details, stats
 * and for the status, or lines. Returns 0 or -ENOMEM.
 */
int print_records(FILE *out, const struct field_object *obj, const struct ctl_record *recs,
		  size_t n, const struct print_opts *o);

#endif
