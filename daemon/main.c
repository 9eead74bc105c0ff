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
#include "daemon/private.h"
#include "daemon/reload.h"
#include "daemon/service/server.h"
#include "llp/common/llp.h"
#include "util/complete.h"
#include "util/option.h"

struct options {
	const char *config; /* NULL: the default file, which may be absent */
	const char *socket; /* overrides the configuration */
	bool foreground;    /* accepted without effect: the daemon always stays in the foreground */
	bool check;
	bool verbose;
	bool private;
	uint16_t join; /* UDP port of other private daemons; 0: none */
};

struct service {
	struct daemon daemon;
	struct options options;
	struct private_folder folder;
	struct event_loop_watch *pipe; /* of a private daemon's standard output, or NULL */
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
	OPTION_ROW_FLAG(
		private, NULL, "private",
		"use a socket, a loopback address and a UDP port of its own, and print them"),
	OPTION_ROW_NUM(join, NULL, "join", "PORT", "a UDP port", 1, UINT16_MAX,
		       "with --private: reach the daemons with this UDP port"),
	OPTION_ROW_VERSION("V", "version"),
	OPTION_ROW_HELP("h"),
};

static const struct option_table table = {rows, sizeof(rows) / sizeof(rows[0])};

static void usage(FILE *out)
{
	fputs("usage: ddpsctpd [-f] [-n] [-v] [-c FILE] [-s PATH] [--private [--join PORT]]\n",
	      out);
	option_help(out, &table, &(struct options){0});
}

/* The file of --config, and options; there are no operands. */
static int complete_words(int argc, char **argv)
{
	struct complete c;

	complete_read(&c, &table, argc, argv, stdout);
	complete_option(&c);
	return EXIT_SUCCESS;
}

/* Returns -1 to continue, or the exit status. */
static int parse_options(int argc, char **argv, struct options *ret)
{
	char error[OPTION_ERROR];

	switch (option_parse(&table, argc, argv, ret, error)) {
	case OPTION_R_HELP:
		usage(stdout);
		return EXIT_SUCCESS;
	case OPTION_R_VERSION:
		puts("ddpsctpd " DAEMON_VERSION);
		return EXIT_SUCCESS;
	case OPTION_R_WRONG:
		if (*error)
			fprintf(stderr, "ddpsctpd: %s\n", error);
		break;
	case OPTION_R_OK:
		if (optind == argc && (ret->private || !ret->join))
			return -1;
		if (optind < argc)
			fprintf(stderr, "ddpsctpd: unexpected argument '%s'\n", argv[optind]);
		else
			fputs("ddpsctpd: --join needs --private\n", stderr);
	}
	usage(stderr);
	return EX_USAGE;
}

static void from_option(struct config_origin *o, const char *key)
{
	o->line[config_key_index(config_key_named(key))] = CONFIG_FROM_OPTION;
}

/* The configuration of the host is not that of a private daemon. */
static int load(const struct options *o, struct config *ret, struct config_origin *ret_origin)
{
	char err[CONFIG_ERR_MAX];

	if (o->private && !o->config) {
		config_default(ret);
		*ret_origin = (struct config_origin){0};
	} else if (config_load_origin(o->config, ret, ret_origin, err, sizeof(err))) {
		log_err("%s", err);
		return -1;
	}
	return 0;
}

static void make_private(const struct options *o, struct config *cfg, struct config_origin *origin)
{
	static const char *const keys[] = {"transport", "listen", "admin", "user.udp_port",
					   "socket.mode"};

	private_configure(cfg, o->join);
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		from_option(origin, keys[i]);
}

static int configure(const struct options *o, struct config *ret, struct config_origin *ret_origin)
{
	if (load(o, ret, ret_origin))
		return -1;
	if (o->private)
		make_private(o, ret, ret_origin);
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
	if (s->options.private)
		private_keep(&s->daemon, &cfg);
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
	if (!r && s->options.private)
		r = private_announce(d, &s->pipe);
	if (!r)
		r = daemon_run(d);
	event_loop_unwatch(s->pipe);
	daemon_free(d);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The socket is in a folder of its own. A reload finds the path among the options. */
static int use_folder(struct service *s, struct config *cfg, struct config_origin *origin)
{
	static char path[sizeof(cfg->socket.path)];

	if (private_make_folder(&s->folder))
		return -1;
	snprintf(path, sizeof(path), "%s/ddp.sock", s->folder.path);
	s->options.socket = path;
	strcpy(cfg->socket.path, path);
	from_option(origin, "socket.path");
	return 0;
}

int main(int argc, char **argv)
{
	struct service s = {0};
	const struct options *o = &s.options;
	struct config_origin origin;
	struct config cfg;
	int status;

	if (complete_asked(argc, argv))
		return complete_words(argc, argv);
	status = parse_options(argc, argv, &s.options);
	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	log_open(LOG_TARGET_AUTO);
	if (!llp_user_hide_keys())
		log_warn("keys of DTLS are part of core dumps");
	if (configure(o, &cfg, &origin)) {
		if (!o->check)
			server_refuse_pending();
		return EX_CONFIG;
	}
	if (o->check) {
		config_note(&cfg, &origin, stderr);
		if (o->verbose)
			config_print(&cfg, stdout);
		return EXIT_SUCCESS;
	}
	log_set_level((enum log_level)cfg.log.level);
	raise_descriptors();
	if (o->private)
		signal(SIGTERM, SIG_IGN); /* outside of the loop: the folder is removed last */
	if (o->private && !o->socket && use_folder(&s, &cfg, &origin))
		return EXIT_FAILURE;
	status = run_daemon(&s, &cfg, &origin);
	private_remove_folder(&s.folder);
	return status;
}
