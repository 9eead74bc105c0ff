/* SPDX-License-Identifier: BSD-2-Clause */
/* The command lines of the tools: common rows of options, parsing, --help and completion. */
#ifndef TOOLS_COMMAND_LINE_H
#define TOOLS_COMMAND_LINE_H

#include "util/complete.h"
#include "util/option.h"

struct command_line {
	const char *usage; /* of --help: everything above the options */
	struct option_table table;
	const void *defaults;                      /* the options' struct before parsing */
	void (*operand)(const struct complete *c); /* completes an operand */
};

enum { COMMAND_LINE_GO = -1 };

/* Sets opts, which the caller filled with the defaults. Returns COMMAND_LINE_GO, or the exit status
 * with which the program ends: --help, --version, --complete (util/complete.h) or a wrong command
 * line, about which a message was printed. */
int command_line_parse(const struct command_line *tool, int argc, char **argv, void *opts);

/* Rows of all tools. */
#define COMMAND_LINE_PORT_ROW                                                                      \
	OPTION_ROW_NUM(port, "p", "port", "PORT", "a port", 1, UINT16_MAX,                         \
		       "SCTP port of the server")
#define COMMAND_LINE_ROWS                                                                          \
	OPTION_ROW_STRING(bind, NULL, "bind", "ADDR,...",                                          \
			  "local addresses to listen on or to connect from"),                      \
		OPTION_ROW_STRING(socket, NULL, "socket", "PATH",                                  \
				  "socket of the daemon [$DDP_SOCKET]"),                           \
		OPTION_ROW_HELP("h"), OPTION_ROW_VERSION(NULL, "versions of tool and library")

#endif
