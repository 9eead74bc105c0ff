/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/field/options.h"

#include "ipc/local_protocol.h"

enum { MAX_SECONDS = 3600 };

#define MIN_SECONDS 0.001
#define MIN_INTERVAL 0.1

#define OPTION_STRUCT struct options

static const struct option_row rows[] = {
	OPTION_ROW_FLAG(print.json, "j", "json", "a JSON array of objects with all fields"),
	OPTION_ROW_FLAG(print.pretty, "p", "pretty", "like --json, with line breaks"),
	OPTION_ROW_FLAG(print.oneline, "o", "oneline", "each object on one line"),
	OPTION_ROW_FLAG(print.numeric, "n", "numeric", "numbers instead of names, and not rounded"),
	OPTION_ROW_FLAG(print.details, "d", "details", "more fields"),
	OPTION_ROW_FLAG(print.stats, "s", "stats", "counters"),
	OPTION_ROW_SECONDS(every, "w", "watch", "an interval", MIN_INTERVAL, MAX_SECONDS,
			   "repeat at this interval, with rates"),
	OPTION_ROW_NUM(count, "c", "count", "N", "a count", 1, UINT32_MAX,
		       "stop after N outputs or events"),
	OPTION_ROW_STRING(batch, "b", "batch", "FILE",
			  "run the commands in FILE, one per line; - is stdin"),
	OPTION_ROW_FLAG(force, NULL, "force", "with -b: continue after a failed command"),
	OPTION_ROW_STRING(socket, NULL, "socket", "PATH",
			  "socket of the daemon [$" IPC_SOCKET_ENV ", or " IPC_DEFAULT_SOCKET "]"),
	OPTION_ROW_SECONDS(timeout, NULL, "timeout", "a timeout", MIN_SECONDS, MAX_SECONDS,
			   "how long to wait for a reply"),
	OPTION_ROW_VERSION("V", "version"),
	OPTION_ROW_HELP("h"),
};

const struct options options_default = {.timeout = 5};

const struct option_table options_table = {rows, sizeof(rows) / sizeof(rows[0])};
