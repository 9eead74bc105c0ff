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

#define OPTION_STRUCT struct ddping_opts

static const struct option_row rows[] = {
	OPTION_ROW_FLAG(serve, "s", "server", "serve"),
	OPTION_ROW_NUM(count, "cC", "count", "N", "a number of rounds", 1, UINT32_MAX,
		       "stop after N rounds"),
	OPTION_ROW_SIZE(size, "S", "size", "BYTES", "a size", 1, DDPING_MAX_SIZE,
			"bytes per round"),
	OPTION_ROW_SECONDS(interval, "i", "interval", "an interval", 0, MAX_SECONDS,
			   "time between the starts of two rounds"),
	OPTION_ROW_SECONDS(wait, "W", "wait", "a timeout", 0, MAX_SECONDS, "timeout of a round"),
	OPTION_ROW_FLAG(verify, "V", "verify", "compare the data that was written back (default)"),
	OPTION_ROW_UNFLAG(verify, NULL, "no-verify", "do not compare the data"),
	COMMAND_LINE_PORT_ROW,
	OPTION_ROW_FLAG(quiet, "q", "quiet", "print only the summary"),
	OPTION_ROW_FLAG(json, "j", "json", "print one JSON object"),
	COMMAND_LINE_ROWS,
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
