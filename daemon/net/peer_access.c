/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/peer_access.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/base/config_keys.h"
#include "daemon/base/state.h"
#include "daemon/net/handshakes.h"
#include "daemon/net/peers.h"
#include "util/addr.h"
#include "util/minmax.h"

/* Of a path that is too long its end: the beginning is the same for all files of a host. */
static void add_path(const char *path, char reason[PEER_ACCESS_REASON])
{
	size_t n = strlen(reason), len = strlen(path), room = PEER_ACCESS_REASON - n;
	size_t shown = room > sizeof("...)") ? room - sizeof("...)") : 0;

	if (len + sizeof(")") <= room)
		snprintf(reason + n, room, "%s)", path);
	else
		snprintf(reason + n, room, "...%s)", path + len - min_u64(len, shown));
}

/* " (rule lab, line 12 of /etc/ddpsctpd.yaml)" */
static void add_rule(const struct daemon *d, unsigned rule, char reason[PEER_ACCESS_REASON])
{
	const struct config_origin *o = &d->origin;
	int line = o->line[config_key_index(config_key_find("peers", "rules"))];
	size_t n = strlen(reason);
	char title[PEER_RULE_TITLE];

	peer_rule_title(&d->cfg.peers.rules.rule[rule], title);
	if (line == CONFIG_FROM_ADMIN) {
		snprintf(reason + n, PEER_ACCESS_REASON - n, " (rule %s, set by ddpctl)", title);
		return;
	}
	snprintf(reason + n, PEER_ACCESS_REASON - n, " (rule %s, line %d of ", title,
		 o->rule_line[rule]);
	add_path(o->file, reason);
}

static bool refuses(const struct worker *w, const struct sockaddr_storage *peer,
		    struct peer_question *q, char ret_reason[PEER_ACCESS_REASON])
{
	const struct daemon *d = w->daemon;
	uint8_t ip[16];
	int rule;

	peers_ip(peer, ip);
	q->ip = ip;
	rule = peer_rules_refuse(&d->cfg.peers.rules, q, ret_reason, PEER_ACCESS_REASON);
	if (rule >= 0)
		add_rule(d, (unsigned)rule, ret_reason);
	return rule >= 0;
}

/* ---- encryption ---- */

/* The rule by which associations with this peer are encrypted; NULL: none. */
static const struct peer_rule *find_cover(const struct worker *w,
					  const struct sockaddr_storage *peer)
{
	const struct peer_rules *l = &w->daemon->cfg.peers.rules;
	uint8_t ip[16];
	int i;

	if (!w->daemon->cfg.security.udp_port)
		return NULL;
	peers_ip(peer, ip);
	i = peer_rules_cover(l, ip);
	return i < 0 ? NULL : &l->rule[i];
}

static bool wants_cover(void *arg, const struct sockaddr_storage *peer)
{
	return find_cover(arg, peer) != NULL;
}

/* The file of the pre-shared key; NULL: certificates. */
static const char *find_psk(void *arg, const struct sockaddr_storage *peer)
{
	const struct worker *w = arg;
	const struct peer_rules *l = &w->daemon->cfg.peers.rules;
	uint8_t ip[16];
	int i;

	peers_ip(peer, ip);
	i = peer_rules_psk(l, ip);
	return i < 0 ? NULL : l->rule[i].identity.file;
}

static struct peer_proof proof_of(const struct llp_identity *id)
{
	struct peer_proof ret = {
		.fingerprint = id->has_fingerprint ? id->fingerprint : NULL,
		.untimely = id->untimely,
		.names = id->names ? id->names : "",
		.psk = id->psk,
		.ncas = id->ncas,
	};

	_Static_assert((int)LLP_FILES == (int)PEER_RULES, "each rule names one file");
	for (unsigned i = 0; i < id->ncas; i++) {
		ret.ca[i].file = id->ca[i].file;
		ret.ca[i].fault = id->ca[i].fault;
	}
	return ret;
}

/* The rule demands an identity, and this is it. */
static bool proves(const struct peer_rules *l, int rule, const uint8_t ip[16],
		   const struct llp_identity *id)
{
	const struct peer_proof proof = proof_of(id);
	const struct peer_question q = {.ip = ip, .covered = true, .proof = &proof};
	char why[PEER_ACCESS_REASON];

	return l->rule[rule].identity.kind &&
	       peer_rules_refuse_security(l, &q, why, sizeof(why)) < 0;
}

