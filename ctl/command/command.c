/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/command/command.h"

#include <string.h>

#include "ctl/capture/capture.h"
#include "ctl/doctor/doctor.h"
#include "ctl/command/explain.h"
#include "ctl/field/metric.h"
#include "ctl/key/key.h"
#include "ctl/command/monitor.h"
#include "ctl/command/top.h"
#include "ctl/command/action.h"

/* explain [CODE] */
static enum ctl_exit run_explain(struct ddpctl *c, int n, char **args)
{
	struct query_reply a;
	enum ctl_exit e = explain_code(n ? args[0] : NULL, &a);

	if (e != CTL_EXIT_OK)
		return e;
	if (n)
		c->opts.print.details = true;
	return args_print(&explain_object, &a, a.n, &c->opts.print);
}

/* stats [openmetrics | prometheus] */
static enum ctl_exit run_stats(struct ddpctl *c, int n, char **args)
{
	enum metric_format format = c->opts.print.json ? METRIC_JSON : METRIC_TEXT;

	if (n && !strcmp(args[0], "openmetrics")) {
		format = METRIC_OPENMETRICS;
	} else if (n && !strcmp(args[0], "prometheus")) {
		format = METRIC_PROMETHEUS;
	} else if (n) {
		query_error("stats: '%s' is not openmetrics or prometheus", args[0]);
		return args_hint();
	}
	return metric_print(stdout, c->opts.socket, args_timeout_ms(c), format);
}

enum { ANY = PRINT_MAX_FILTERS * 2 };

static const struct command commands[] = {
	{"monitor", NULL, "[KEY VALUE]...", 0, ANY, "", "events as they happen, one per line",
	 monitor_run},
	{"top", NULL, "[users] [sort ORDER]", 0, 3, "users sort",
	 "the traffic of associations and queue pairs or users per second, until q is typed",
	 top_run},
	{"capture", NULL, "FILE [assoc ID | qp NUMBER] [snap BYTES]", 1, 5, "",
	 "write packets of the transport user to a file for Wireshark, until ^C", capture_run},
	{"doctor", NULL, "[HOST]", 0, 1, "", "check this host, or the path to HOST", doctor_run},
	{"stats", NULL, "[openmetrics|prometheus]", 0, 1, "openmetrics prometheus",
	 "all counters and gauges", run_stats},
	{"path", "set-primary", "ASSOC ADDRESS", 2, 2, "",
	 "send to this ADDRESS of the peer while its path is active", action_set_primary},
	{"assoc", "abort", "ASSOC", 1, 1, "", "end an association and its sessions at once",
	 action_abort},
	{"session", "terminate", "ASSOC STREAM", 2, 2, "", "end a session in order",
	 action_terminate},
	{"client", "kick", "CLIENT", 1, 1, "", "disconnect a program", action_kick},
	{"log", "level", "LEVEL", 1, 1, "error warning info debug",
	 "minimum severity logged, until the daemon restarts", action_log_level},
	{"config", "reload", "", 0, 0, "", "reload the configuration; the log has the result",
	 action_reload},
	{"config", "check", "[FILE]", 0, 1, "",
	 "check a configuration file; without FILE, that of the service", action_config_check},
	{"limit", "set", "KEY VALUE", 2, 2, "",
	 "change a limit, or another key that a reload can change, until the daemon restarts",
	 action_limit_set},
	{"drain", NULL, "on|off|end", 1, 1, "on off end",
	 "refuse new sessions; existing ones continue, or end as well", action_drain},
	{"key", NULL, "[FOLDER] | show [FILE]", 0, 2, "show",
	 "make a key and a certificate of this host for encryption, or show a certificate, with "
	 "the "
	 "rule for other hosts",
	 key_run},
	{"explain", NULL, "[CODE]", 0, 1, "",
	 "the meaning of the CODE of a Terminate (0x1101, 1/1/01 or TAGGED_BOUNDS), or of the "
	 "status of a completion (DDP_WC_FLUSH_ERR or 10)",
	 run_explain},
};

const struct command *command_table(unsigned *ret_n)
{
	*ret_n = sizeof(commands) / sizeof(commands[0]);
	return commands;
}

const struct command *command_find(const char *word, const char *verb)
{
	unsigned n;
	const struct command *table = command_table(&n);

	for (unsigned i = 0; i < n; i++) {
		if (strcmp(table[i].word, word) != 0)
			continue;
		if (!table[i].verb || (verb && !strcmp(table[i].verb, verb)))
			return &table[i];
	}
	return NULL;
}

enum ctl_exit command_run(const struct command *cmd, struct ddpctl *c, int n, char **args)
{
	const char *gap = cmd->verb ? " " : "", *verb = cmd->verb ? cmd->verb : "";

	if (n >= cmd->min && n <= cmd->max)
		return cmd->run(c, n, args);
	query_error("usage: ddpctl %s%s%s %s", cmd->word, gap, verb, cmd->args);
	return args_hint();
}
