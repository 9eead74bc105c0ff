/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/reload.h"

#include <stdio.h>
#include <string.h>

#include "daemon/base/config.h"
#include "daemon/base/config_value.h"
#include "daemon/base/event_loop.h"
#include "daemon/base/log.h"
#include "daemon/base/sdnotify.h"
#include "daemon/daemon.h"
#include "daemon/net/disallow.h"
#include "daemon/net/peer_access.h"
#include "daemon/net/peers.h"
#include "daemon/objects/client/client.h"
#include "daemon/service/server.h"

enum { VALUE_MAX = 480 }; /* the longest list of addresses; two fit into a log line */

/* ---- values that are also kept elsewhere ---- */

static int set_log_level(struct daemon *d)
{
	log_set_level((enum log_level)d->cfg.log.level);
	return 0;
}

static int set_poll_us(struct daemon *d)
{
	event_loop_set_poll_us(d->worker.loop, d->cfg.polling.budget_us);
	return 0;
}

static int set_limits(struct daemon *d)
{
	acct_set_limits(d->acct, &d->cfg.limits);
	return 0;
}

static int set_peer_limits(struct daemon *d)
{
	peers_set_limits(&d->worker);
	return 0;
}

static int allow_clients(struct daemon *d)
{
	uint32_t pos = 0;
	struct client *c;

	while ((c = idtab_next(&d->clients, &pos)))
		client_allow(c);
	return 0;
}

static int set_socket(struct daemon *d)
{
	return server_set_access(d->server);
}

static int set_congestion_control(struct daemon *d)
{
	const struct config_user *u = &d->cfg.user;

	llp_set_cc(d->worker.net, (enum llp_cc)u->congestion_control, u->congestion_control_for,
		   u->ncc_rules);
	return 0;
}

/* A rule that ddpctl has set demands what the file has not any more. */
static bool lacks_identity(const struct daemon *d)
{
	char title[PEER_RULE_TITLE];
	unsigned rule;
	const char *unmet = config_unmet_demand(&d->cfg, &rule);

	if (!unmet)
		return false;
	peer_rule_title(&d->cfg.peers.rules.rule[rule], title);
	log_err("reload: security: rule %s of peers.rules %s", title, unmet);
	return true;
}

/* A renewed certificate is a file of the same name, so the files are read at each reload. */
static int read_identity(struct daemon *d)
{
	struct llp_cover_files files;
	char reason[CONFIG_ERR_MAX];

	if (!d->cfg.security.udp_port)
		return 0;
	if (lacks_identity(d))
		return -1;
	peer_access_files(&d->cfg, &files);
	if (llp_set_cover_files(d->worker.net, &files, reason, sizeof(reason))) {
		log_err("reload: security: %s", reason);
		return -1;
	}
	if (*reason)
		log_warn("reload: security: %s", reason);
	log_info("reload: security: %s was read", *files.cert ? files.cert : files.psk[0]);
	return 0;
}

/*
 * Called after a key of the section has changed. All other values are read from daemon.cfg
 * each time. An error keeps the old values of the section; its line of log has been written.
 */
static const struct {
	const char *section;
	int (*apply)(struct daemon *d);
} appliers[] = {
	{"log", set_log_level},           {"polling", set_poll_us},   {"limits", set_limits},
	{"limits", allow_clients},        {"session", allow_clients}, {"socket", set_socket},
	{"user", set_congestion_control}, {"peers", read_identity},   {"peers", set_peer_limits},
	{"security", read_identity},
};

static bool in_section(const struct config_key *k, const char *section)
{
	return strcmp(k->section, section) == 0;
}

static bool section_differs(const char *section, const struct config *a, const struct config *b)
{
	const struct config_key *k;

	for (size_t i = 0; (k = config_key_at(i)); i++) {
		if (in_section(k, section) && !config_value_same(k, a, b))
			return true;
	}
	return false;
}

static void take_value(struct daemon *d, const struct config_key *k, const struct config *from)
{
	if (k->effect == CONFIG_AT_RESTART || config_value_same(k, &d->said, from))
		return;
	config_value_copy(k, from, &d->said);
	config_value_copy(k, from, &d->cfg);
}

static void apply_sections(struct daemon *d, const struct config *old)
{
	const struct config_key *k;

	for (size_t i = 0; i < sizeof(appliers) / sizeof(appliers[0]); i++) {
		const char *section = appliers[i].section;

		if (!section_differs(section, old, &d->said) || appliers[i].apply(d) == 0)
			continue;
		for (size_t j = 0; (k = config_key_at(j)); j++) {
			if (in_section(k, section))
				take_value(d, k, old);
		}
	}
}

/* ---- changes by ddpctl ---- */

int reload_change(struct daemon *d, const struct config_key *k, const struct config *cfg)
{
	const struct config old = d->cfg;
	int r = 0;

	config_value_copy(k, cfg, &d->cfg);
	for (size_t i = 0; r == 0 && i < sizeof(appliers) / sizeof(appliers[0]); i++)
		if (in_section(k, appliers[i].section))
			r = appliers[i].apply(d);
	if (r == 0)
		d->origin.line[config_key_index(k)] = CONFIG_FROM_ADMIN;
	else
		d->cfg = old;
	if (r == 0 && in_section(k, "peers"))
		disallow_run(&d->worker);
	return r;
}

/* ---- one reload ---- */

static void log_change(const struct daemon *d, const struct config_key *k, const struct config *old,
		       const struct config *new)
{
	const char *dot = *k->section ? "." : "";
	char from[VALUE_MAX], to[VALUE_MAX];

	config_value_text(k, old, from, sizeof(from));
	config_value_text(k, new, to, sizeof(to));
	if (k->effect == CONFIG_AT_RESTART)
		log_warn("reload: %s%s%s: stays %s: a restart is required for %s", k->section, dot,
			 k->name, from, to);
	else if (config_value_same(k, old, &d->said))
		log_warn("reload: %s%s%s: stays %s: cannot be changed to %s", k->section, dot,
			 k->name, from, to);
	else
		log_info("reload: %s%s%s: %s, was %s%s", k->section, dot, k->name, to, from,
			 config_key_effect(k));
}

/* Returns how many values wait for a restart. */
static unsigned take_over(struct daemon *d, const struct config *cfg)
{
	const struct config old = d->said;
	unsigned waiting = 0;
	const struct config_key *k;
	bool read;

	for (size_t i = 0; (k = config_key_at(i)); i++)
		take_value(d, k, cfg);
	read = section_differs("security", &old, &d->said) ||
	       section_differs("peers", &old, &d->said);
	apply_sections(d, &old);
	if (!read)
		(void)read_identity(d);
	for (size_t i = 0; (k = config_key_at(i)); i++) {
		if (config_value_same(k, &old, cfg))
			continue;
		log_change(d, k, &old, cfg);
		waiting += k->effect == CONFIG_AT_RESTART;
	}
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

void reload_origin(struct daemon *d, const struct config *cfg, const struct config_origin *origin)
{
	const struct config_key *k;

	memcpy(d->origin.file, origin->file, sizeof(d->origin.file));
	memcpy(d->origin.rule_line, origin->rule_line, sizeof(d->origin.rule_line));
	for (size_t i = 0; (k = config_key_at(i)); i++) {
		bool by_admin = d->origin.line[i] == CONFIG_FROM_ADMIN &&
				!config_value_same(k, &d->cfg, &d->said);

		if (config_value_same(k, &d->said, cfg) && !by_admin)
			d->origin.line[i] = origin->line[i];
	}
	disallow_run(&d->worker); /* its sentences name the lines */
}