/* A link that has ended has no peer until it is made again. */
void peer_access_prove(const struct association *assoc, struct peer_access_proof *ret)
{
	const struct peer_rules *l = &assoc->worker->daemon->cfg.peers.rules;
	struct llp_identity id;
	struct llp_info info;
	uint8_t ip[16];
	int i;

	*ret = (struct peer_access_proof){.rule = ""};
	llp_info(assoc->conn, &info);
	ret->covered = info.covered;
	ret->linked = info.covered && llp_identity_of(assoc->conn, &id);
	if (ret->linked && id.has_fingerprint)
		peer_fingerprint_text(id.fingerprint, ret->fingerprint);
	peers_ip(&info.remote, ip);
	i = assoc->conn->llp == assoc->worker->net ? peer_rules_security(l, ip) : -1;
	if (i < 0)
		return;
	peer_rule_title(&l->rule[i], ret->rule);
	ret->proven = ret->linked && proves(l, i, ip, &id);
}

static uint32_t security_of(const struct association *assoc)
{
	struct llp_info info;

	if (assoc->conn->llp == assoc->worker->self)
		return MSG_SECURITY_LOCAL;
	llp_info(assoc->conn, &info);
	return info.covered ? MSG_SECURITY_DTLS : MSG_SECURITY_NONE;
}

const char *peer_access_lacks(const struct association *assoc, uint32_t flags)
{
	uint32_t security = flags ? security_of(assoc) : MSG_SECURITY_LOCAL;
	struct peer_access_proof proof;

	if (security == MSG_SECURITY_LOCAL)
		return NULL;
	if (security == MSG_SECURITY_NONE)
		return "the program demands encryption, and the association is in clear text";
	peer_access_prove(assoc, &proof);
	if (!(flags & MSG_LISTEN_PROVEN) || proof.proven)
		return NULL;
	if (!proof.linked)
		return "the program demands a peer that has proven who it is, and its link of DTLS "
		       "has ended";
	return "the program demands a peer that has proven who it is, and no rule of peers says "
	       "that";
}

void peer_access_tell(const struct association *assoc, struct msg_peer_facts *ret)
{
	struct peer_access_proof proof;
	struct llp_identity id;

	memset(ret, 0, sizeof(*ret));
	if (!assoc->ddp)
		return;
	peer_access_prove(assoc, &proof);
	ret->security = security_of(assoc);
	ret->proven = proof.proven;
	_Static_assert(sizeof(ret->name) >= sizeof(proof.rule), "a title fits");
	strcpy(ret->name, proof.rule);
	if (ret->security != MSG_SECURITY_DTLS || !llp_identity_of(assoc->conn, &id))
		return;
	ret->has_fingerprint = id.has_fingerprint;
	memcpy(ret->fingerprint, id.fingerprint, sizeof(ret->fingerprint));
}

static void note_refusal(struct worker *w, const struct sockaddr_storage *peer, const char *reason)
{
	struct ctl_event ev = {.remote = *peer, .err = EACCES};

	snprintf(ev.reason, sizeof(ev.reason), "%s", reason);
	journal_add(&w->journal, w->now_ms, CTL_EVENT_ASSOC_REFUSE, &ev);
}

static void on_refused(void *arg, const struct sockaddr_storage *peer, const char *reason)
{
	note_refusal(arg, peer, reason);
}

/* Judges the peer of a handshake, before there is an association. */
static bool accepts_peer(void *arg, const struct sockaddr_storage *peer,
			 const struct llp_identity *id, bool we_began, char *ret_reason, size_t len)
{
	struct worker *w = arg;
	const struct peer_rules *l = &w->daemon->cfg.peers.rules;
	const struct peer_proof proof = proof_of(id);
	struct peer_question q = {.proof = &proof, .covered = true};
	char reason[PEER_ACCESS_REASON];
	uint8_t ip[16];
	int rule = -1;

	peers_ip(peer, ip);
	q.ip = ip;
	if (!we_began)
		rule = peer_rules_refuse_peer(l, ip, reason, sizeof(reason));
	if (rule < 0)
		rule = peer_rules_refuse_security(l, &q, reason, sizeof(reason));
	if (rule < 0 && id->untimely) /* of a peer that no rule names */
		snprintf(reason, sizeof(reason), "a certificate that %s", id->untimely);
	else if (rule < 0)
		return true;
	if (!ret_reason)
		return false;
	if (rule >= 0)
		add_rule(w->daemon, (unsigned)rule, reason);
	snprintf(ret_reason, len, "%s", reason);
	note_refusal(w, peer, reason);
	return false;
}

bool peer_access_explain_lack(const struct worker *w, const struct sockaddr_storage *peer,
			      char ret_reason[PEER_ACCESS_REASON])
{
	const struct daemon *d = w->daemon;
	const struct peer_rules *l = &d->cfg.peers.rules;
	uint8_t ip[16];
	int psk, rule;

	*ret_reason = 0;
	if (!find_cover(w, peer))
		return false;
	peers_ip(peer, ip);
	psk = peer_rules_psk(l, ip);
	rule = peer_rules_cover(l, ip);
	if (psk >= 0)
		snprintf(ret_reason, PEER_ACCESS_REASON,
			 "the key of peers.rules for it was not read, psk=%s",
			 l->rule[psk].identity.file);
	else
		snprintf(ret_reason, PEER_ACCESS_REASON,
			 "this host has no certificate in use, security.certificate is missing");
	if (rule >= 0)
		add_rule(d, (unsigned)rule, ret_reason);
	return true;
}

