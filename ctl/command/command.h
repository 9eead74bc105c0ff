/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the commands of ddpctl, besides showing objects. Usage, completion and messages are
 * made from it. */
#ifndef CTL_COMMAND_H
#define CTL_COMMAND_H

#include "ctl/field/args.h"

struct command {
	const char *word;   /* an object, or a word of its own: "monitor" */
	const char *verb;   /* the second word, NULL: none */
	const char *args;   /* for the usage */
	int min, max;       /* how many */
	const char *values; /* of the first argument, for completion; "" if they are not listed */
	const char *help;
	enum ctl_exit (*run)(struct ddpctl *c, int n, char **args);
};

/* All commands; *ret_n is their number. */
const struct command *command_table(unsigned *ret_n);

/* The command with these words; verb is NULL if there is no second one. NULL: none. */
const struct command *command_find(const char *word, const char *verb);

/* Runs it with the n arguments after its words, or says how many it takes. */
enum ctl_exit command_run(const struct command *cmd, struct ddpctl *c, int n, char **args);

#endif
