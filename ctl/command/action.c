/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/command/action.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "ipc/msg_addr.h"

static enum ctl_exit do_action(const struct ddpctl *c, const char *what, struct ctl_do verb)
{
	return query_do(c->opts.socket, args_timeout_ms(c), &verb, what);
}

static bool parse_address(const char *text, struct msg_addr *ret)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM};
	struct sockaddr_storage ss = {0};
	struct addrinfo *ai;

	if (getaddrinfo(text, NULL, &hints, &ai) != 0)
		return false;
	if (ai->ai_addrlen <= sizeof(ss))
		memcpy(&ss, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	return msg_addr_put(ret, &ss) == 0;
}

static const char of_assoc[] = "the number of an association";

enum ctl_exit action_set_primary(struct ddpctl *c, int n, char **args)
{
	struct msg_addr remote;
	uint32_t assoc;
	enum ctl_exit e = args_number(args[0], of_assoc, &assoc);

	(void)n;
	if (e != CTL_EXIT_OK)
		return e;
	if (!parse_address(args[1], &remote)) {
		query_error("'%s' is neither an IPv4 nor an IPv6 address", args[1]);
		return args_hint();
	}
	return query_set_primary(c->opts.socket, args_timeout_ms(c), assoc, &remote);
}

enum ctl_exit action_abort(struct ddpctl *c, int n, char **args)
{
	struct ctl_do verb = {.verb = CTL_ABORT};
	enum ctl_exit e = args_number(args[0], of_assoc, &verb.id);

	(void)n;
	return e == CTL_EXIT_OK ? do_action(c, "assoc abort", verb) : e;
}

enum ctl_exit action_terminate(struct ddpctl *c, int n, char **args)
{
	struct ctl_do verb = {.verb = CTL_TERMINATE};
	enum ctl_exit e = args_number(args[0], of_assoc, &verb.id);

	(void)n;
	if (e == CTL_EXIT_OK)
		e = args_number(args[1], "the number of a stream", &verb.arg);
	return e == CTL_EXIT_OK ? do_action(c, "session terminate", verb) : e;
}

enum ctl_exit action_kick(struct ddpctl *c, int n, char **args)
{
	struct ctl_do verb = {.verb = CTL_KICK};
	enum ctl_exit e = args_number(args[0], "the number of a client", &verb.id);

	(void)n;
	return e == CTL_EXIT_OK ? do_action(c, "client kick", verb) : e;
}

/* The number of the word in a list that ends with NULL; the length of the list if it has none. */
static uint32_t index_of(const char *text, const char *const *words)
{
	uint32_t i = 0;

	while (words[i] && strcmp(words[i], text) != 0)
		i++;
	return i;
}

enum ctl_exit action_log_level(struct ddpctl *c, int n, char **args)
{
	static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
	struct ctl_do verb = {.verb = CTL_LOG_LEVEL, .arg = index_of(args[0], levels)};

	(void)n;
	if (levels[verb.arg])
		return do_action(c, "log level", verb);
	query_error("log level: '%s' is not error, warning, info or debug", args[0]);
	return args_hint();
}

enum ctl_exit action_drain(struct ddpctl *c, int n, char **args)
{
	static const char *const states[] = {
		[CTL_DRAIN_OFF] = "off", [CTL_DRAIN_ON] = "on", [CTL_DRAIN_END] = "end", NULL};
	struct ctl_do verb = {.verb = CTL_DRAIN, .arg = index_of(args[0], states)};

	(void)n;
	if (states[verb.arg])
		return do_action(c, "drain", verb);
	query_error("drain: '%s' is not on, off or end", args[0]);
	return args_hint();
}

enum ctl_exit action_reload(struct ddpctl *c, int n, char **args)
{
	(void)n;
	(void)args;
	return do_action(c, "config reload", (struct ctl_do){.verb = CTL_RELOAD});
}

enum ctl_exit action_limit_set(struct ddpctl *c, int n, char **args)
{
	(void)n;
	return query_set(c->opts.socket, args_timeout_ms(c), args[0], args[1]);
}

/* ---- config check ---- */

/* The daemon beside this program, as after a build, or the installed one. */
static void find_daemon(char ret[PATH_MAX])
{
	static const char name[] = "/ddpsctpd";
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - sizeof(name));
	char *slash;

	ret[n > 0 ? n : 0] = '\0';
	slash = strrchr(ret, '/');
	if (slash) {
		strcpy(slash, name);
		if (access(ret, X_OK) == 0)
			return;
	}
	strcpy(ret, SBINDIR "/ddpsctpd");
}

static void run_check(const char *daemon, char *file)
{
	char *args[] = {(char *)"ddpsctpd", (char *)"-n", (char *)"-c", file, NULL};

	if (!file)
		args[2] = NULL;
	execv(daemon, args);
	query_error("%s: %s", daemon, strerror(errno));
	_exit(EX_OSERR);
}

enum ctl_exit action_config_check(struct ddpctl *c, int n, char **args)
{
	char daemon[PATH_MAX];
	int status = 0;
	pid_t pid;

	(void)c;
	find_daemon(daemon);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_check(daemon, n ? args[0] : NULL);
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		query_error("config check: %s", strerror(errno));
		return CTL_EXIT_FAILED;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? CTL_EXIT_OK : CTL_EXIT_FAILED;
}
