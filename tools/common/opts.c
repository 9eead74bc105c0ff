/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/opts.h"

#include <ddp/ddp.h>
#include <stdio.h>

#include "tools/common/common.h"

static int complete(const struct opts_tool *tool, int argc, char **argv)
{
	struct complete c;

	complete_read(&c, &tool->table, argc, argv, stdout);
	if (!complete_option(&c))
		tool->operand(&c);
	return COMMON_OK;
}

int opts_parse(const struct opts_tool *tool, int argc, char **argv, void *opts)
{
	char error[OPTION_ERROR];

	if (complete_asked(argc, argv))
		return complete(tool, argc, argv);
	switch (option_parse(&tool->table, argc, argv, opts, error)) {
	case OPTION_R_HELP:
		printf("%s\n", tool->usage);
		option_help(stdout, &tool->table, tool->defaults);
		return COMMON_OK;
	case OPTION_R_VERSION:
		common_version(ddp_version());
		return COMMON_OK;
	case OPTION_R_WRONG:
		if (*error)
			return common_usage("%s", error);
		return common_usage_hint();
	default:
		return OPTS_GO;
	}
}
