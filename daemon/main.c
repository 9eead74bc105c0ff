/* SPDX-License-Identifier: BSD-2-Clause */
/* ddpsctpd: options, signals, and the exit status. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/base/config.h"
#include "daemon/daemon.h"
#include "daemon/base/log.h"
#include "daemon/base/event_loop.h"
#include "daemon/reload.h"
#include "daemon/tunables.h"
#include "daemon/base/version.h"

struct options {
	const char *config; /* NULL: the default file, which may be absent */
	const char *socket; /* overrides the configuration */
	bool check;
	unsigned verbose;
};

struct service {
	struct daemon daemon;
	struct options options;
};

static const char usage[] =
	"usage: ddpsctpd [-f] [-n [-v]] [-c FILE] [-s PATH]\n"
	"  -c, --config FILE   read this configuration, not " CONFIG_PATH "\n"
	"  -s, --socket PATH   listen for clients there, not where the configuration says\n"
	"  -f, --foreground    stay in the foreground, which is always done\n"
	"  -n, --check         check the configuration and exit\n"
	"  -v, --verbose       log more; with -n print the effective configuration\n"
	"      --help, --version\n";

/* Returns -1 to continue, or the exit status. */
static int parse(int argc, char **argv, struct options *ret)
{
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'}, {"socket", required_argument, NULL, 's'},
		{"foreground", no_argument, NULL, 'f'},   {"check", no_argument, NULL, 'n'},
		{"verbose", no_argument, NULL, 'v'},      {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},      {NULL, 0, NULL, 0},
	};
	int o;

	while ((o = getopt_long(argc, argv, "c:s:fnvhV", longs, NULL)) != -1) {
		switch (o) {
		case 'c':
			ret->config = optarg;
			break;
		case 's':
			ret->socket = optarg;
			break;
		case 'f':
			break;
		case 'n':
			ret->check = true;
			break;
		case 'v':
			ret->verbose++;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			puts("ddpsctpd " DAEMON_VERSION);
			return 0;
		default:
			fputs(usage, stderr);
			return 1;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "ddpsctpd: unexpected argument '%s'\n%s", argv[optind], usage);
	return 1;
}

static int configure(const struct options *o, struct config *ret)
{
	char err[CONFIG_ERR_MAX];

	if (config_load(o->config, ret, err, sizeof(err))) {
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
	}
	if (o->verbose && !o->check)
		ret->log.level = LOG_LEVEL_DEBUG;
	return 0;
}

static void on_signal(void *user, int signo)
{
	struct service *s = user;

	log_info("signal: %s", strsignal(signo));
	daemon_stop(&s->daemon);
}

static void on_hangup(void *user, int signo)
{
	struct service *s = user;
	struct config cfg;

	log_info("signal: %s", strsignal(signo));
	if (s->daemon.stopping)
		return;
	reload_begin();
	reload_end(&s->daemon, configure(&s->options, &cfg) ? NULL : &cfg);
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

static int serve(struct service *s, const struct config *cfg)
{
	struct daemon *d = &s->daemon;
	int r = daemon_start(d, cfg);

	if (!r)
		r = event_loop_signal(d->worker.loop, SIGTERM, on_signal, s);
	if (!r)
		r = event_loop_signal(d->worker.loop, SIGINT, on_signal, s);
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
	struct config cfg;
	int status = parse(argc, argv, &s.options);

	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	log_open(LOG_TARGET_AUTO);
	if (!o->check)
		tunables_apply(argv);
	if (configure(o, &cfg))
		return EXIT_FAILURE;
	if (o->check) {
		if (o->verbose)
			config_print(&cfg, stdout);
		return EXIT_SUCCESS;
	}
	log_set_level((enum log_level)cfg.log.level);
	raise_descriptors();
	return serve(&s, &cfg);
}
