/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/field/args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/did_you_mean.h"

enum ctl_exit args_hint(void)
{
	fputs("Try 'ddpctl --help'.\n", stderr);
	return CTL_EXIT_USAGE;
}

int args_timeout_ms(const struct ddpctl *c)
{
	return (int)(c->opts.timeout * 1000);
}

const struct field_object *args_object(const char *name)
{
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(objs[i].name, name))
			return &objs[i];
	return NULL;
}

enum ctl_exit args_number(const char *text, const char *what, uint32_t *ret)
{
	const char *digits = strncmp(text, "0x", 2) ? "0123456789" : "0123456789abcdefABCDEFx";
	unsigned long long v;

	errno = 0;
	v = strtoull(text, NULL, 0);
	if (!*text || strspn(text, digits) != strlen(text) || errno || v > UINT32_MAX) {
		query_error("'%s' is not %s, 0 to 4294967295", text, what);
		return args_hint();
	}
	*ret = (uint32_t)v;
	return CTL_EXIT_OK;
}

static enum ctl_exit unknown_key(const struct ddpctl *c, const char *key)
{
	struct did_you_mean m = {.word = key};

	for (unsigned i = 0; i < c->obj->nfields; i++)
		did_you_mean_consider(&m, c->obj->fields[i].key);
	if (m.nearest)
		query_error("%s has no key '%s'; did you mean %s?", c->obj->name, key, m.nearest);
	else
		query_error("%s has no key '%s'", c->obj->name, key);
	fputs("Keys:", stderr);
	for (unsigned i = 0; i < c->obj->nfields; i++)
		fprintf(stderr, " %s", c->obj->fields[i].key);
	fputs(".\n", stderr);
	return CTL_EXIT_USAGE;
}

static enum ctl_exit add_filter(struct ddpctl *c, const char *key, const char *value)
{
	const struct field *f = field_find(c->obj, key);

	if (!f)
		return unknown_key(c, key);
	if (!field_valid(f, value)) {
		query_error("%s: '%s' is not %s", key, value, field_expects(f));
		return args_hint();
	}
	if (c->nfilters == PRINT_MAX_FILTERS) {
		query_error("at most %d filters", PRINT_MAX_FILTERS);
		return args_hint();
	}
	c->filters[c->nfilters++] = (struct print_filter){f, value};
	return CTL_EXIT_OK;
}

enum ctl_exit args_filters(struct ddpctl *c, int n, char **args)
{
	enum ctl_exit e = CTL_EXIT_OK;
	int i = 0;

	if (n % 2) {
		if (!c->obj->id || !field_valid(field_find(c->obj, c->obj->id), args[i])) {
			query_error("'%s' is neither an id nor a key with a value", args[i]);
			return args_hint();
		}
		c->by_id = true;
		e = add_filter(c, c->obj->id, args[i++]);
	}
	for (; e == CTL_EXIT_OK && i < n; i += 2)
		e = add_filter(c, args[i], args[i + 1]);
	return e;
}

enum ctl_exit args_print(const struct field_object *obj, struct query_reply *a, size_t n,
			 const struct print_opts *o)
{
	int r = print_records(stdout, obj, a->recs, n, o);

	free(a->recs);
	if (r == 0)
		return CTL_EXIT_OK;
	query_error("out of memory");
	return CTL_EXIT_FAILED;
}
