/* SPDX-License-Identifier: BSD-2-Clause */
/* ddperf: bandwidth, latency and message rate of RDMA operations. See ddperf(1). */
#include "tools/ddperf.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum {
	OPT_SOCKET = 256,
	OPT_BIND,
	OPT_ONCE,
	OPT_VERSION,
	MAX_SECONDS = 86400,
};

static const struct option longopts[] = {
	{"server", no_argument, NULL, 's'},
	{"once", no_argument, NULL, OPT_ONCE},
	{"size", required_argument, NULL, 'S'},
	{"depth", required_argument, NULL, 'd'},
	{"time", required_argument, NULL, 't'},
	{"count", required_argument, NULL, 'c'},
	{"warm-up", required_argument, NULL, 'w'},
	{"interval", required_argument, NULL, 'i'},
	{"inline", no_argument, NULL, 'I'},
	{"port", required_argument, NULL, 'p'},
	{"json", no_argument, NULL, 'j'},
	{"bind", required_argument, NULL, OPT_BIND},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static int help(void)
{
	printf("Usage: ddperf [OPTION]... HOST write|read|send bw|lat|rate\n"
	       "       ddperf [OPTION]... HOST fetch-add lat|rate\n"
	       "       ddperf -s [--once] [OPTION]...\n"
	       "Measures bandwidth, latency or messages per second between here and HOST, which "
	       "may\n"
	       "be several addresses of it, with commas: paths that stand in for each other.\n\n"
	       "  -s, --server            serve\n"
	       "      --once              end after one client\n"
	       "  -S, --size BYTES        of a message; K and M are understood [bw 64K, else 64]\n"
	       "  -d, --depth N           messages in flight [bw 64, rate 256; lat is always 1]\n"
	       "  -t, --time SECONDS      to measure [5]\n"
	       "  -c, -n, --count N       messages to measure, instead of a time\n"
	       "  -w, --warm-up SECONDS   before that [0.2]\n"
	       "  -i, --interval MS       of bandwidth and rate samples [100]\n"
	       "  -I, --inline            data rides in the work request\n"
	       "  -p, --port PORT         SCTP port [%d]\n"
	       "  -j, --json              one JSON object\n"
	       "      --bind ADDR[,...]   addresses here: to listen at, or to come from\n"
	       "      --socket PATH       of the daemon [$DDP_SOCKET]\n"
	       "  -h, --help              this text\n"
	       "      --version           versions of tool and library\n",
	       DDPERF_PORT);
	return COMMON_OK;
}

/* Sets a numeric option. Negative after a message if its value is wrong. */
static int set_number(struct ddperf_opts *o, int opt, const char *arg)
{
	uint64_t v = 0;
	int r;

	switch (opt) {
	case 'S':
		r = common_parse_num(arg, true, 1, DDPERF_MAX_SIZE, &v);
		o->size = (uint32_t)v;
		break;
	case 'd':
		r = common_parse_num(arg, false, 1, DDPERF_MAX_DEPTH, &v);
		o->depth = (uint32_t)v;
		break;
	case 'i':
		r = common_parse_num(arg, false, 1, 60000, &v);
		o->interval_ms = (uint32_t)v;
		break;
	case 'p':
		r = common_parse_num(arg, false, 1, UINT16_MAX, &v);
		o->port = (uint16_t)v;
		break;
	case 't':
		r = common_parse_seconds(arg, MAX_SECONDS, &o->seconds);
		break;
	case 'w':
		r = common_parse_seconds(arg, MAX_SECONDS, &o->warm_up);
		break;
	default:
		r = common_parse_num(arg, true, 1, UINT32_MAX, &o->count);
		break;
	}
	if (r < 0)
		common_usage("-%c: '%s' is not a valid value", opt, arg);
	return r;
}

/* Returns 0 to go on, or an exit status + 1. */
static int set_option(struct ddperf_opts *o, int opt, const char *arg, bool *ret_serve)
{
	switch (opt) {
	case 's':
		*ret_serve = true;
		return 0;
	case OPT_ONCE:
		o->once = true;
		return 0;
	case 'I':
		o->inline_data = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case OPT_BIND:
		o->bind = arg;
		return 0;
	case OPT_SOCKET:
		o->socket = arg;
		return 0;
	case 'h':
		return help() + 1;
	case OPT_VERSION:
		common_version(ddp_version());
		return COMMON_OK + 1;
	case '?':
		return COMMON_USAGE + 1;
	default:
		return set_number(o, opt, arg) < 0 ? COMMON_USAGE + 1 : 0;
	}
}

/* What an operation has not. Negative after a message. */
static int check_test(struct ddperf_opts *o)
{
	if (o->inline_data && ddperf_asks(o->op)) {
		common_usage("a %s has no inline data", ddperf_op_str(o->op));
		return -1;
	}
	if (o->op != DDPERF_FETCH_ADD)
		return 0;
	if (o->metric == DDPERF_BW || (o->size && o->size != DDPERF_CELL)) {
		common_usage("fetch-add has no bandwidth, and no size but %d", DDPERF_CELL);
		return -1;
	}
	o->size = DDPERF_CELL;
	return 0;
}

/* HOST OPERATION METRIC. Negative after a message. */
static int set_test(struct ddperf_opts *o, char *const *arg)
{
	int op = 0, metric = 0;

	while (op < DDPERF_OPS && strcmp(arg[1], ddperf_op_str(op)) != 0)
		op++;
	while (metric < DDPERF_METRICS && strcmp(arg[2], ddperf_metric_str(metric)) != 0)
		metric++;
	if (op == DDPERF_OPS || metric == DDPERF_METRICS) {
		common_usage("there is no test '%s %s'", arg[1], arg[2]);
		return -1;
	}
	o->host = arg[0];
	o->op = op;
	o->metric = metric;
	if (check_test(o) < 0)
		return -1;
	if (!o->size)
		o->size = metric == DDPERF_BW ? 64 << 10 : 64;
	if (metric == DDPERF_LAT)
		o->depth = 1;
	else if (!o->depth)
		o->depth = metric == DDPERF_BW ? 64 : 256;
	return 0;
}

int main(int argc, char **argv)
{
	struct ddperf_opts o = {
		.port = DDPERF_PORT, .seconds = 5, .warm_up = 0.2, .interval_ms = 100};
	bool serve = false;
	int opt, end;

	common_start("ddperf");
	while ((opt = getopt_long(argc, argv, "sS:d:t:c:n:w:i:Ip:jh", longopts, NULL)) != -1) {
		end = set_option(&o, opt, optarg, &serve);
		if (end)
			return end - 1;
	}
	if (serve && argc == optind)
		return ddperf_server(&o);
	if (serve || argc - optind != 3)
		return common_usage(serve ? "-s takes no HOST"
					  : "HOST, operation and metric are needed");
	if (set_test(&o, argv + optind) < 0)
		return COMMON_USAGE;
	return ddperf_client(&o);
}
