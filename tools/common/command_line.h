/* SPDX-License-Identifier: BSD-2-Clause */
/* The command lines of the tools: rows that all of them have, and what is done with the result. */
#ifndef TOOLS_COMMAND_LINE_H
#define TOOLS_COMMAND_LINE_H

#include "util/complete.h"
#include "util/option.h"

struct command_line {
	const char *usage; /* of --help: everything above the options */
	struct option_table table;
	const void *defaults;                      /* the options' struct before parsing */
	void (*operand)(const struct complete *c); /* for completion: of what is no option */
};

enum { COMMAND_LINE_GO = -1 };

/* Sets opts, which the caller filled with the defaults. Returns COMMAND_LINE_GO, or the exit status
 * with which the program ends: --help, --version, --complete (util/complete.h) or a wrong command
 * line, about which a message was printed. */
int command_line_parse(const struct command_line *tool, int argc, char **argv, void *opts);

/* Rows of all tools; S is the options' struct. */
#define OPTS_PORT(S)                                                                               \
	{                                                                                          \
		.letters = "p", .name = "port", .arg = "PORT", .noun = "a port",                   \
		.help = "SCTP port of the server", .type = OPTION_NUM, OPTION_AT(S, port),         \
		.min = 1, .max = UINT16_MAX,                                                       \
	}
#define OPTS_COMMON(S)                                                                             \
	{                                                                                          \
		.name = "bind",                                                                    \
		.arg = "ADDR,...",                                                                 \
		.help = "local addresses to listen at or to connect from",                         \
		.type = OPTION_STRING,                                                             \
		OPTION_AT(S, bind),                                                                \
	},                                                                                         \
		{                                                                                  \
			.name = "socket",                                                          \
			.arg = "PATH",                                                             \
			.help = "socket of the daemon [$DDP_SOCKET]",                              \
			.type = OPTION_STRING,                                                     \
			OPTION_AT(S, socket),                                                      \
		},                                                                                 \
		{.letters = "h", .name = "help", .help = "this text", .type = OPTION_HELP},        \
	{                                                                                          \
		.name = "version", .help = "versions of tool and library", .type = OPTION_VERSION  \
	}

#endif
