/* SPDX-License-Identifier: BSD-2-Clause */
/* ddpctl: shows the daemon's objects, and has the daemon do things. See ddpctl(8). */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/command/batch.h"
#include "ctl/command/command.h"
#include "ctl/command/completion.h"
#include "ctl/field/rates.h"
#include "ipc/local_protocol.h"
#include "util/complete.h"
#include "util/did_you_mean.h"

static void print_objects(FILE *out)
{
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ", " : "", objs[i].name);
}

/* The commands that do not begin with an object. */
static void print_words(FILE *out)
{
	unsigned n;
	const struct command *table = command_table(&n);
	const char *gap = "";

	for (unsigned i = 0; i < n; i++) {
		if (args_object(table[i].word))
			continue;
		fprintf(out, "%s%s", gap, table[i].word);
		gap = ", ";
	}
}

static enum ctl_exit help(void)
{
	unsigned n;
	const struct command *table = command_table(&n);

	printf("Usage: ddpctl [OPTION]... OBJECT [show] [ID | KEY VALUE]...\n"
	       "       ddpctl [OPTION]... COMMAND\n"
	       "Shows objects of ddpsctpd: ");
	print_objects(stdout);
	printf(".\nObjects may be abbreviated. KEY is any key that is printed; all must match.\n"
	       "Commands:\n");
	for (unsigned i = 0; i < n; i++)
		printf("  %s%s%s %s\n\t%s\n", table[i].word, table[i].verb ? " " : "",
		       table[i].verb ? table[i].verb : "", table[i].args, table[i].help);
	putchar('\n');
	option_help(stdout, &options_table, &options_default);
	return CTL_EXIT_OK;
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
		return args_hint();
	default:
		break;
	}
	if (o->print.pretty)
		o->print.json = true;
	*ret_end = false;
	return CTL_EXIT_OK;
}

/* ---- the first word ---- */

/* Candidates for the first word: objects, and the first words of commands. */
struct candidates {
	const char *first; /* that begins with it */
	char text[FIELD_TEXT];
	size_t len;
	unsigned n;
	bool exact;
};

static void consider(struct candidates *c, const char *name, const char *candidate)
{
	if (c->exact || strncmp(candidate, name, strlen(name)) != 0)
		return;
	c->exact = !strcmp(candidate, name);
	if (c->n == 0 || c->exact)
		c->first = candidate;
	if (c->len < sizeof(c->text))
		c->len += (size_t)snprintf(c->text + c->len, sizeof(c->text) - c->len, "%s%s",
					   c->n ? ", " : "", candidate);
	c->n++;
}

static enum ctl_exit unknown_word(const char *name)
{
	struct did_you_mean m = {.word = name};
	unsigned nobjs, ncommands;
	const struct field_object *objs = field_objects(&nobjs);
	const struct command *table = command_table(&ncommands);

	for (unsigned i = 0; i < nobjs; i++)
		did_you_mean_consider(&m, objs[i].name);
	for (unsigned i = 0; i < ncommands; i++)
		did_you_mean_consider(&m, table[i].word);
	if (m.nearest)
		query_error("unknown object '%s'; did you mean %s?", name, m.nearest);
	else
		query_error("unknown object '%s'", name);
	fputs("Objects: ", stderr);
	print_objects(stderr);
	fputs(".\nCommands: ", stderr);
	print_words(stderr);
	fputs(".\n", stderr);
	return CTL_EXIT_USAGE;
}

/* The whole word that this one stands for: itself, or the only one that begins with it. */
static enum ctl_exit find_word(const char *name, const char **ret)
{
	struct candidates c = {.n = 0};
	unsigned nobjs, ncommands;
	const struct field_object *objs = field_objects(&nobjs);
	const struct command *table = command_table(&ncommands);

	for (unsigned i = 0; i < nobjs; i++)
		consider(&c, name, objs[i].name);
	for (unsigned i = 0; i < ncommands; i++)
		if (!args_object(table[i].word))
			consider(&c, name, table[i].word);
	if (c.n == 0)
		return unknown_word(name);
	if (c.n > 1 && !c.exact) {
		query_error("object '%s' is ambiguous: %s", name, c.text);
		return CTL_EXIT_USAGE;
	}
	*ret = c.first;
	return CTL_EXIT_OK;
}

/* ---- */

/* Keeps the records that match the filters. Returns their number. */
static size_t filtered(const struct ddpctl *c, struct query_reply *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		if (print_takes(c->filters, c->nfilters, &a->recs[i]))
			a->recs[n++] = a->recs[i];
	return n;
}

