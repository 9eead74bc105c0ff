/* SPDX-License-Identifier: BSD-2-Clause */
/* ddpctl: shows the daemon's objects. See ddpctl(8). */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/explain.h"
#include "ctl/options.h"
#include "ctl/print.h"
#include "ctl/query.h"
#include "ipc/msg_addr.h"
#include "ipc/version.h"

struct ddpctl {
	struct options opts;
	const struct field_object *obj;
	struct print_filter filters[PRINT_MAX_FILTERS];
	unsigned nfilters;
	bool by_id; /* one object was named */
};

static void print_objects(FILE *out, const char *between)
{
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? between : "", objs[i].name);
}

static enum ctl_exit help(void)
{
	printf("Usage: ddpctl [OPTION]... OBJECT [show] [ID | KEY VALUE]...\n"
	       "       ddpctl [OPTION]... path set-primary ASSOC ADDRESS\n"
	       "       ddpctl [OPTION]... explain [CODE]\n"
	       "Shows objects of ddpsctpd: ");
	print_objects(stdout, ", ");
	printf(".\nObjects may be abbreviated. KEY is any key that is printed; all must match.\n"
	       "set-primary: send to this ADDRESS of the peer while its path is active.\n"
	       "explain: the meaning of the CODE of a Terminate: 0x1101, 1/1/01 or "
	       "TAGGED_BOUNDS;\n"
	       "or of the status of a completion: DDP_WC_FLUSH_ERR or 10.\n\n");
	option_help(stdout, &options_table, &options_default);
	return CTL_EXIT_OK;
}

static enum ctl_exit usage_hint(void)
{
	fputs("Try 'ddpctl --help'.\n", stderr);
	return CTL_EXIT_USAGE;
}

/* Sets *ret_end if the program ends with the result. */
static enum ctl_exit parse_options(struct options *o, int argc, char **argv, bool *ret_end)
{
	const char *env = getenv(IPC_SOCKET_ENV);
	char error[OPTION_ERROR];

	*o = options_default;
	o->socket = env && *env ? env : IPC_DEFAULT_SOCKET;
	*ret_end = true;
	switch (option_parse(&options_table, argc, argv, o, error)) {
	case OPTION_R_HELP:
		return help();
	case OPTION_R_VERSION:
		printf("ddpctl " PACKAGE_VERSION "\n");
		return CTL_EXIT_OK;
	case OPTION_R_WRONG:
		if (*error)
			query_error("%s", error);
		return usage_hint();
	default:
		break;
	}
	if (o->print.pretty)
		o->print.json = true;
	*ret_end = false;
	return CTL_EXIT_OK;
}

static int timeout_ms(const struct ddpctl *c)
{
	return (int)(c->opts.timeout * 1000);
}

/* The candidates for a name that several objects begin with. */
static enum ctl_exit ambiguous(const char *name)
{
	char text[FIELD_TEXT] = "";
	size_t len = 0;
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++)
		if (!strncmp(objs[i].name, name, strlen(name)) && len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? ", " : "", objs[i].name);
	query_error("object '%s' is ambiguous: %s", name, text);
	return CTL_EXIT_USAGE;
}

static enum ctl_exit unknown_object(const char *name)
{
	query_error("unknown object '%s'", name);
	fputs("Objects: ", stderr);
	print_objects(stderr, ", ");
	fputs(".\n", stderr);
	return CTL_EXIT_USAGE;
}

/* The object of that name, or the only one that begins with it. */
static enum ctl_exit find_object(struct ddpctl *c, const char *name)
{
	const struct field_object *objs;
	unsigned n, found = 0;

	objs = field_objects(&n);
	for (unsigned i = 0; i < n; i++) {
		if (strncmp(objs[i].name, name, strlen(name)) != 0)
			continue;
		c->obj = &objs[i];
		found++;
		if (!strcmp(objs[i].name, name))
			return CTL_EXIT_OK;
	}
	if (found == 1)
		return CTL_EXIT_OK;
	return found ? ambiguous(name) : unknown_object(name);
}

static enum ctl_exit add_filter(struct ddpctl *c, const char *key, const char *value)
{
	const struct field *f = field_find(c->obj, key);

	if (!f) {
		query_error("%s has no key '%s'", c->obj->name, key);
		fputs("Keys:", stderr);
		for (unsigned i = 0; i < c->obj->nfields; i++)
			fprintf(stderr, " %s", c->obj->fields[i].key);
		fputs(".\n", stderr);
		if (c->obj->command)
			fprintf(stderr, "Commands: show %s.\n", c->obj->command);
		return CTL_EXIT_USAGE;
	}
	if (!field_valid(f, value)) {
		query_error("%s: '%s' is not %s", key, value, field_expects(f));
		return usage_hint();
	}
	if (c->nfilters == PRINT_MAX_FILTERS) {
		query_error("at most %d filters", PRINT_MAX_FILTERS);
		return usage_hint();
	}
	c->filters[c->nfilters++] = (struct print_filter){f, value};
	return CTL_EXIT_OK;
}

