/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/objects/client.h"
#include "daemon/base/log.h"
#include "daemon/net/association.h"
#include "daemon/objects/qp.h"
#include "ipc/msg_addr.h"
#include "util/addr.h"

_Static_assert((int)MSG_PATH_UNCONFIRMED == LLP_PATH_UNCONFIRMED &&
		       (int)MSG_PATH_ACTIVE == LLP_PATH_ACTIVE &&
		       (int)MSG_PATH_FAILING == LLP_PATH_FAILING &&
		       (int)MSG_PATH_INACTIVE == LLP_PATH_INACTIVE,
	       "states keep their numbers");
_Static_assert((int)MSG_MAX_PATHS == (int)LLP_MAX_PATHS, "all fit into a reply");

const char *path_state_str(enum llp_path_state s)
{
	static const char *const names[] = {"unconfirmed", "active", "failing", "inactive"};

	return names[s];
}

static struct msg_path record(const struct llp_path *path)
{
	struct msg_path m = {
		.state = (uint16_t)path->state,
		.primary = path->primary,
		.srtt_us = path->srtt_us,
		.rto_ms = path->rto_ms,
		.cwnd = path->cwnd,
		.mtu = path->mtu,
	};

	msg_addr_put(&m.remote, &path->remote);
	return m;
}

void path_query(const struct association *assoc, struct msg_paths *ret)
{
	struct llp_path paths[LLP_MAX_PATHS];

	ret->total = assoc->state == ASSOCIATION_UP || assoc->state == ASSOCIATION_ENDING
			     ? llp_paths(assoc->conn, paths)
			     : 0;
	ret->n = ret->total < LLP_MAX_PATHS ? ret->total : LLP_MAX_PATHS;
	for (unsigned i = 0; i < ret->n; i++)
		ret->path[i] = record(&paths[i]);
}

/* ---- the primary one ---- */

/* What a program does to an association happens to all who use it. */
static int check_users(const struct client *c, const struct association *assoc, struct reply *rep)
{
	struct assoc_stream_info info;
	uint32_t pos = 0;

	if (c->uid == 0 || c->uid == geteuid())
		return 0;
	while (assoc_stream_next(assoc->ddp, &pos, &info)) {
		const struct qp *qp = info.ep ? rdmap_user(info.ep) : NULL;

		if (qp && qp->client->uid != c->uid)
			return reply_refuse(rep, EPERM,
					    "set primary: association %u has sessions of other "
					    "users, too: this is for uid 0 or %u",
					    assoc->id, (unsigned)geteuid());
	}
	return 0;
}

static struct association *find_assoc(const struct daemon *d, uint32_t id)
{
	uint32_t pos = 0;
	struct association *assoc;

	while ((assoc = idtab_next(&d->assocs, &pos)))
		if (assoc->id == id)
			return assoc;
	return NULL;
}

/* The association that the request means, if the client may mean it. 0 or a refusal. */
static int find(struct client *c, const struct msg_set_primary *req, struct association **ret,
		struct reply *rep)
{
	const struct qp *qp = idtab_get(&c->qps, req->qp);
	struct association *assoc;

	if (req->qp && !qp)
		return reply_violation(rep, ENOENT, "set primary: no queue pair 0x%x", req->qp);
	if (!qp && c->uid != 0 && c->uid != geteuid())
		return reply_refuse(rep, EPERM,
				    "set primary of association %u: this is for uid 0 or %u",
				    req->assoc, (unsigned)geteuid());
	assoc = qp ? qp->assoc : find_assoc(c->daemon, req->assoc);
	if (!assoc && qp)
		return reply_refuse(rep, ENOTCONN, "set primary: queue pair %u has no association",
				    qp->num);
	if (!assoc)
		return reply_refuse(rep, ENOENT, "set primary: there is no association %u",
				    req->assoc);
	if (assoc->state != ASSOCIATION_UP)
		return reply_refuse(rep, ENOTCONN, "set primary: association %u is %s", assoc->id,
				    association_state_str(assoc->state));
	*ret = assoc;
	return check_users(c, assoc, rep);
}

static int refuse(int err, const struct association *assoc, const struct sockaddr_storage *a,
		  struct reply *rep)
{
	char text[ADDR_TEXT_MAX];

	addr_host_text(a, text);
	switch (err) {
	case ENOENT:
		return reply_refuse(rep, err, "set primary: association %u has no path to %s",
				    assoc->id, text);
	case EHOSTDOWN:
		return reply_refuse(rep, err,
				    "set primary: the path of association %u to %s is "
				    "not active",
				    assoc->id, text);
	default:
		return reply_refuse(rep, err, "set primary: association %u to %s: %s", assoc->id,
				    text, strerror(err));
	}
}

int path_set_primary(struct client *c, const struct msg_set_primary *req, struct reply *rep)
{
	struct sockaddr_storage a;
	char text[ADDR_TEXT_MAX];
	struct association *assoc = NULL;
	int r;

	r = find(c, req, &assoc, rep);
	if (r)
		return r;
	if (msg_addr_get(&req->remote, &a))
		return reply_refuse(rep, EAFNOSUPPORT,
				    "set primary: neither an IPv4 nor an IPv6 address");
	r = llp_set_primary(assoc->conn, (const struct sockaddr *)&a);
	if (r)
		return refuse(-r, assoc, &a, rep);
	log_info("assoc %u: primary path to %s, by pid %d, uid %u", assoc->id,
		 addr_host_text(&a, text), (int)c->pid, (unsigned)c->uid);
	return 0;
}

/* ---- news ---- */

static void say(const struct association *assoc, const struct llp_path *path, const char *what,
		char *ret, size_t len)
{
	struct llp_path paths[LLP_MAX_PATHS];
	unsigned total = llp_paths(assoc->conn, paths), active = 0;
	char text[ADDR_TEXT_MAX];

	for (unsigned i = 0; i < total && i < LLP_MAX_PATHS; i++)
		active += paths[i].state == LLP_PATH_ACTIVE;
	snprintf(ret, len, "path to %s %s; %u of %u paths %s active",
		 addr_host_text(&path->remote, text), what, active, total,
		 active == 1 ? "is" : "are");
}

void path_changed(struct association *assoc, const struct llp_path *path, const char *what)
{
	struct msg_path m = record(path);
	struct assoc_stream_info info;
	char reason[MSG_REASON_MAX];
	uint32_t pos = 0;

	say(assoc, path, what, reason, sizeof(reason));
	log_limited(&assoc->path_log, assoc->daemon->now_ms, LOG_LEVEL_INFO, "assoc %u: %s",
		    assoc->id, reason);
	while (assoc->ddp && assoc_stream_next(assoc->ddp, &pos, &info)) {
		struct qp *qp = info.ep ? rdmap_user(info.ep) : NULL;

		if (qp)
			qp_path(qp, &m, reason);
	}
}
