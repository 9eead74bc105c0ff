/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/field/options.h"

#include "ipc/local_protocol.h"

enum { MAX_SECONDS = 3600 };

#define MIN_SECONDS 0.001
#define MIN_INTERVAL 0.1

#define AT(member) OPTION_AT(struct options, member)

static const struct option_row rows[] = {
	{
		.letters = "j",
		.name = "json",
		.help = "a JSON array of objects with all fields",
		.type = OPTION_FLAG,
		AT(print.json),
	},
	{
		.letters = "p",
		.name = "pretty",
		.help = "the same with line breaks",
		.type = OPTION_FLAG,
		AT(print.pretty),
	},
	{
		.letters = "o",
		.name = "oneline",
		.help = "each object on one line",
		.type = OPTION_FLAG,
		AT(print.oneline),
	},
	{
		.letters = "n",
		.name = "numeric",
		.help = "no user names, no rounded numbers",
		.type = OPTION_FLAG,
		AT(print.numeric),
	},
	{
		.letters = "d",
		.name = "details",
		.help = "more fields",
		.type = OPTION_FLAG,
		AT(print.details),
	},
	{
		.letters = "s",
		.name = "stats",
		.help = "counters",
		.type = OPTION_FLAG,
		AT(print.stats),
	},
	{
		.letters = "w",
		.name = "watch",
		.arg = "SECONDS",
		.noun = "an interval",
		.help = "again and again, with rates",
		.type = OPTION_SECONDS,
		AT(every),
		.min = MIN_INTERVAL,
		.max = MAX_SECONDS,
	},
	{
		.letters = "c",
		.name = "count",
		.arg = "N",
		.noun = "a count",
		.help = "end after N outputs or events",
		.type = OPTION_NUM,
		AT(count),
		.min = 1,
		.max = UINT32_MAX,
	},
	{
		.letters = "b",
		.name = "batch",
		.arg = "FILE",
		.help = "run the command in each line of FILE; -: of stdin",
		.type = OPTION_STRING,
		AT(batch),
	},
	{
		.name = "force",
		.help = "with -b: go on after a command that fails",
		.type = OPTION_FLAG,
		AT(force),
	},
	{
		.name = "socket",
		.arg = "PATH",
		.help = "socket of the daemon [$" IPC_SOCKET_ENV ", or " IPC_DEFAULT_SOCKET "]",
		.type = OPTION_STRING,
		AT(socket),
	},
	{
		.name = "timeout",
		.arg = "SECONDS",
		.noun = "a timeout",
		.help = "how long to wait for a reply",
		.type = OPTION_SECONDS,
		AT(timeout),
		.min = MIN_SECONDS,
		.max = MAX_SECONDS,
	},
	{.letters = "V", .name = "version", .help = "version", .type = OPTION_VERSION},
	{.letters = "h", .name = "help", .help = "this text", .type = OPTION_HELP},
};

const struct options options_default = {.timeout = 5};

const struct option_table options_table = {rows, sizeof(rows) / sizeof(rows[0])};
