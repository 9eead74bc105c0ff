/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a shell can complete the last word of a command line with: options of the program's table
 * and what the program knows of its operands. The shell calls `PROGRAM --complete WORD...`, the
 * words without the program's name, up to the one that is being typed, which may be "". The answer
 * has a line for each candidate: the word, a tab, and what it is, if that is known. A line without
 * a word asks the shell to find names itself: "files", "dirs", "hosts" or "commands" follows the
 * tab.
 */
#ifndef UTIL_COMPLETE_H
#define UTIL_COMPLETE_H

#include "util/option.h"

enum { COMPLETE_OPERANDS = 64 }; /* further ones are not kept */

struct complete {
	const struct option_table *options;
	FILE *out;
	const char *cur;             /* what is being typed, after "--option=" */
	const char *prefix;          /* the word up to cur, */
	int prefix_len;              /* of that length */
	const struct option_row *of; /* whose argument cur is; NULL: an option or an operand */
	bool options_over;           /* there was "--" */
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

/* A candidate, if it begins with cur and is printable ASCII. help: NULL for nothing. */
void complete_word(const struct complete *c, const char *word, const char *help);

/* The candidates in a list separated by blanks. */
void complete_list(const struct complete *c, const char *words, const char *help);

/* Asks the shell for "files", "dirs", "hosts" or "commands". */
void complete_by_shell(const struct complete *c, const char *what);

#endif
