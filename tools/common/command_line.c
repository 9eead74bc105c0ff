/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/command_line.h"

#include <ddp/ddp.h>
#include <stdio.h>

#include "tools/common/message.h"
#include "tools/common/tool.h"

static int print_candidates(const struct command_line *tool, int argc, char **argv)
{
	struct complete c;

	complete_read(&c, &tool->table, argc, argv, stdout);
	if (!complete_option(&c))
		tool->operand(&c);
	return TOOL_OK;
}

int command_line_parse(const struct command_line *tool, int argc, char **argv, void *opts)
{
	char error[OPTION_ERROR];

	if (complete_asked(argc, argv))
		return print_candidates(tool, argc, argv);
	switch (option_parse(&tool->table, argc, argv, opts, error)) {
	case OPTION_R_HELP:
		printf("%s\n", tool->usage);
		option_help(stdout, &tool->table, tool->defaults);
		return TOOL_OK;
	case OPTION_R_VERSION:
		tool_version(ddp_version());
		return TOOL_OK;
	case OPTION_R_WRONG:
		if (*error)
			return message_usage("%s", error);
		return message_usage_hint();
	default:
		return COMMAND_LINE_GO;
	}
}
