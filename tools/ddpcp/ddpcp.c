/* SPDX-License-Identifier: BSD-2-Clause */
/* ddpcp: copies files by RDMA Writes. See ddpcp(1). */
#include "tools/ddpcp/ddpcp.h"

#include <getopt.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/common/command_line.h"
#include "tools/common/message.h"
#include "tools/common/tool.h"
#include "tools/ddpcp/ddpcp_proto.h"

enum { DESCRIPTORS = 16384 };

#define OPTION_STRUCT struct ddpcp_opts

static const struct option_row rows[] = {
	OPTION_ROW_STRING(root, NULL, "root", "DIR", "serve: the directory whose files are served"),
	OPTION_ROW_FLAG(read_only, NULL, "read-only", "serve: refuse put"),
	OPTION_ROW_FLAG(proven, NULL, "proven",
			"serve: refuse hosts that have not proven who they are"),
	OPTION_ROW_FLAG(tree, "r", "recursive", "copy directories and their contents"),
	OPTION_ROW_FLAG(preserve, "p", "preserve", "keep times and modes, regardless of the umask"),
	OPTION_ROW_FLAG(archive, "a", "archive", "-r and -p, with symbolic and hard links"),
	OPTION_ROW_FLAG(ignore_times, "I", "ignore-times",
			"with -p or -a: copy files of the same size and time, too"),
	OPTION_ROW_FLAG(no_sync, NULL, "no-sync", "do not wait until files are on the disk"),
	OPTION_ROW_NUM(port, "P", "port", "PORT", "a port", 1, UINT16_MAX,
		       "SCTP port of the server"),
	OPTION_ROW_NUM(retry, NULL, "retry", "SECONDS", "a number of seconds", 0, 3600,
		       "get and put: go on when the session was lost, if there is another in time"),
	OPTION_ROW_FLAG(verbose, "v", "verbose", "print a line for each file"),
	OPTION_ROW_FLAG(quiet, "q", "quiet", "print only errors"),
	COMMAND_LINE_ROWS,
};

static const struct ddpcp_opts defaults = {.port = DDPCP_PORT, .retry = 10};

static void complete_copy(const struct complete *c)
{
	if (c->n == 0) {
		complete_word(c, "put", "copy files to a host");
		complete_word(c, "get", "copy files from a host");
		complete_word(c, "serve", "let clients copy files from and to a directory");
	} else if (strcmp(c->operand[0], "serve") != 0) {
		complete_by_shell(c, "files");
		complete_by_shell(c, "hosts");
	}
}

static const struct command_line tool = {
	.usage = "Usage: ddpcp [OPTION]... put FILE... HOST:[NAME]\n"
		 "       ddpcp [OPTION]... get HOST:NAME [FILE]\n"
		 "       ddpcp [OPTION]... get HOST:NAME... DIR\n"
		 "       ddpcp [OPTION]... serve --root DIR [--read-only] [--proven]\n"
		 "Copies files by RDMA Writes and compares the SHA-256 of both copies. FILE - is\n"
		 "standard input or output. An interrupted copy is resumed.\n"
		 "HOST may list several addresses of one host, separated by commas: the session\n"
		 "then survives the failure of a path.\n",
	.table = {rows, sizeof(rows) / sizeof(rows[0])},
	.defaults = &defaults,
	.operand = complete_copy,
};

static int run_subcommand(const struct ddpcp_opts *o, int argc, char **argv)
{
	const char *verb = argc ? argv[0] : "";

	if (strcmp(verb, "serve") != 0 && (o->root || o->read_only || o->proven))
		return message_usage("--root, --read-only and --proven are options of serve");
	if (!strcmp(verb, "put") && argc >= 3)
		return ddpcp_put(o, (unsigned)argc - 2, argv + 1, argv[argc - 1]);
	if (!strcmp(verb, "get") && argc == 2)
		return ddpcp_get(o, 1, argv + 1, ".");
	if (!strcmp(verb, "get") && argc > 2)
		return ddpcp_get(o, (unsigned)argc - 2, argv + 1, argv[argc - 1]);
	if (!strcmp(verb, "serve") && argc == 1 && o->root)
		return ddpcp_serve(o);
	return message_usage("expected put FILE... HOST:[NAME], get HOST:NAME... [FILE], or serve "
			     "--root DIR");
}

/* A batch has two for each of its files; with fewer, batches are smaller. */
static void raise_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= DESCRIPTORS)
		return;
	l.rlim_cur = l.rlim_max < DESCRIPTORS ? l.rlim_max : DESCRIPTORS;
	setrlimit(RLIMIT_NOFILE, &l);
}

int main(int argc, char **argv)
{
	struct ddpcp_opts o = defaults;
	int status;

	tool_start("ddpcp");
	raise_descriptors();
	status = command_line_parse(&tool, argc, argv, &o);
	return status == COMMAND_LINE_GO ? run_subcommand(&o, argc - optind, argv + optind)
					 : status;
}