static void explain_lack(void *arg, const struct sockaddr_storage *peer, char *ret_reason,
			 size_t len)
{
	char reason[PEER_ACCESS_REASON];

	(void)peer_access_explain_lack(arg, peer, reason);
	snprintf(ret_reason, len, "%s", reason);
}

static void add_file(const char *file, unsigned *n, const char *list[LLP_FILES])
{
	for (unsigned i = 0; i < *n; i++)
		if (strcmp(list[i], file) == 0)
			return;
	list[(*n)++] = file;
}

void peer_access_files(const struct config *cfg, struct llp_cover_files *ret)
{
	const struct peer_rules *l = &cfg->peers.rules;

	*ret = (struct llp_cover_files){.cert = cfg->security.certificate,
					.key = cfg->security.key};
	for (unsigned i = 0; i < l->n; i++) {
		const struct peer_identity *id = &l->rule[i].identity;

		if (id->kind == PEER_IDENTITY_CA)
			add_file(id->file, &ret->ncas, ret->ca);
		if (id->kind == PEER_IDENTITY_PSK)
			add_file(id->file, &ret->npsks, ret->psk);
	}
}

struct llp_cover peer_access_cover(struct worker *w, const struct llp_cover_files *files)
{
	const struct config_security *s = &w->daemon->cfg.security;

	return (struct llp_cover){.udp_port = (uint16_t)s->udp_port,
				  .files = files,
				  .wanted = wants_cover,
				  .accept = accepts_peer,
				  .psk = find_psk,
				  .lacks = explain_lack,
				  .refused = on_refused,
				  .arg = w,
				  .pays = handshakes_charge,
				  .pays_link = handshakes_charge_link,
				  .paid = handshakes_release};
}

/* ---- sessions and associations ---- */

bool peer_access_refuses_connect(const struct worker *w, const struct endpoint_addrs *to,
				 char ret_reason[PEER_ACCESS_REASON])
{
	if (endpoint_addrs_transport(w, &to->peer) != w->net)
		return false;
	for (unsigned i = 0; i < to->peer.n; i++) {
		const struct peer_rule *cover = find_cover(w, &to->peer.a[i]);
		/* The handshake judges who the peer really is. */
		struct peer_question q = {.direction = PEER_CONNECT,
					  .port = to->port,
					  .covered = cover != NULL,
					  .unproven = true};

		if (refuses(w, &to->peer.a[i], &q, ret_reason))
			return true;
		if (cover && to->peer.n > 1) {
			snprintf(ret_reason, PEER_ACCESS_REASON,
				 "an association in DTLS has one address at each end (RFC 8261)");
			return true;
		}
	}
	return false;
}

/* Its transport tells LLP_MAX_PATHS of them: who adds addresses until the one that a rule refuses
 * is left out goes, too. */
static bool refuses_unknown(const struct worker *w, unsigned n, char ret_reason[PEER_ACCESS_REASON])
{
	if (n <= LLP_MAX_PATHS || !peer_rules_can_refuse(&w->daemon->cfg.peers.rules))
		return false;
	snprintf(ret_reason, PEER_ACCESS_REASON,
		 "%u addresses are more than the %u that rules can judge (peers.rules)", n,
		 (unsigned)LLP_MAX_PATHS);
	return true;
}

bool peer_access_refuses(const struct worker *w, struct llp_conn *c, enum peer_direction direction,
			 char ret_reason[PEER_ACCESS_REASON])
{
	struct peer_question q = {.direction = direction};
	struct llp_path path[LLP_MAX_PATHS];
	struct peer_proof proof;
	struct llp_identity id;
	struct llp_info info;
	unsigned n;

	if (c->llp != w->net || w->daemon->cfg.peers.rules.n == 0)
		return false;
	llp_info(c, &info);
	q.port = addr_port(direction == PEER_ACCEPT ? &info.local : &info.remote);
	q.covered = info.covered;
	/* A link that is made again: its handshake will show who the peer is. */
	q.unproven = info.covered && !llp_identity_of(c, &id);
	if (info.covered && !q.unproven) {
		proof = proof_of(&id);
		q.proof = &proof;
	}
	if (refuses(w, &info.remote, &q, ret_reason))
		return true;
	n = llp_paths(c, path);
	for (unsigned i = 0; i < n && i < LLP_MAX_PATHS; i++)
		if (refuses(w, &path[i].remote, &q, ret_reason))
			return true;
	return refuses_unknown(w, n, ret_reason);
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
