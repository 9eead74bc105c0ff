/* SPDX-License-Identifier: BSD-2-Clause */
/* ddping: rounds of RDMA Read and Write between two hosts. See ddping(1). */
#include "tools/ddping/ddping.h"

#include <getopt.h>
#include <stdint.h>

#include "tools/common/command_line.h"
#include "tools/common/message.h"
#include "tools/common/tool.h"
#include "tools/ddping/ddping_proto.h"

enum { MAX_SECONDS = 60 }; /* of --interval and --wait: the server waits longer */

#define AT(member) OPTION_AT(struct ddping_opts, member)

static const struct option_row rows[] = {
	{
		.letters = "s",
		.name = "server",
		.help = "serve",
		.type = OPTION_FLAG,
		AT(serve),
	},
	{
		.letters = "cC",
		.name = "count",
		.arg = "N",
		.noun = "a number of rounds",
		.help = "stop after N rounds",
		.type = OPTION_NUM,
		AT(count),
		.min = 1,
		.max = UINT32_MAX,
	},
	{
		.letters = "S",
		.name = "size",
		.arg = "BYTES",
		.noun = "a size",
		.help = "bytes of a round",
		.type = OPTION_SIZE,
		AT(size),
		.min = 1,
		.max = DDPING_MAX_SIZE,
	},
	{
		.letters = "i",
		.name = "interval",
		.arg = "SECONDS",
		.noun = "an interval",
		.help = "time between the starts of two rounds",
		.type = OPTION_SECONDS,
		AT(interval),
		.max = MAX_SECONDS,
	},
	{
		.letters = "W",
		.name = "wait",
		.arg = "SECONDS",
		.noun = "a timeout",
		.help = "timeout of a round",
		.type = OPTION_SECONDS,
		AT(wait),
		.max = MAX_SECONDS,
	},
	{
		.letters = "V",
		.name = "verify",
		.help = "compare the data that was written back (default)",
		.type = OPTION_FLAG,
		AT(verify),
	},
	{
		.name = "no-verify",
		.help = "do not compare it",
		.type = OPTION_UNFLAG,
		AT(verify),
	},
	OPTS_PORT(struct ddping_opts),
	{
		.letters = "q",
		.name = "quiet",
		.help = "print only the summary",
		.type = OPTION_FLAG,
		AT(quiet),
	},
	{
		.letters = "j",
		.name = "json",
		.help = "print one JSON object",
		.type = OPTION_FLAG,
		AT(json),
	},
	OPTS_COMMON(struct ddping_opts),
};

static const struct ddping_opts defaults = {
	.port = DDPING_PORT,
	.size = 64,
	.interval = 1,
	.wait = 10,
	.verify = true,
};

static void complete_host(const struct complete *c)
{
	if (c->n == 0)
		complete_by_shell(c, "hosts");
}

static const struct command_line tool = {
	.usage = "Usage: ddping [OPTION]... HOST\n"
		 "       ddping -s [OPTION]...\n"
		 "In each round the server at HOST reads memory of this program and writes it "
		 "back.\n"
		 "HOST may list several addresses of one host, separated by commas: the session "
		 "then\n"
		 "survives the failure of a path.\n",
	.table = {rows, sizeof(rows) / sizeof(rows[0])},
	.defaults = &defaults,
	.operand = complete_host,
};

int main(int argc, char **argv)
{
	struct ddping_opts o = defaults;
	int status;

	tool_start("ddping");
	status = command_line_parse(&tool, argc, argv, &o);
	if (status != COMMAND_LINE_GO)
		return status;
	if (argc - optind != (o.serve ? 0 : 1))
		return message_usage(o.serve ? "-s takes no HOST" : "exactly one HOST is needed");
	o.host = argv[optind];
	return o.serve ? ddping_server(&o) : ddping_client(&o);
}
