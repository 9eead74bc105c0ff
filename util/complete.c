/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/complete.h"

#include <ctype.h>
#include <string.h>

#define ASK "--complete"

enum { WORD = 128 }; /* bytes that hold any word of a list */

bool complete_asked(int argc, char *const *argv)
{
	return argc > 1 && !strcmp(argv[1], ASK);
}

static const struct option_row *by_name(const struct option_table *t, const char *name, size_t len)
{
	for (unsigned i = 0; i < t->n; i++)
		if (strlen(t->rows[i].name) == len && !strncmp(t->rows[i].name, name, len))
			return &t->rows[i];
	return NULL;
}

static const struct option_row *by_letter(const struct option_table *t, char letter)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->rows[i].letters && strchr(t->rows[i].letters, letter))
			return &t->rows[i];
	return NULL;
}

static void keep_argument(struct complete *c, const struct option_row *row, const char *arg)
{
	if (row)
		c->arg[row - c->options->rows] = arg;
}

/* --name or --name=arg. Returns the row whose argument is the next word, or NULL. */
static const struct option_row *read_long(struct complete *c, const char *word)
{
	size_t len = strcspn(word, "=");
	const struct option_row *row = by_name(c->options, word, len);

	if (word[len]) {
		keep_argument(c, row, word + len + 1);
		return NULL;
	}
	return row && row->arg ? row : NULL;
}

/* -abc: the argument of b may be "c". */
static const struct option_row *read_short(struct complete *c, const char *letters)
{
	for (; *letters; letters++) {
		const struct option_row *row = by_letter(c->options, *letters);

		if (!row || !row->arg)
			continue;
		if (!letters[1])
			return row;
		keep_argument(c, row, letters + 1);
		return NULL;
	}
	return NULL;
}

/* A word before the one that is being typed. */
static void read_word(struct complete *c, const char *word)
{
	if (c->of) {
		keep_argument(c, c->of, word);
		c->of = NULL;
	} else if (c->options_over || word[0] != '-' || !word[1]) {
		if (c->n < COMPLETE_OPERANDS)
			c->operand[c->n++] = word;
	} else if (!strcmp(word, "--")) {
		c->options_over = true;
	} else {
		c->of = word[1] == '-' ? read_long(c, word + 2) : read_short(c, word + 1);
	}
}

/* "--name=" before cur is part of the candidate. */
static void read_cur(struct complete *c, const char *word)
{
	size_t len = strcspn(word, "=");

	c->cur = c->prefix = word;
	if (c->of || c->options_over || strncmp(word, "--", 2) != 0 || !word[len])
		return;
	c->of = by_name(c->options, word + 2, len - 2);
	c->cur = word + len + 1;
	c->prefix_len = (int)len + 1;
}

void complete_read(struct complete *c, const struct option_table *options, int argc,
		   char *const *argv, FILE *out)
{
	*c = (struct complete){.options = options, .out = out, .cur = "", .prefix = ""};
	for (int i = 2; i < argc - 1; i++)
		read_word(c, argv[i]);
	if (argc > 2)
		read_cur(c, argv[argc - 1]);
}

const char *complete_arg(const struct complete *c, const char *name)
{
	const struct option_row *row = by_name(c->options, name, strlen(name));

	return row ? c->arg[row - c->options->rows] : NULL;
}

/* False for a word with line breaks, or with bytes that control a terminal. */
static bool printable(const char *word)
{
	while (isprint((unsigned char)*word))
		word++;
	return !*word;
}

void complete_word(const struct complete *c, const char *word, const char *help)
{
	if (!*word || !printable(word) || strncmp(word, c->cur, strlen(c->cur)) != 0)
		return;
	fprintf(c->out, "%.*s%s", c->prefix_len, c->prefix, word);
	if (help && *help)
		putc('\t', c->out);
	for (; help && *help; help++)
		putc(isprint((unsigned char)*help) ? *help : '?', c->out);
	putc('\n', c->out);
}

void complete_list(const struct complete *c, const char *words, const char *help)
{
	char word[WORD];

	while (*words) {
		size_t len = strcspn(words, " ");

		if (len && len < sizeof(word)) {
			memcpy(word, words, len);
			word[len] = '\0';
			complete_word(c, word, help);
		}
		words += len + strspn(words + len, " ");
	}
}

void complete_by_shell(const struct complete *c, const char *what)
{
	fprintf(c->out, "\t%s\n", what);
}

/* The argument's name tells files from directories. */
static void complete_argument(const struct complete *c)
{
	const char *arg = c->of && c->of->arg ? c->of->arg : "";

	if (!strncmp(arg, "PATH", 4) || !strncmp(arg, "FILE", 4))
		complete_by_shell(c, "files");
	else if (!strncmp(arg, "DIR", 3))
		complete_by_shell(c, "dirs");
}

bool complete_option(const struct complete *c)
{
	if (c->of || c->prefix_len) {
		complete_argument(c);
		return true;
	}
	if (c->options_over || c->cur[0] != '-')
		return false;
	for (unsigned i = 0; i < c->options->n; i++) {
		const struct option_row *row = &c->options->rows[i];
		char word[WORD];

		for (const char *l = row->letters; l && *l; l++) {
			snprintf(word, sizeof(word), "-%c", *l);
			complete_word(c, word, row->help);
		}
		snprintf(word, sizeof(word), "--%s", row->name);
		complete_word(c, word, row->help);
	}
	return true;
}
