/* SPDX-License-Identifier: BSD-2-Clause */
/* ddperf: bandwidth, latency and message rate of RDMA operations. See ddperf(1). */
#include "tools/ddperf/ddperf.h"

#include <getopt.h>
#include <stdint.h>
#include <string.h>

#include "tools/common/command_line.h"
#include "tools/common/message.h"
#include "tools/common/tool.h"

enum { MAX_SECONDS = 86400, MAX_INTERVAL_MS = 60000, MAX_RUNS = 1000 };

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
		.letters = "a",
		.name = "all",
		.help = "all sizes from 64 bytes to 1 MiB, doubling",
		.type = OPTION_FLAG,
		AT(all),
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
		.letters = "r",
		.name = "runs",
		.arg = "N",
		.noun = "a number of runs",
		.help = "measure N times and report the spread",
		.type = OPTION_NUM,
		AT(runs),
		.min = 1,
		.max = MAX_RUNS,
	},
	{
		.letters = "q",
		.name = "qps",
		.arg = "N",
		.noun = "a number of queue pairs",
		.help = "queue pairs at the same time",
		.type = OPTION_NUM,
		AT(qps),
		.min = 1,
		.max = DDPERF_MAX_QPS,
	},
	{
		.letters = "b",
		.name = "bidirectional",
		.help = "both directions at the same time; not for lat",
		.type = OPTION_FLAG,
		AT(both),
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
		.help = "print one JSON object; of several tests an array",
		.type = OPTION_FLAG,
		AT(json),
	},
	{
		.name = "csv",
		.help = "print a line of comma-separated values for each test",
		.type = OPTION_FLAG,
		AT(csv),
	},
	{
		.name = "plot",
		.arg = "FILE.svg",
		.help = "with -a: draw the figures, by gnuplot",
		.type = OPTION_STRING,
		AT(plot),
	},
	OPTS_COMMON(struct ddperf_opts),
};

static const struct ddperf_opts defaults = {
	.port = DDPERF_PORT,
	.seconds = 5,
	.warm_up = 0.2,
	.interval_ms = 100,
	.qps = 1,
	.runs = 1,
};

/* Operations may be a list: "write,re" becomes "write,read". */
static void complete_ops(const struct complete *c)
{
	const char *comma = strrchr(c->cur, ',');
	int len = comma ? (int)(comma + 1 - c->cur) : 0;

	for (unsigned i = 0; i < DDPERF_OPS; i++) {
		char word[128];

		snprintf(word, sizeof(word), "%.*s%s", len, c->cur, ddperf_op_str(i));
		complete_word(c, word, NULL);
	}
}

static void complete_test(const struct complete *c)
{
	if (c->n == 0)
		complete_by_shell(c, "hosts");
	else if (c->n == 1)
		complete_ops(c);
	if (c->n != 2)
		return;
	complete_word(c, "bw", "bandwidth");
	complete_word(c, "lat", "latency");
	complete_word(c, "rate", "messages per second");
}

static const struct command_line tool = {
	.usage = "Usage: ddperf [OPTION]... HOST OPERATION[,...] bw|lat|rate\n"
		 "       ddperf -s [--once] [OPTION]...\n"
		 "Measures bandwidth, latency or messages per second between this host and HOST. "
		 "An\n"
		 "OPERATION is write, read, send or fetch-add, which has no bw. HOST\n"
		 "may list several addresses of one host, separated by commas: the session then\n"
		 "survives the failure of a path.\n",
	.table = {rows, sizeof(rows) / sizeof(rows[0])},
	.defaults = &defaults,
	.operand = complete_test,
};

/* Whether one operation has what the options ask for. Negative after a message. */
static int check_op(const struct ddperf_opts *o, enum ddperf_op op)
{
	if (o->inline_data && ddperf_op_has_response(op)) {
		message_usage("--inline: %s has no data to put into the work request",
			      ddperf_op_str(op));
		return -1;
	}
	if (op != DDPERF_FETCH_ADD)
		return 0;
	if (o->metric == DDPERF_BW) {
		message_usage("fetch-add has no bw; measure lat or rate");
		return -1;
	}
	if (o->size && o->size != DDPERF_CELL) {
		message_usage("--size: fetch-add always has %d bytes", DDPERF_CELL);
		return -1;
	}
	return 0;
}

/* Options that exclude each other. Negative after a message. */
static int check_options(const struct ddperf_opts *o)
{
	const char *wrong = NULL;

	if (o->both && o->metric == DDPERF_LAT)
		wrong = "--bidirectional: lat is measured one message at a time; take bw or rate";
	else if (o->all && o->size)
		wrong = "--all and --size exclude each other";
	else if (o->all && o->inline_data)
		wrong = "--all has sizes that are too large for --inline; name one with --size";
	else if (o->plot && !o->all)
		wrong = "--plot needs --all: a drawing has several sizes";
	else if (o->json && o->csv)
		wrong = "--json and --csv exclude each other";
	if (wrong)
		message_usage("%s", wrong);
	return wrong ? -1 : 0;
}

/* The names between commas. Negative after a message. */
static int set_ops(struct ddperf_opts *o, char *names)
{
	char *rest = names;
	const char *name;

	while ((name = strsep(&rest, ","))) {
		enum ddperf_op op;

		if (ddperf_op_parse(name, &op) < 0) {
			message_usage("unknown operation '%s'", name);
			return -1;
		}
		for (unsigned i = 0; i < o->nops; i++)
			if (o->ops[i] == op) {
				message_usage("operation '%s' is named twice", name);
				return -1;
			}
		o->ops[o->nops++] = op;
	}
	return 0;
}

/* HOST OPERATION METRIC. Negative after a message. */
static int set_test(struct ddperf_opts *o, char *const *arg)
{
	if (set_ops(o, arg[1]) < 0)
		return -1;
	if (ddperf_metric_parse(arg[2], &o->metric) < 0) {
		message_usage("unknown metric '%s'", arg[2]);
		return -1;
	}
	o->host = arg[0];
	for (unsigned i = 0; i < o->nops; i++)
		if (check_op(o, o->ops[i]) < 0)
			return -1;
	if (check_options(o) < 0)
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

	tool_start("ddperf");
	status = command_line_parse(&tool, argc, argv, &o);
	if (status != COMMAND_LINE_GO)
		return status;
	if (o.serve && argc == optind)
		return ddperf_server(&o);
	if (o.serve || argc - optind != 3)
		return message_usage(o.serve ? "-s takes no HOST"
					     : "HOST, operation and metric are needed");
	return set_test(&o, argv + optind) < 0 ? TOOL_USAGE : ddperf_client(&o);
}
