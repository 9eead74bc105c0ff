/* SPDX-License-Identifier: BSD-2-Clause */
/* ddpmetrics: the daemon's metrics over HTTP, for Prometheus. See ddpmetrics(8). */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl/metrics/exporter.h"
#include "ipc/local_protocol.h"
#include "util/complete.h"
#include "util/option.h"

#define LISTEN "127.0.0.1:9899"
#define MIN_SECONDS 0.001
#define MAX_SECONDS 60

struct ddpmetrics {
	const char *listen, *socket;
	double timeout; /* seconds */
};

#define OPTION_STRUCT struct ddpmetrics

static const struct option_row rows[] = {
	OPTION_ROW_STRING(listen, "l", "listen", "WHERE",
			  "loopback ADDRESS:PORT, or path of a UNIX socket [" LISTEN "]"),
	OPTION_ROW_STRING(socket, NULL, "socket", "PATH",
			  "socket of the daemon [$" IPC_SOCKET_ENV ", or " IPC_DEFAULT_SOCKET "]"),
	OPTION_ROW_SECONDS(timeout, NULL, "timeout", "a timeout", MIN_SECONDS, MAX_SECONDS,
			   "how long to wait for a reply of the daemon"),
	OPTION_ROW_VERSION("V", "version"),
	OPTION_ROW_HELP("h"),
};

static const struct ddpmetrics defaults = {.timeout = 2};
static const struct option_table table = {rows, sizeof(rows) / sizeof(rows[0])};

static int print_help(void)
{
	printf("Usage: ddpmetrics [OPTION]...\n"
	       "Serves the metrics of ddpsctpd for Prometheus, GET /metrics, and a status page, "
	       "GET /.\n\n");
	option_help(stdout, &table, &defaults);
	return CTL_EXIT_OK;
}

/* Options; there are no operands. */
static int complete_words(int argc, char **argv)
{
	struct complete c;

	complete_read(&c, &table, argc, argv, stdout);
	complete_option(&c);
	return CTL_EXIT_OK;
}

static int wrong_command_line(const char *error)
{
	if (*error)
		fprintf(stderr, "ddpmetrics: %s\n", error);
	fputs("Try 'ddpmetrics --help'.\n", stderr);
	return CTL_EXIT_USAGE;
}

static int serve_metrics(const struct ddpmetrics *o)
{
	const struct exporter_conf conf = {
		.listen = o->listen,
		.socket = o->socket,
		.timeout_ms = (int)(o->timeout * 1000),
	};

	return exporter_run(&conf);
}

int main(int argc, char **argv)
{
	struct ddpmetrics o = defaults;
	const char *env = getenv(IPC_SOCKET_ENV);
	char error[OPTION_ERROR];

	if (complete_asked(argc, argv))
		return complete_words(argc, argv);
	o.listen = LISTEN;
	o.socket = env && *env ? env : IPC_DEFAULT_SOCKET;
	switch (option_parse(&table, argc, argv, &o, error)) {
	case OPTION_R_HELP:
		return print_help();
	case OPTION_R_VERSION:
		printf("ddpmetrics " PACKAGE_VERSION "\n");
		return CTL_EXIT_OK;
	case OPTION_R_WRONG:
		return wrong_command_line(error);
	default:
		return optind < argc ? wrong_command_line("unexpected operand") : serve_metrics(&o);
	}
}
