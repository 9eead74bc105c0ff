/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/reload.h"

#include <stdio.h>

#include "daemon/base/config_value.h"
#include "daemon/base/event_loop.h"
#include "daemon/base/log.h"
#include "daemon/base/sdnotify.h"
#include "daemon/daemon.h"
#include "daemon/objects/client.h"
#include "daemon/service/server.h"

enum { VALUE_MAX = 480 }; /* the longest list of addresses; two fit into a log line */

/* The value as in the file, truncated if necessary. */
static void value_text(const struct config_key *k, const struct config *c, char ret[VALUE_MAX])
{
	FILE *f = fmemopen(ret, VALUE_MAX, "w");

	snprintf(ret, VALUE_MAX, "?");
	if (!f)
		return;
	config_value_print(k, c, f);
	fclose(f);
	ret[VALUE_MAX - 1] = '\0';
}

static void log_change(const struct config_key *k, const struct config *old,
		       const struct config *new)
{
	const char *dot = *k->section ? "." : "";
	char from[VALUE_MAX], to[VALUE_MAX];

	value_text(k, old, from);
	value_text(k, new, to);
	if (k->effect == CONFIG_AT_RESTART)
		log_warn("reload: %s%s%s: stays %s: a restart is required for %s", k->section, dot,
			 k->name, from, to);
	else
		log_info("reload: %s%s%s: %s, was %s%s", k->section, dot, k->name, to, from,
			 config_key_effect(k));
}

/* Applies the values that are not read from daemon.cfg each time they are needed. */
static void enforce(struct daemon *d)
{
	uint32_t pos = 0;
	struct client *c;

	acct_set_limits(d->acct, &d->cfg.limits);
	event_loop_set_poll_us(d->worker.loop, d->cfg.polling.budget_us);
	while ((c = idtab_next(&d->clients, &pos)))
		client_allow(c);
}

static bool socket_differs(const struct config_socket *a, const struct config_socket *b)
{
	return a->mode != b->mode || a->gid != b->gid;
}

/* If the socket cannot be changed, the keys count as changed again at the next reload. */
static void enforce_socket(struct daemon *d, const struct config_socket *old)
{
	if (!socket_differs(&d->cfg.socket, old) || server_set_access(d->server) == 0)
		return;
	d->cfg.socket = d->said.socket = *old;
	log_warn("reload: socket.mode, socket.group: unchanged");
}

/* Returns how many values wait for a restart. */
static unsigned take_over(struct daemon *d, const struct config *cfg)
{
	const struct config_socket old = d->cfg.socket;
	unsigned waiting = 0;
	const struct config_key *k;

	log_set_level((enum log_level)cfg->log.level);
	for (size_t i = 0; (k = config_key_at(i)); i++) {
		if (config_value_same(k, &d->said, cfg))
			continue;
		log_change(k, &d->said, cfg);
		if (k->effect == CONFIG_AT_RESTART) {
			waiting++;
			continue;
		}
		config_value_copy(k, cfg, &d->said);
		config_value_copy(k, cfg, &d->cfg);
	}
	enforce(d);
	enforce_socket(d, &old);
	log_info("reload: done, values that wait for a restart: %u", waiting);
	return waiting;
}

void reload_begin(void)
{
	sdnotify_reloading();
}

void reload_end(struct daemon *d, const struct config *cfg)
{
	char more[80] = "";
	unsigned waiting;

	if (!cfg) {
		log_err("reload: refused: the configuration is unchanged");
		snprintf(more, sizeof(more), "; the changed configuration was refused");
	} else if ((waiting = take_over(d, cfg)) > 0) {
		snprintf(more, sizeof(more), "; changed values that wait for a restart: %u",
			 waiting);
	}
	daemon_report_status(d, more);
	sdnotify_ready();
}
