/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/peer_access.h"

#include <stdio.h>
#include <string.h>

#include "daemon/base/config_keys.h"
#include "daemon/base/state.h"
#include "daemon/net/peers.h"
#include "util/addr.h"

/* " (rule lab, line 12 of /etc/ddpsctpd.yaml)": a path that is too long loses its end. */
static void add_rule(const struct daemon *d, unsigned rule, char reason[PEER_ACCESS_REASON])
{
	const struct config_origin *o = &d->origin;
	int line = o->line[config_key_index(config_key_find("peers", "rules"))];
	size_t n = strlen(reason);
	char title[PEER_RULE_TITLE];

	peer_rule_title(&d->cfg.peers.rules.rule[rule], title);
	if (line == CONFIG_FROM_ADMIN)
		snprintf(reason + n, PEER_ACCESS_REASON - n, " (rule %s, set by ddpctl)", title);
	else
		snprintf(reason + n, PEER_ACCESS_REASON - n, " (rule %s, line %d of %s)", title,
			 o->rule_line[rule], o->file);
}

static bool refuses(const struct worker *w, const struct sockaddr_storage *peer,
		    enum peer_direction direction, uint16_t port,
		    char ret_reason[PEER_ACCESS_REASON])
{
	const struct daemon *d = w->daemon;
	struct peer_question q = {.direction = direction, .port = port};
	uint8_t ip[16];
	int rule;

	peers_ip(peer, ip);
	q.ip = ip;
	rule = peer_rules_refuse(&d->cfg.peers.rules, &q, ret_reason, PEER_ACCESS_REASON);
	if (rule >= 0)
		add_rule(d, (unsigned)rule, ret_reason);
	return rule >= 0;
}

bool peer_access_refuses_connect(const struct worker *w, const struct endpoint_addrs *to,
				 char ret_reason[PEER_ACCESS_REASON])
{
	if (endpoint_addrs_transport(w, &to->peer) != w->net)
		return false;
	for (unsigned i = 0; i < to->peer.n; i++)
		if (refuses(w, &to->peer.a[i], PEER_CONNECT, to->port, ret_reason))
			return true;
	return false;
}

bool peer_access_refuses(const struct worker *w, struct llp_conn *c, enum peer_direction direction,
			 char ret_reason[PEER_ACCESS_REASON])
{
	struct llp_path path[LLP_MAX_PATHS];
	struct llp_info info;
	uint16_t port;
	unsigned n;

	if (c->llp != w->net || w->daemon->cfg.peers.rules.n == 0)
		return false;
	llp_info(c, &info);
	port = addr_port(direction == PEER_ACCEPT ? &info.local : &info.remote);
	if (refuses(w, &info.remote, direction, port, ret_reason))
		return true;
	n = llp_paths(c, path);
	for (unsigned i = 0; i < n && i < LLP_MAX_PATHS; i++)
		if (refuses(w, &path[i].remote, direction, port, ret_reason))
			return true;
	return false;
}

bool peer_access_refuses_association(const struct association *assoc,
				     char ret_reason[PEER_ACCESS_REASON])
{
	enum peer_direction direction = assoc->opener ? PEER_CONNECT : PEER_ACCEPT;
	struct endpoint_addrs to;

	if (assoc->state != ASSOCIATION_CONNECTING)
		return peer_access_refuses(assoc->worker, assoc->conn, direction, ret_reason);
	endpoint_addrs_unpack(assoc->addrs, &to);
	return peer_access_refuses_connect(assoc->worker, &to, ret_reason);
}
