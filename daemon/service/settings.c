/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/base/config_value.h"
#include "daemon/base/log.h"
#include "daemon/base/reply.h"
#include "daemon/objects/client/client.h"
#include "ipc/ctl.h"

/* The key with that name; a limit may be without its section. */
static const struct config_key *find_key(const char *name)
{
	const struct config_key *k = config_key_named(name);

	return k || strchr(name, '.') ? k : config_key_find("limits", name);
}

static int unknown_key(const char *name, struct reply *rep)
{
	char section[CTL_KEY_MAX] = "limits", hint[MSG_REASON_MAX / 2];
	const char *dot = strchr(name, '.');

	if (dot)
		snprintf(section, sizeof(section), "%.*s", (int)(dot - name), name);
	if (!config_key_section(section))
		return reply_refuse(rep, ENOENT, "%s: unknown key", name);
	config_key_suggest(section, dot ? dot + 1 : name, hint, sizeof(hint));
	return reply_refuse(rep, ENOENT, "%s: unknown key: %s", name, hint);
}

static int set(struct client *c, const char *name, const char *value, struct reply *rep)
{
	const struct config_key *k = find_key(name);
	struct daemon *d = c->daemon;
	unsigned rule;
	const char *unmet;
	char reason[CONFIG_REASON_MAX], was[CTL_VALUE_MAX], full[CTL_KEY_MAX + 16];
	struct config new = d->cfg;

	if (!k)
		return unknown_key(name, rep);
	snprintf(full, sizeof(full), "%s%s%s", k->section, *k->section ? "." : "", k->name);
	name = full;
	if (k->effect == CONFIG_AT_RESTART)
		return reply_refuse(rep, EBUSY,
				    "%s cannot change while the daemon runs: set it in its file "
				    "and restart the daemon",
				    name);
	if (!config_value_parse_all(k, value, &new, reason))
		return reply_refuse(rep, EINVAL, "%s: %s", name, reason);
	unmet = config_unmet_demand(&new, &rule);
	if (unmet)
		return reply_refuse(rep, EINVAL, "%s: rule %u %s", name, rule + 1, unmet);
	config_value_text(k, &d->cfg, was, sizeof(was));
	if (!d->change_key || d->change_key(d, k, &new))
		return reply_refuse(rep, EIO, "%s stays %s: the log has the reason", name, was);
	log_limited(&c->worker->client_log, c->worker->now_ms, LOG_LEVEL_INFO,
		    "%s: %s, was %s%s; by pid %d, uid %u", name, value, was, config_key_effect(k),
		    (int)c->pid, (unsigned)c->uid);
	return 0;
}

/* Copies a string that may lack its end. False: it has characters that keys and values never have.
 */
static bool take_text(char *ret, const char *from, size_t len)
{
	memcpy(ret, from, len);
	ret[len - 1] = '\0';
	for (; *ret; ret++)
		if ((unsigned char)*ret < ' ' || (unsigned char)*ret >= 0x7f)
			return false;
	return true;
}

int settings_set(struct client *c, const struct ctl_set *req, struct reply *rep)
{
	char key[CTL_KEY_MAX], value[CTL_VALUE_MAX];

	if (req->version != CTL_VERSION)
		return reply_refuse(rep, EPROTONOSUPPORT,
				    "ddpctl speaks version %u of the records, the daemon %u",
				    req->version, CTL_VERSION);
	if (client_check_admin(c, "limit set", rep))
		return -EPERM;
	if (!take_text(key, req->key, sizeof(key)) || !take_text(value, req->value, sizeof(value)))
		return reply_refuse(rep, EINVAL, "limit set: control characters in key or value");
	return set(c, key, value, rep);
}