/* Asks and prints once. before: the records of the last time, for rates; NULL: none. */
static enum ctl_exit show(const struct ddpctl *c, struct query_reply *before)
{
	struct query_reply a;
	enum ctl_exit e = query_show(c->opts.socket, args_timeout_ms(c), c->obj->number, &a);
	uint32_t hidden;
	size_t n;

	if (e != CTL_EXIT_OK)
		return e;
	if (a.older) {
		query_error("%s: not supported by this daemon, which is older than ddpctl",
			    c->obj->name);
		return CTL_EXIT_VERSION;
	}
	hidden = a.hidden;
	if (before)
		rates_apply(c->obj, &a, before, c->opts.every);
	n = filtered(c, &a);
	e = args_print(c->obj, &a, n, &c->opts.print);
	if (hidden)
		query_error("%u object%s of other users not shown", hidden, hidden == 1 ? "" : "s");
	if (e == CTL_EXIT_OK && c->by_id && n == 0) {
		query_error("no %s %s", c->obj->name, c->filters[0].value);
		e = CTL_EXIT_NO_OBJECT;
	} else if (e == CTL_EXIT_OK && n == 0 && c->nfilters && !c->opts.print.json && !before) {
		query_error("%s: none of %zu has %s %s", c->obj->name, a.n,
			    c->filters[0].field->key, c->filters[0].value);
	}
	return e;
}

/* Again and again: totals first, then rates. */
static enum ctl_exit show_often(const struct ddpctl *c)
{
	const struct timespec pause = {
		.tv_sec = (time_t)c->opts.every,
		.tv_nsec = (long)((c->opts.every - (double)(time_t)c->opts.every) * 1e9),
	};
	struct query_reply before = {0};
	enum ctl_exit e = show(c, &before);

	for (uint32_t i = 1; e == CTL_EXIT_OK && i != c->opts.count; i++) {
		if (fflush(stdout) != 0)
			break;
		nanosleep(&pause, NULL); /* not a wait: --every */
		if (!c->opts.print.json)
			putchar('\n');
		e = show(c, &before);
	}
	free(before.recs);
	return e;
}

/* The commands of an object, after its keys. */
static void print_commands(const char *object)
{
	unsigned n;
	const struct command *table = command_table(&n);
	bool any = false;

	for (unsigned i = 0; i < n; i++) {
		if (strcmp(table[i].word, object) != 0)
			continue;
		fprintf(stderr, "%s %s", any ? "" : "Commands: show", table[i].verb);
		any = true;
	}
	if (any)
		fputs(".\n", stderr);
}

static enum ctl_exit show_object(struct ddpctl *c, int n, char **args)
{
	int skip = n > 0 && !strcmp(args[0], "show");
	enum ctl_exit e = args_filters(c, n - skip, args + skip);

	if (e == CTL_EXIT_OK)
		return c->opts.every > 0 ? show_often(c) : show(c, NULL);
	if (e == CTL_EXIT_USAGE)
		print_commands(c->obj->name);
	return e;
}

/* A word of its own needs its second word. */
static enum ctl_exit incomplete(const char *word)
{
	unsigned n;
	const struct command *table = command_table(&n);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(table[i].word, word))
			query_error("usage: ddpctl %s %s %s", word, table[i].verb, table[i].args);
	return args_hint();
}

static enum ctl_exit run_words(struct ddpctl *c, int n, char **args)
{
	const struct command *cmd;
	const char *word;
	enum ctl_exit e;

	if (n == 0) {
		query_error("expected an object or a command");
		return args_hint();
	}
	e = find_word(args[0], &word);
	if (e != CTL_EXIT_OK)
		return e;
	cmd = command_find(word, n > 1 ? args[1] : NULL);
	if (cmd)
		return command_run(cmd, c, n - 1 - !!cmd->verb, args + 1 + !!cmd->verb);
	c->obj = args_object(word);
	return c->obj ? show_object(c, n - 1, args + 1) : incomplete(word);
}

static enum ctl_exit run_batch(struct ddpctl *c, int n)
{
	if (n == 0)
		return batch_run(c, c->opts.batch, c->opts.force, run_words);
	query_error("-b takes its commands from the file: unexpected operand");
	return args_hint();
}

int main(int argc, char **argv)
{
	struct ddpctl c = {0};
	enum ctl_exit e;
	bool end;

	if (complete_asked(argc, argv))
		return completion_run(argc, argv);
	e = parse_options(&c.opts, argc, argv, &end);
	if (end)
		return e;
	if (c.opts.batch)
		e = run_batch(&c, argc - optind);
	else
		e = run_words(&c, argc - optind, argv + optind);
	if (fflush(stdout) != 0 && e == CTL_EXIT_OK) {
		query_error("stdout: %s", strerror(errno));
		e = CTL_EXIT_FAILED;
	}
	return e;
}
