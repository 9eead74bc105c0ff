/* SPDX-License-Identifier: BSD-2-Clause */
/* ddpsctpd: options, signals, and the exit status. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include "daemon/base/config.h"
#include "daemon/base/event_loop.h"
#include "daemon/base/log.h"
#include "daemon/base/version.h"
#include "daemon/daemon.h"
#include "daemon/reload.h"
#include "daemon/service/server.h"
#include "util/option.h"

struct options {
	const char *config; /* NULL: the default file, which may be absent */
	const char *socket; /* overrides the configuration */
	bool foreground;    /* accepted without effect: the daemon always stays in the foreground */
	bool check;
	bool verbose;
};

struct service {
	struct daemon daemon;
	struct options options;
};

#define OPTION_STRUCT struct options

static const struct option_row rows[] = {
	OPTION_ROW_STRING(config, "c", "config", "FILE",
			  "read this configuration, not " CONFIG_PATH),
	OPTION_ROW_STRING(socket, "s", "socket", "PATH",
			  "listen for clients there, not where the configuration says"),
	OPTION_ROW_FLAG(foreground, "f", "foreground",
			"stay in the foreground, which is always done"),
	OPTION_ROW_FLAG(check, "n", "check", "check the configuration and exit"),
	OPTION_ROW_FLAG(verbose, "v", "verbose",
			"log more; with -n print the effective configuration"),
	OPTION_ROW_VERSION("V", "version"),
	OPTION_ROW_HELP("h"),
};

static const struct option_table table = {rows, sizeof(rows) / sizeof(rows[0])};

static void usage(FILE *out)
{
	fputs("usage: ddpsctpd [-f] [-n] [-v] [-c FILE] [-s PATH]\n", out);
	option_help(out, &table, &(struct options){0});
}

/* Returns -1 to continue, or the exit status. */
static int parse_options(int argc, char **argv, struct options *ret)
{
	char error[OPTION_ERROR]; /* stays empty: no option takes a number */

	switch (option_parse(&table, argc, argv, ret, error)) {
	case OPTION_R_HELP:
		usage(stdout);
		return EXIT_SUCCESS;
	case OPTION_R_VERSION:
		puts("ddpsctpd " DAEMON_VERSION);
		return EXIT_SUCCESS;
	case OPTION_R_WRONG:
		break;
	case OPTION_R_OK:
		if (optind == argc)
			return -1;
		fprintf(stderr, "ddpsctpd: unexpected argument '%s'\n", argv[optind]);
	}
	usage(stderr);
	return EX_USAGE;
}

static void from_option(struct config_origin *o, const char *key)
{
	o->line[config_key_index(config_key_named(key))] = CONFIG_FROM_OPTION;
}

static int configure(const struct options *o, struct config *ret, struct config_origin *ret_origin)
{
	char err[CONFIG_ERR_MAX];

	if (config_load_origin(o->config, ret, ret_origin, err, sizeof(err))) {
		log_err("%s", err);
		return -1;
	}
	if (o->socket) {
		if (strlen(o->socket) >= sizeof(ret->socket.path)) {
			log_err("--socket: a path of %zu bytes: at most %zu", strlen(o->socket),
				sizeof(ret->socket.path) - 1);
			return -1;
		}
		strcpy(ret->socket.path, o->socket);
		from_option(ret_origin, "socket.path");
	}
	if (o->verbose && !o->check) {
		ret->log.level = LOG_LEVEL_DEBUG;
		from_option(ret_origin, "log.level");
	}
	return 0;
}

static void on_stop_signal(void *user, int signo)
{
	struct service *s = user;

	log_info("signal: %s", strsignal(signo));
	daemon_stop(&s->daemon);
}

static void on_hangup(void *user, int signo)
{
	struct service *s = user;
	struct config_origin origin;
	struct config cfg;

	log_info("signal: %s", strsignal(signo));
	if (s->daemon.stopping)
		return;
	reload_begin();
	if (configure(&s->options, &cfg, &origin)) {
		reload_end(&s->daemon, NULL);
		return;
	}
	reload_end(&s->daemon, &cfg);
	reload_origin(&s->daemon, &cfg, &origin);
}

/* Each client has three descriptors and each completion queue one: raise the limit as far as
 * permitted. */
static void raise_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &l) < 0)
		log_warn("descriptors: the limit cannot be raised: %s", strerror(errno));
}

static int run_daemon(struct service *s, const struct config *cfg,
		      const struct config_origin *origin)
{
	struct daemon *d = &s->daemon;
	int r = daemon_start(d, cfg);

	d->origin = *origin;
	d->change_key = reload_change;
	if (!r)
		r = event_loop_signal(d->worker.loop, SIGTERM, on_stop_signal, s);
	if (!r)
		r = event_loop_signal(d->worker.loop, SIGINT, on_stop_signal, s);
	if (!r)
		r = event_loop_signal(d->worker.loop, SIGHUP, on_hangup, s);
	if (!r)
		r = daemon_run(d);
	daemon_free(d);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct service s = {0};
	const struct options *o = &s.options;
	struct config_origin origin;
	struct config cfg;
	int status = parse_options(argc, argv, &s.options);

	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	log_open(LOG_TARGET_AUTO);
	if (configure(o, &cfg, &origin)) {
		if (!o->check)
			server_refuse_pending();
		return EX_CONFIG;
	}
	if (o->check) {
		if (o->verbose)
			config_print(&cfg, stdout);
		return EXIT_SUCCESS;
	}
	log_set_level((enum log_level)cfg.log.level);
	raise_descriptors();
	return run_daemon(&s, &cfg, &origin);
}
