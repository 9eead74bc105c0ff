/* SPDX-License-Identifier: BSD-2-Clause */
/* ddpcp: copies a file by RDMA Writes. See ddpcp(1). */
#include "tools/ddpcp.h"

#include <ddp/ddp.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "tools/common.h"
#include "tools/ddpcp_proto.h"

enum {
	OPT_SOCKET = 256,
	OPT_BIND,
	OPT_ROOT,
	OPT_READ_ONLY,
	OPT_VERSION,
};

static const struct option longopts[] = {
	{"root", required_argument, NULL, OPT_ROOT},
	{"read-only", no_argument, NULL, OPT_READ_ONLY},
	{"port", required_argument, NULL, 'p'},
	{"quiet", no_argument, NULL, 'q'},
	{"bind", required_argument, NULL, OPT_BIND},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static int help(void)
{
	printf("Usage: ddpcp [OPTION]... put FILE HOST:[NAME]\n"
	       "       ddpcp [OPTION]... get HOST:NAME [FILE]\n"
	       "       ddpcp [OPTION]... serve --root DIR [--read-only]\n"
	       "Copies a file by RDMA Writes and compares its SHA-256. HOST may be several\n"
	       "addresses of it, with commas: paths that stand in for each other.\n\n"
	       "      --root DIR      serve: names are looked up here and nowhere else\n"
	       "      --read-only     serve: no put\n"
	       "  -p, --port PORT     SCTP port [%d]\n"
	       "  -q, --quiet         nothing but errors\n"
	       "      --bind ADDR,... addresses here: to listen at, or to come from\n"
	       "      --socket PATH   of the daemon [$DDP_SOCKET]\n"
	       "  -h, --help          this text\n"
	       "      --version       versions of tool and library\n",
	       DDPCP_PORT);
	return COMMON_OK;
}

/* Returns 0 to go on, or an exit status + 1. */
static int set_option(struct ddpcp_opts *o, int opt, const char *arg)
{
	uint64_t v;

	switch (opt) {
	case OPT_ROOT:
		o->root = arg;
		return 0;
	case OPT_READ_ONLY:
		o->read_only = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_BIND:
		o->bind = arg;
		return 0;
	case OPT_SOCKET:
		o->socket = arg;
		return 0;
	case 'p':
		if (common_parse_num(arg, false, 1, UINT16_MAX, &v) < 0)
			return common_usage("-p: '%s' is not a port", arg) + 1;
		o->port = (uint16_t)v;
		return 0;
	case 'h':
		return help() + 1;
	case OPT_VERSION:
		common_version(ddp_version());
		return COMMON_OK + 1;
	default:
		return COMMON_USAGE + 1;
	}
}

static int run(const struct ddpcp_opts *o, int argc, char **argv)
{
	const char *verb = argc ? argv[0] : "";

	if (strcmp(verb, "serve") != 0 && (o->root || o->read_only))
		return common_usage("--root and --read-only belong to serve");
	if (!strcmp(verb, "put") && argc == 3)
		return ddpcp_put(o, argv[1], argv[2]);
	if (!strcmp(verb, "get") && (argc == 2 || argc == 3))
		return ddpcp_get(o, argv[1], argc == 3 ? argv[2] : NULL);
	if (!strcmp(verb, "serve") && argc == 1 && o->root)
		return ddpcp_serve(o);
	return common_usage("one of: put FILE HOST:[NAME], get HOST:NAME [FILE], serve --root DIR");
}

int main(int argc, char **argv)
{
	struct ddpcp_opts o = {.port = DDPCP_PORT};
	int opt, end;

	common_start("ddpcp");
	while ((opt = getopt_long(argc, argv, "p:qh", longopts, NULL)) != -1) {
		end = set_option(&o, opt, optarg);
		if (end)
			return end - 1;
	}
	return run(&o, argc - optind, argv + optind);
}
