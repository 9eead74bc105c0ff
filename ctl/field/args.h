/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line: options, the object and its filters. */
#ifndef CTL_ARGS_H
#define CTL_ARGS_H

#include <stdbool.h>

#include "ctl/field/exit.h"
#include "ctl/field/options.h"
#include "ctl/field/print.h"
#include "ctl/field/query.h"

struct ddpctl {
	struct options opts;
	const struct field_object *obj;
	struct print_filter filters[PRINT_MAX_FILTERS];
	unsigned nfilters;
	bool by_id; /* one object was named */
};

/* Where to look after a wrong command line. Returns CTL_EXIT_USAGE. */
enum ctl_exit args_hint(void);

/* Reads [ID] [KEY VALUE]... of c->obj into the filters. Failures are printed. */
enum ctl_exit args_filters(struct ddpctl *c, int n, char **args);

/* Reads a decimal or hexadecimal number of 32 bits; what: "the number of an association". Failures
 * are printed. */
enum ctl_exit args_number(const char *text, const char *what, uint32_t *ret);

/* The timeout of a reply in milliseconds. */
int args_timeout_ms(const struct ddpctl *c);

/* The object of that name; it exists. */
const struct field_object *args_object(const char *name);

/* Prints the first n records of the reply and frees it. */
enum ctl_exit args_print(const struct field_object *obj, struct query_reply *a, size_t n,
			 const struct print_opts *o);

#endif