/* OBJECT [show] [ID] [KEY VALUE]...; the object is known. */
static enum ctl_exit parse_args(struct ddpctl *c, int n, char **args)
{
	enum ctl_exit e = CTL_EXIT_OK;
	int i = 1;

	if (n > 1 && !strcmp(args[1], "show"))
		i++;
	if ((n - i) % 2) {
		if (!c->obj->id || !field_valid(field_find(c->obj, c->obj->id), args[i])) {
			query_error("'%s' is neither an id nor a key with a value", args[i]);
			return usage_hint();
		}
		c->by_id = true;
		e = add_filter(c, c->obj->id, args[i++]);
	}
	for (; e == CTL_EXIT_OK && i < n; i += 2)
		e = add_filter(c, args[i], args[i + 1]);
	return e;
}

/* Prints the first n records of the reply and frees it. */
static enum ctl_exit print(const struct field_object *obj, struct query_reply *a, size_t n,
			   const struct print_opts *o)
{
	int r = print_records(stdout, obj, a->recs, n, o);

	free(a->recs);
	if (r == 0)
		return CTL_EXIT_OK;
	query_error("out of memory");
	return CTL_EXIT_FAILED;
}

static bool is_explain(const char *arg)
{
	return *arg && !strncmp("explain", arg, strlen(arg));
}

/* explain [CODE] */
static enum ctl_exit explain(struct ddpctl *c, int n, char **args)
{
	struct query_reply a;
	enum ctl_exit e;

	if (n > 2) {
		query_error("explain takes at most one code");
		return usage_hint();
	}
	e = explain_code(n == 2 ? args[1] : NULL, &a);
	if (e != CTL_EXIT_OK)
		return e;
	if (n == 2)
		c->opts.print.details = true;
	return print(&explain_object, &a, a.n, &c->opts.print);
}

static enum ctl_exit show(const struct ddpctl *c)
{
	struct query_reply a;
	enum ctl_exit e = query_show(c->opts.socket, timeout_ms(c), c->obj->number, &a);
	size_t n = 0;

	if (e != CTL_EXIT_OK)
		return e;
	for (size_t i = 0; i < a.n; i++)
		if (print_takes(c->filters, c->nfilters, &a.recs[i]))
			a.recs[n++] = a.recs[i];
	e = print(c->obj, &a, n, &c->opts.print);
	if (a.hidden)
		query_error("%u object%s of other users not shown", a.hidden,
			    a.hidden == 1 ? "" : "s");
	if (e == CTL_EXIT_OK && c->by_id && n == 0) {
		query_error("no such %s", c->obj->name);
		e = CTL_EXIT_NO_OBJECT;
	}
	return e;
}

static bool parse_address(const char *text, struct msg_addr *ret)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM};
	struct sockaddr_storage ss = {0};
	struct addrinfo *ai;

	if (getaddrinfo(text, NULL, &hints, &ai) != 0)
		return false;
	if (ai->ai_addrlen <= sizeof(ss))
		memcpy(&ss, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	return msg_addr_put(ret, &ss) == 0;
}

/* path set-primary ASSOC ADDRESS */
static enum ctl_exit set_primary(const struct ddpctl *c, int n, char **args)
{
	const struct field *assoc = field_find(c->obj, "assoc");
	struct msg_addr remote;

	if (n != 4) {
		query_error("set-primary needs the number of an association and an address");
		return usage_hint();
	}
	if (!field_valid(assoc, args[2]) || strtoull(args[2], NULL, 0) > UINT32_MAX) {
		query_error("'%s' is not the number of an association, 0 to 4294967295", args[2]);
		return usage_hint();
	}
	if (!parse_address(args[3], &remote)) {
		query_error("'%s' is neither an IPv4 nor an IPv6 address", args[3]);
		return usage_hint();
	}
	return query_set_primary(c->opts.socket, timeout_ms(c),
				 (uint32_t)strtoull(args[2], NULL, 0), &remote);
}

static enum ctl_exit run(struct ddpctl *c, int n, char **args)
{
	enum ctl_exit e;

	if (n == 0) {
		query_error("no object is named");
		return usage_hint();
	}
	if (is_explain(args[0]))
		return explain(c, n, args);
	e = find_object(c, args[0]);
	if (e == CTL_EXIT_OK && n > 1 && c->obj->command && !strcmp(args[1], c->obj->command))
		return set_primary(c, n, args);
	if (e == CTL_EXIT_OK)
		e = parse_args(c, n, args);
	return e == CTL_EXIT_OK ? show(c) : e;
}

int main(int argc, char **argv)
{
	struct ddpctl c = {0};
	enum ctl_exit e;
	bool end;

	e = parse_options(&c.opts, argc, argv, &end);
	if (end)
		return e;
	e = run(&c, argc - optind, argv + optind);
	if (fflush(stdout) != 0 && e == CTL_EXIT_OK) {
		query_error("stdout: %s", strerror(errno));
		e = CTL_EXIT_FAILED;
	}
	return e;
}
