/* SPDX-License-Identifier: BSD-2-Clause */
/* ddperf: bandwidth, latency and message rate of RDMA operations. See ddperf(1). */
#include "tools/ddperf.h"

#include <getopt.h>
#include <stdint.h>

#include "tools/opts.h"

enum { MAX_SECONDS = 86400, MAX_INTERVAL_MS = 60000 };

#define AT(member) OPTION_AT(struct ddperf_opts, member)

static const struct option_row rows[] = {
	{
		.letters = "s",
		.name = "server",
		.help = "serve",
		.type = OPTION_FLAG,
		AT(serve),
	},
	{
		.name = "once",
		.help = "with -s: end after one client",
		.type = OPTION_FLAG,
		AT(once),
	},
	{
		.letters = "S",
		.name = "size",
		.arg = "BYTES",
		.noun = "a size",
		.help = "bytes of a message (64K for bw, else 64)",
		.type = OPTION_SIZE,
		AT(size),
		.min = 1,
		.max = DDPERF_MAX_SIZE,
	},
	{
		.letters = "d",
		.name = "depth",
		.arg = "N",
		.noun = "a depth",
		.help = "messages in flight (64 for bw, 256 for rate, always 1 for lat)",
		.type = OPTION_NUM,
		AT(depth),
		.min = 1,
		.max = DDPERF_MAX_DEPTH,
	},
	{
		.letters = "t",
		.name = "time",
		.arg = "SECONDS",
		.noun = "a time",
		.help = "how long to measure",
		.type = OPTION_SECONDS,
		AT(seconds),
		.max = MAX_SECONDS,
	},
	{
		.letters = "cn",
		.name = "count",
		.arg = "N",
		.noun = "a number of messages",
		.help = "measure N messages instead of a time",
		.type = OPTION_SIZE,
		AT(count),
		.min = 1,
		.max = UINT32_MAX,
	},
	{
		.letters = "w",
		.name = "warm-up",
		.arg = "SECONDS",
		.noun = "a time",
		.help = "how long to run before measuring",
		.type = OPTION_SECONDS,
		AT(warm_up),
		.max = MAX_SECONDS,
	},
	{
		.letters = "i",
		.name = "interval",
		.arg = "MS",
		.noun = "an interval",
		.help = "milliseconds of a sample of bw and rate",
		.type = OPTION_NUM,
		AT(interval_ms),
		.min = 1,
		.max = MAX_INTERVAL_MS,
	},
	{
		.letters = "I",
		.name = "inline",
		.help = "put the data into the work request",
		.type = OPTION_FLAG,
		AT(inline_data),
	},
	{
		.letters = "m",
		.name = "own-memory",
		.help = "register memory of malloc() instead of allocating regions",
		.type = OPTION_FLAG,
		AT(own_memory),
	},
	OPTS_PORT(struct ddperf_opts),
	{
		.letters = "j",
		.name = "json",
		.help = "print one JSON object",
		.type = OPTION_FLAG,
		AT(json),
	},
	OPTS_COMMON(struct ddperf_opts),
};

static const struct ddperf_opts defaults = {
	.port = DDPERF_PORT,
	.seconds = 5,
	.warm_up = 0.2,
	.interval_ms = 100,
};

static const struct opts_tool tool = {
	.usage = "Usage: ddperf [OPTION]... HOST write|read|send bw|lat|rate\n"
		 "       ddperf [OPTION]... HOST fetch-add lat|rate\n"
		 "       ddperf -s [--once] [OPTION]...\n"
		 "Measures bandwidth, latency or messages per second between this host and HOST. "
		 "HOST\n"
		 "may list several addresses of one host, separated by commas: the session then\n"
		 "survives the failure of a path.\n",
	.table = {rows, sizeof(rows) / sizeof(rows[0])},
	.defaults = &defaults,
};

/* Whether the operation has what the options ask for. Negative after a message. */
static int check_test(struct ddperf_opts *o)
{
	if (o->inline_data && ddperf_op_has_response(o->op)) {
		common_usage("--inline: %s has no data to put into the work request",
			     ddperf_op_str(o->op));
		return -1;
	}
	if (o->op != DDPERF_FETCH_ADD)
		return 0;
	if (o->metric == DDPERF_BW) {
		common_usage("fetch-add has no bw; measure lat or rate");
		return -1;
	}
	if (o->size && o->size != DDPERF_CELL) {
		common_usage("--size: fetch-add always has %d bytes", DDPERF_CELL);
		return -1;
	}
	o->size = DDPERF_CELL;
	return 0;
}

/* HOST OPERATION METRIC. Negative after a message. */
static int set_test(struct ddperf_opts *o, char *const *arg)
{
	if (ddperf_op_parse(arg[1], &o->op) < 0) {
		common_usage("unknown operation '%s'", arg[1]);
		return -1;
	}
	if (ddperf_metric_parse(arg[2], &o->metric) < 0) {
		common_usage("unknown metric '%s'", arg[2]);
		return -1;
	}
	o->host = arg[0];
	if (check_test(o) < 0)
		return -1;
	if (!o->size)
		o->size = o->metric == DDPERF_BW ? 64 << 10 : 64;
	if (o->metric == DDPERF_LAT)
		o->depth = 1;
	else if (!o->depth)
		o->depth = o->metric == DDPERF_BW ? 64 : 256;
	return 0;
}

int main(int argc, char **argv)
{
	struct ddperf_opts o = defaults;
	int status;

	common_start("ddperf");
	status = opts_parse(&tool, argc, argv, &o);
	if (status != OPTS_GO)
		return status;
	if (o.serve && argc == optind)
		return ddperf_server(&o);
	if (o.serve || argc - optind != 3)
		return common_usage(o.serve ? "-s takes no HOST"
					    : "HOST, operation and metric are needed");
	return set_test(&o, argv + optind) < 0 ? COMMON_USAGE : ddperf_client(&o);
}
