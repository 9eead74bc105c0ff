/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration in effect; use and limits of each uid, and its traffic. */
#include <stdio.h>
#include <string.h>

#include "daemon/base/config_value.h"
#include "daemon/base/state.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/service/show_impl.h"

static void put_source(const struct config_origin *o, size_t i, char *ret, size_t len)
{
	switch (o->line[i]) {
	case CONFIG_FROM_DEFAULT:
		show_string(ret, len, "default");
		break;
	case CONFIG_FROM_OPTION:
		show_string(ret, len, "option");
		break;
	case CONFIG_FROM_ADMIN:
		show_string(ret, len, "ddpctl");
		break;
	default:
		snprintf(ret, len, "%s:%d", o->file, o->line[i]);
	}
}

static void put_effect(const struct config_key *k, char *ret, size_t len)
{
	const char *effect = config_key_effect(k); /* "; at once" */

	show_string(ret, len, *effect ? effect + strspn(effect, "; ") : "after a restart");
}

static void show_key(struct show *s, const struct config_key *k)
{
	struct ctl_config *r = &s->rec.config;

	snprintf(r->key, sizeof(r->key), "%s%s%s", k->section, *k->section ? "." : "", k->name);
	config_value_text(k, &s->d->cfg, r->value, sizeof(r->value));
	put_source(&s->d->origin, config_key_index(k), r->source, sizeof(r->source));
	show_string(r->def, sizeof(r->def), k->def);
	config_value_range(k, r->range);
	put_effect(k, r->effect, sizeof(r->effect));
	show_string(r->help, sizeof(r->help), k->help);
	show_send(s);
}

_Static_assert(sizeof(((struct ctl_config *)NULL)->range) == CONFIG_RANGE_MAX, "ranges fit");

/* Others see the keys that bound their programs. */
static bool may_see_key(const struct show *s, const struct config_key *k)
{
	return s->to_admin || strcmp(k->section, "limits") == 0 ||
	       strcmp(k->section, "session") == 0;
}

bool show_config(struct show *s)
{
	const struct config_key *k;

	for (; !show_full(s); s->outer++) {
		k = config_key_at(s->outer);
		if (!k)
			return true;
		if (may_see_key(s, k))
			show_key(s, k);
		else
			s->end.hidden++;
	}
	return false;
}

static bool may_see_uid(const struct show *s, uid_t uid)
{
	return s->to_admin || s->to->uid == uid;
}

static void show_limit(struct show *s, uid_t uid, enum acct_kind kind)
{
	struct ctl_limit *r = &s->rec.limit;
	const char *key = acct_key(kind), *dot = strchr(key, '.');

	r->uid = uid;
	show_string(r->name, sizeof(r->name), dot ? dot + 1 : key);
	r->used = acct_used(s->d->acct, uid, kind);
	r->max = acct_limit(s->d->acct, uid, kind);
	r->refused = acct_refused(s->d->acct, uid, kind);
	show_send(s);
}

bool show_limits(struct show *s)
{
	uid_t uid;

	while (!show_full(s)) {
		if (!acct_next_uid(s->d->acct, s->next, false, &uid))
			return true;
		if (!may_see_uid(s, uid))
			s->end.hidden++;
		for (unsigned kind = 0; kind < ACCT_RESERVE; kind++)
			if (may_see_uid(s, uid))
				show_limit(s, uid, kind);
		s->next = (uint64_t)uid + 1;
	}
	return false;
}

/* Adds the queue pairs of one client and their traffic. */
static void add_client(struct ctl_user *r, struct acct_traffic *t, const struct client *c)
{
	uint32_t pos = 0;
	const struct qp *qp;

	r->clients++;
	r->qps += c->handles.qps.used;
	r->mrs += c->handles.mrs.used;
	r->mr_bytes += c->regions.bytes;
	while ((qp = idtab_next(&c->handles.qps, &pos)))
		acct_traffic_add(t, qp_traffic(qp));
}

static void show_user(struct show *s, uid_t uid)
{
	struct acct_traffic t = acct_traffic(s->d->acct, uid);
	struct ctl_user *r = &s->rec.user;
	const struct client *c;
	uint32_t pos = 0;

	r->uid = uid;
	while ((c = idtab_next(&s->d->clients, &pos)))
		if (c->uid == uid)
			add_client(r, &t, c);
	r->tx_msgs = t.tx_msgs;
	r->rx_msgs = t.rx_msgs;
	r->tx_bytes = t.tx_bytes;
	r->rx_bytes = t.rx_bytes;
	r->guesses = acct_guesses(s->d->acct, uid);
	show_send(s);
}

bool show_users(struct show *s)
{
	uid_t uid;

	while (!show_full(s)) {
		if (!acct_next_uid(s->d->acct, s->next, true, &uid))
			return true;
		if (may_see_uid(s, uid))
			show_user(s, uid);
		else
			s->end.hidden++;
		s->next = (uint64_t)uid + 1;
	}
	return false;
}
