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

#define OPTION_STRUCT struct ddperf_opts

static const struct option_row rows[] = {
	OPTION_ROW_FLAG(serve, "s", "server", "serve"),
	OPTION_ROW_FLAG(once, NULL, "once", "with -s: end after one client"),
	OPTION_ROW_SIZE(size, "S", "size", "BYTES", "a size", 1, DDPERF_MAX_SIZE,
			"bytes of a message (64K for bw, else 64)"),
	OPTION_ROW_FLAG(all, "a", "all", "all sizes from 64 bytes to 1 MiB, doubling"),
	OPTION_ROW_NUM(depth, "d", "depth", "N", "a depth", 1, DDPERF_MAX_DEPTH,
		       "messages in flight (64 for bw, 256 for rate, always 1 for lat)"),
	OPTION_ROW_SECONDS(seconds, "t", "time", "a time", 0, MAX_SECONDS, "how long to measure"),
	OPTION_ROW_SIZE(count, "cn", "count", "N", "a number of messages", 1, UINT32_MAX,
			"measure N messages instead of a time"),
	OPTION_ROW_NUM(runs, "r", "runs", "N", "a number of runs", 1, MAX_RUNS,
		       "measure N times and report the spread"),
	OPTION_ROW_NUM(qps, "q", "qps", "N", "a number of queue pairs", 1, DDPERF_MAX_QPS,
		       "queue pairs at the same time"),
	OPTION_ROW_FLAG(both, "b", "bidirectional",
			"both directions at the same time; not for lat"),
	OPTION_ROW_SECONDS(warm_up, "w", "warm-up", "a time", 0, MAX_SECONDS,
			   "how long to run before measuring"),
	OPTION_ROW_NUM(interval_ms, "i", "interval", "MS", "an interval", 1, MAX_INTERVAL_MS,
		       "milliseconds per sample of bw and rate"),
	OPTION_ROW_NUM(pause_ms, NULL, "pause", "MS", "a pause", 1, MAX_INTERVAL_MS,
		       "lat: milliseconds of rest before each message"),
	OPTION_ROW_FLAG(inline_data, "I", "inline", "put the data into the work request"),
	OPTION_ROW_FLAG(own_memory, "m", "own-memory",
			"register memory of malloc() instead of allocating regions"),
	COMMAND_LINE_PORT_ROW,
	OPTION_ROW_FLAG(json, "j", "json", "print a JSON object; for several tests an array"),
	OPTION_ROW_FLAG(csv, NULL, "csv", "print a line of comma-separated values for each test"),
	OPTION_ROW_STRING(plot, NULL, "plot", "FILE.svg", "with -a: plot the results with gnuplot"),
	OPTION_ROW_FLAG(log, NULL, "log", "with --plot: a logarithmic vertical axis"),
	OPTION_ROW_STRING(compare, NULL, "compare", "FILE.json",
			  "with --plot: also draw this earlier output of -j -a"),
	COMMAND_LINE_ROWS,
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

/* Whether the options fit the operation. Negative after a message. */
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
		message_usage("--size: fetch-add always uses %d bytes", DDPERF_CELL);
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
	else if (o->pause_ms && o->metric != DDPERF_LAT)
		wrong = "--pause: bw and rate have no rests between messages; take lat";
	else if (o->all && o->size)
		wrong = "--all and --size exclude each other";
	else if (o->all && o->inline_data)
		wrong = "--all has sizes that are too large for --inline; name one with --size";
	else if (o->plot && !o->all)
		wrong = "--plot needs --all: a drawing has several sizes";
	else if ((o->log || o->compare) && !o->plot)
		wrong = "--log and --compare belong to --plot";
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
					     : "HOST, operation and metric are needed; the server "
					       "is ddperf -s, there");
	return set_test(&o, argv + optind) < 0 ? TOOL_USAGE : ddperf_client(&o);
}
