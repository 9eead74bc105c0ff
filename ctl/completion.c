/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the tables of ddpctl as shell for etc/ddpctl.bash-completion.in; run by make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/command.h"
#include "ctl/explain.h"
#include "ctl/field.h"
#include "ctl/options.h"

static void print_options(void)
{
	printf("_ddpctl_options='");
	for (unsigned i = 0; i < options_table.n; i++) {
		const struct option_row *row = &options_table.rows[i];

		for (const char *l = row->letters; l && *l; l++)
			printf("-%c ", *l);
		printf("--%s ", row->name);
	}
	printf("'\n");
}

static void print_objects(const struct field_object *objs, unsigned n)
{
	printf("_ddpctl_objects='");
	for (unsigned i = 0; i < n; i++)
		printf("%s ", objs[i].name);
	printf("'\n");
}

/* The names of the errors and statuses that `ddpctl explain` knows. */
static int print_errors(void)
{
	const struct field *name = field_find(&explain_object, "name");
	char text[FIELD_TEXT];
	struct query_reply a;

	if (explain_code(NULL, &a) != CTL_EXIT_OK)
		return -1;
	printf("_ddpctl_errors='");
	for (size_t i = 0; i < a.n; i++) {
		field_text(name, &a.recs[i].status, false, text);
		if (text[0] != '-')
			printf("%s ", text);
	}
	printf("'\n");
	free(a.recs);
	return 0;
}

static void print_verbs(const char *word)
{
	unsigned n;
	const struct command *table = command_table(&n);

	for (unsigned i = 0; i < n; i++)
		if (table[i].verb && !strcmp(table[i].word, word))
			printf(" %s", table[i].verb);
}

static void print_keys(const struct field_object *obj)
{
	printf("\t%s)\n\t\tkeys='", obj->name);
	for (unsigned i = 0; i < obj->nfields; i++)
		printf("%s ", obj->fields[i].key);
	printf("'\n\t\tcommands='show");
	print_verbs(obj->name);
	printf("'\n\t\t;;\n");
}

/* A word that is no object, once. */
static bool is_word(const struct command *table, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (!strcmp(table[k].word, table[i].word))
			return false;
	return !args_object(table[i].word);
}

static void print_words(const struct command *table, unsigned n)
{
	printf("_ddpctl_words='");
	for (unsigned i = 0; i < n; i++)
		if (is_word(table, i))
			printf("%s ", table[i].word);
	printf("'\n");
}

static void print_word(const struct command *table, unsigned i)
{
	if (!is_word(table, i) || !strcmp(table[i].word, "explain"))
		return;
	printf("\t%s)\n\t\tkeys='' commands='", table[i].word);
	print_verbs(table[i].word);
	printf("%s'\n\t\t;;\n", table[i].verb ? "" : table[i].values);
}

static void print_values(const struct field_object *obj)
{
	char values[FIELD_TEXT];

	for (unsigned i = 0; i < obj->nfields; i++) {
		field_values(&obj->fields[i], values);
		if (*values)
			printf("\t%s:%s) echo '%s' ;;\n", obj->name, obj->fields[i].key, values);
	}
}

int main(void)
{
	unsigned n, ncommands;
	const struct field_object *objs = field_objects(&n);
	const struct command *table = command_table(&ncommands);

	print_options();
	print_objects(objs, n);
	print_words(table, ncommands);
	if (print_errors() < 0)
		return EXIT_FAILURE;
	printf("\n# _ddpctl_keys OBJECT: sets keys and commands.\n_ddpctl_keys() {\n\tcase $1 "
	       "in\n");
	for (unsigned i = 0; i < n; i++)
		print_keys(&objs[i]);
	for (unsigned i = 0; i < ncommands; i++)
		print_word(table, i);
	printf("\t*) keys='' commands='' ;;\n\tesac\n}\n\n"
	       "# _ddpctl_values OBJECT KEY: prints the values of the key, where they are listed.\n"
	       "_ddpctl_values() {\n\tcase $1:$2 in\n");
	for (unsigned i = 0; i < n; i++)
		print_values(&objs[i]);
	printf("\tesac\n}\n");
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
