/* SPDX-License-Identifier: BSD-2-Clause */
/* ddping: rounds of RDMA Read and Write between two hosts. See ddping(1). */
#include "tools/ddping.h"

#include <ddp/ddp.h>
#include <getopt.h>
#include <stdio.h>

#include "tools/common.h"
#include "tools/ddping_proto.h"

enum {
	OPT_SOCKET = 256,
	OPT_BIND,
	OPT_NO_VERIFY,
	OPT_VERSION,
	MAX_SECONDS = 60, /* of interval and waiting time: the server waits longer */
};

static const struct option longopts[] = {
	{"server", no_argument, NULL, 's'},
	{"count", required_argument, NULL, 'c'},
	{"size", required_argument, NULL, 'S'},
	{"interval", required_argument, NULL, 'i'},
	{"wait", required_argument, NULL, 'W'},
	{"verify", no_argument, NULL, 'V'},
	{"no-verify", no_argument, NULL, OPT_NO_VERIFY},
	{"port", required_argument, NULL, 'p'},
	{"quiet", no_argument, NULL, 'q'},
	{"json", no_argument, NULL, 'j'},
	{"bind", required_argument, NULL, OPT_BIND},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static int help(void)
{
	printf("Usage: ddping [OPTION]... HOST\n"
	       "       ddping -s [OPTION]...\n"
	       "In each round the server at HOST reads memory of this program and writes it "
	       "back.\nHOST may be several addresses of it, with commas: paths that stand in for "
	       "each other.\n\n"
	       "  -s, --server            serve\n"
	       "  -c, -C, --count N       stop after N rounds\n"
	       "  -S, --size BYTES        of each round, 1 to 16M; K and M are understood [64]\n"
	       "  -i, --interval SECONDS  between rounds, 0 to %d [1]\n"
	       "  -W, --wait SECONDS      for the end of a round [10]\n"
	       "  -V, --verify            compare what came back (the default)\n"
	       "      --no-verify         do not\n"
	       "  -p, --port PORT         SCTP port [%d]\n"
	       "  -q, --quiet             only the summary\n"
	       "  -j, --json              one JSON object\n"
	       "      --bind ADDR[,...]   addresses here: to listen at, or to come from\n"
	       "      --socket PATH       of the daemon [$DDP_SOCKET]\n"
	       "  -h, --help              this text\n"
	       "      --version           versions of tool and library\n",
	       MAX_SECONDS, DDPING_PORT);
	return COMMON_OK;
}

/* Sets a numeric option. Returns -1 after a message if its value is wrong. */
static int set_number(struct ddping_opts *o, int opt, const char *arg)
{
	uint64_t v = 0;
	int r;

	switch (opt) {
	case 'c':
	case 'C':
		r = common_parse_num(arg, false, 1, UINT32_MAX, &o->count);
		break;
	case 'S':
		r = common_parse_num(arg, true, 1, DDPING_MAX_SIZE, &v);
		o->size = (uint32_t)v;
		break;
	case 'p':
		r = common_parse_num(arg, false, 1, UINT16_MAX, &v);
		o->port = (uint16_t)v;
		break;
	case 'i':
		r = common_parse_seconds(arg, MAX_SECONDS, &o->interval);
		break;
	default:
		r = common_parse_seconds(arg, MAX_SECONDS, &o->wait);
		break;
	}
	if (r < 0)
		common_usage("-%c: '%s' is not a valid value", opt, arg);
	return r;
}

/* Returns 0 to go on, or an exit status + 1. */
static int set_option(struct ddping_opts *o, int opt, const char *arg, bool *ret_serve)
{
	switch (opt) {
	case 's':
		*ret_serve = true;
		return 0;
	case 'V':
	case OPT_NO_VERIFY:
		o->verify = opt == 'V';
		return 0;
	case 'q':
		o->quiet = true;
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

int main(int argc, char **argv)
{
	struct ddping_opts o = {
		.port = DDPING_PORT, .size = 64, .interval = 1, .wait = 10, .verify = true};
	bool serve = false;
	int opt, end;

	common_start("ddping");
	while ((opt = getopt_long(argc, argv, "sc:C:S:i:W:Vp:qjh", longopts, NULL)) != -1) {
		end = set_option(&o, opt, optarg, &serve);
		if (end)
			return end - 1;
	}
	if (argc - optind != (serve ? 0 : 1))
		return common_usage(serve ? "-s takes no HOST" : "exactly one HOST is needed");
	o.host = argv[optind];
	return serve ? ddping_server(&o) : ddping_client(&o);
}
