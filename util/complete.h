/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion of the last word of a command line: with options of the program's table, and with
 * operands that the program knows. The shell calls `PROGRAM --complete WORD...` with the words
 * after the program's name, up to the one that is being typed, which may be "". The answer has a
 * line for each candidate: the word and, if it has a description, a tab and the description. A line
 * without a word asks the shell for names that the shell knows: "files", "dirs", "hosts" or
 * "commands" follows the tab.
 */
#ifndef UTIL_COMPLETE_H
#define UTIL_COMPLETE_H

#include "util/option.h"

enum { COMPLETE_OPERANDS = 64 }; /* further ones are not kept */

struct complete {
	const struct option_table *options;
	FILE *out;
	const char *cur;             /* the word that is being typed, after "--option=" */
	const char *prefix;          /* the part of the word before cur */
	int prefix_len;              /* its length */
	const struct option_row *of; /* the option that takes cur, or NULL */
	bool options_over;           /* "--" was found */
	unsigned n;                  /* operands before cur */
	const char *operand[COMPLETE_OPERANDS];
	const char *arg[OPTION_MAX]; /* of the options before cur, the last of each row */
};

/* Whether the arguments of main() ask for completion. */
bool complete_asked(int argc, char *const *argv);

/* Reads the arguments of main() after --complete. */
void complete_read(struct complete *c, const struct option_table *options, int argc,
		   char *const *argv, FILE *out);

/* The argument of the last option of that name before cur, or NULL. */
const char *complete_arg(const struct complete *c, const char *name);

/* Answers if cur is an option or the argument of one; false: it is an operand. */
bool complete_option(const struct complete *c);

/* A candidate, if it begins with cur and is printable ASCII. help: a description, or NULL. */
void complete_word(const struct complete *c, const char *word, const char *help);

/* The candidates in a list separated by blanks. */
void complete_list(const struct complete *c, const char *words, const char *help);

/* Asks the shell for "files", "dirs", "hosts" or "commands". */
void complete_by_shell(const struct complete *c, const char *what);

#endif
