/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/command/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_LINE = 4096,
	MAX_WORDS = 64,
};

struct batch {
	FILE *in;
	const char *name;
	unsigned line;
	char text[MAX_LINE];
	char *words[MAX_WORDS];
	int nwords;
};

static enum ctl_exit wrong_line(const struct batch *b, const char *what)
{
	query_error("%s:%u: %s", b->name, b->line, what);
	return CTL_EXIT_USAGE;
}

/* Ends the word that begins at p, without its quotes. Returns the rest of the line; NULL: a quote
 * is not closed. */
static char *end_word(char *p)
{
	char *to = p, quote = 0;

	for (; *p && (quote || !strchr(" \t\r\n", *p)); p++) {
		if (quote && *p == quote)
			quote = 0;
		else if (!quote && (*p == '"' || *p == '\''))
			quote = *p;
		else
			*to++ = *p;
	}
	if (quote)
		return NULL;
	p += *p != '\0';
	*to = '\0';
	return p;
}

static enum ctl_exit split_words(struct batch *b)
{
	char *p = b->text;

	for (b->nwords = 0;;) {
		p += strspn(p, " \t\r\n");
		if (!*p || *p == '#')
			return CTL_EXIT_OK;
		if (b->nwords == MAX_WORDS)
			return wrong_line(b, "too many words");
		b->words[b->nwords++] = p;
		p = end_word(p);
		if (!p)
			return wrong_line(b, "a quote is not closed");
	}
}

/* The next line with a command. False: there is none, or *ret_e says why not. */
static bool next_command(struct batch *b, enum ctl_exit *ret_e)
{
	while (fgets(b->text, sizeof(b->text), b->in)) {
		size_t len = strlen(b->text);

		b->line++;
		if (len == sizeof(b->text) - 1 && b->text[len - 1] != '\n') {
			*ret_e = wrong_line(b, "the line is too long");
			return false;
		}
		*ret_e = split_words(b);
		if (*ret_e != CTL_EXIT_OK || b->nwords)
			return true;
	}
	if (ferror(b->in)) {
		query_error("%s: %s", b->name, strerror(errno));
		*ret_e = CTL_EXIT_FAILED;
	}
	return false;
}

static enum ctl_exit run_all(struct batch *b, struct ddpctl *c, bool force,
			     enum ctl_exit (*run)(struct ddpctl *c, int n, char **args))
{
	enum ctl_exit first = CTL_EXIT_OK, e = CTL_EXIT_OK;

	while ((force || first == CTL_EXIT_OK) && next_command(b, &e)) {
		struct ddpctl one = {.opts = c->opts};

		if (e == CTL_EXIT_OK) {
			e = run(&one, b->nwords, b->words);
			if (e != CTL_EXIT_OK)
				query_error("%s:%u: '%s' failed", b->name, b->line, b->words[0]);
		}
		fflush(stdout);
		if (first == CTL_EXIT_OK)
			first = e;
		e = CTL_EXIT_OK;
	}
	return first == CTL_EXIT_OK ? e : first;
}

enum ctl_exit batch_run(struct ddpctl *c, const char *file, bool force,
			enum ctl_exit (*run)(struct ddpctl *c, int n, char **args))
{
	bool is_stdin = !strcmp(file, "-");
	struct batch b = {.in = is_stdin ? stdin : fopen(file, "re"),
			  .name = is_stdin ? "stdin" : file};
	enum ctl_exit e;

	if (!b.in) {
		query_error("%s: %s", file, strerror(errno));
		return CTL_EXIT_FAILED;
	}
	e = run_all(&b, c, force, run);
	if (!is_stdin)
		fclose(b.in);
	return e;
}
