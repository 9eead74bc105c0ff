/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command lines from one table: each row has an option, the range of its argument, and its text for
 * --help. The values are stored in members of a struct of the program.
 */
#ifndef UTIL_OPTION_H
#define UTIL_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
	OPTION_FLAG,    /* bool, set to true */
	OPTION_UNFLAG,  /* bool, set to false */
	OPTION_STRING,  /* const char *, the argument itself */
	OPTION_NUM,     /* unsigned of 2, 4 or 8 bytes: decimal digits */
	OPTION_SIZE,    /* the same; a suffix K, M or G is a power of 1024 */
	OPTION_SECONDS, /* double: decimal digits and a point */
	OPTION_HELP,
	OPTION_VERSION,
};

struct option_row {
	const char *letters; /* short options, NULL: none; --help shows all */
	const char *name;    /* the long option, without dashes */
	const char *arg;     /* the argument's name in --help, NULL: takes none */
	const char *noun;    /* numbers: the value in messages, with its article: "a port" */
	const char *help;    /* without range and default, which are added */
	enum option_type type;
	uint16_t offset, size; /* of the member */
	double min, max;       /* numbers: the range, both included */
};

/*
 * Rows of a table. The file that has the table defines OPTION_STRUCT as the program's struct, whose
 * member the row sets. letters: NULL for none. The text of --help is last.
 */
#define OPTION_AT(member)                                                                          \
	.offset = offsetof(OPTION_STRUCT, member), .size = sizeof(((OPTION_STRUCT *)NULL)->member)
#define OPTION_ROW_FLAG(member, letters, name, help)                                               \
	{                                                                                          \
		letters, name, NULL, NULL, help, OPTION_FLAG, OPTION_AT(member)                    \
	}
#define OPTION_ROW_UNFLAG(member, letters, name, help)                                             \
	{                                                                                          \
		letters, name, NULL, NULL, help, OPTION_UNFLAG, OPTION_AT(member)                  \
	}
#define OPTION_ROW_STRING(member, letters, name, arg, help)                                        \
	{                                                                                          \
		letters, name, arg, NULL, help, OPTION_STRING, OPTION_AT(member)                   \
	}
#define OPTION_ROW_NUM(member, letters, name, arg, noun, least, most, help)                        \
	{                                                                                          \
		letters, name, arg, noun, help, OPTION_NUM, OPTION_AT(member), least, most         \
	}
#define OPTION_ROW_SIZE(member, letters, name, arg, noun, least, most, help)                       \
	{                                                                                          \
		letters, name, arg, noun, help, OPTION_SIZE, OPTION_AT(member), least, most        \
	}
#define OPTION_ROW_SECONDS(member, letters, name, noun, least, most, help)                         \
	{                                                                                          \
		letters, name, "SECONDS", noun, help, OPTION_SECONDS, OPTION_AT(member), least,    \
			most                                                                       \
	}
#define OPTION_ROW_HELP(letters)                                                                   \
	{                                                                                          \
		letters, "help", NULL, NULL, "this text", .type = OPTION_HELP                      \
	}
#define OPTION_ROW_VERSION(letters, help)                                                          \
	{                                                                                          \
		letters, "version", NULL, NULL, help, .type = OPTION_VERSION                       \
	}

struct option_table {
	const struct option_row *rows;
	unsigned n; /* at most OPTION_MAX */
};

enum {
	OPTION_MAX = 32,
	OPTION_ERROR = 256, /* bytes that hold any message */
};

enum option_result {
	OPTION_R_OK,      /* all options are set; the operands begin at argv[optind] */
	OPTION_R_HELP,    /* --help was found: the arguments after it were not checked */
	OPTION_R_VERSION, /* the same with --version */
	OPTION_R_WRONG,   /* the command line is wrong */
};

/*
 * Sets the members of `opts` that the command line names, in its order. After OPTION_R_WRONG,
 * ret_error names the option, the wrong value and the range; it is "" if getopt_long(3) has printed
 * a message.
 */
enum option_result option_parse(const struct option_table *t, int argc, char **argv, void *opts,
				char ret_error[OPTION_ERROR]);

/* Prints the lines of --help, one for each row, with the range of a number and its default, the
 * value in `defaults`, unless that is 0. */
void option_help(FILE *out, const struct option_table *t, const void *defaults);

/* Decimal digits and, if units is true, one of K, M, G (powers of 1024, either case). Returns 0;
 * -EINVAL if the text is not a number; -ERANGE outside of min and max. */
int option_parse_num(const char *text, bool units, uint64_t min, uint64_t max, uint64_t *ret);

/* Seconds with decimals. Returns 0, -EINVAL or -ERANGE as above. */
int option_parse_seconds(const char *text, double min, double max, double *ret);

#endif
