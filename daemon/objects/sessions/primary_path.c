/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/primary_path.h"

#include <errno.h>
#include <string.h>

#include "daemon/base/log.h"
#include "daemon/net/association.h"
#include "daemon/net/association_index.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/client/handles.h"
#include "daemon/objects/sessions/qp.h"
#include "ipc/msg_addr.h"
#include "util/addr.h"

/* All sessions of an association share its primary path. */
static int check_users(const struct client *c, const struct association *assoc, struct reply *rep)
{
	struct assoc_stream_info info;
	uint32_t pos = 0;

	if (client_is_admin(c))
		return 0;
	while (assoc_stream_next(assoc->ddp, &pos, &info)) {
		const struct qp *qp = info.ep ? rdmap_user(info.ep) : NULL;

		if (qp && qp->client->uid != c->uid)
			return reply_refuse(rep, EPERM,
					    "set primary: association %u carries sessions of other "
					    "users: only an administrator (admin) may change it",
					    assoc->id);
	}
	return 0;
}

static int find_by_qp(const struct client *c, const struct msg_set_primary *req,
		      struct association **ret, struct reply *rep)
{
	const struct qp *qp = handles_qp(c, req->qp, rep);

	if (!qp)
		return -ENOENT;
	if (!qp->assoc)
		return reply_refuse(rep, ENOTCONN, "set primary: queue pair %u has no association",
				    qp->num);
	*ret = qp->assoc;
	return 0;
}

static int find_by_id(const struct client *c, const struct msg_set_primary *req,
		      struct association **ret, struct reply *rep)
{
	int r = client_check_admin(c, "path set-primary", rep);

	if (r)
		return r;
	*ret = association_index_by_id(c->worker, req->assoc);
	if (!*ret)
		return reply_refuse(rep, ENOENT, "set primary: no association %u", req->assoc);
	return 0;
}

/* The association that the record names, if the client may name it. 0 or a refusal. */
static int find_association(const struct client *c, const struct msg_set_primary *req,
			    struct association **ret, struct reply *rep)
{
	int r = req->qp ? find_by_qp(c, req, ret, rep) : find_by_id(c, req, ret, rep);

	if (r)
		return r;
	if ((*ret)->state != ASSOCIATION_UP)
		return reply_refuse(rep, ENOTCONN, "set primary: association %u is %s", (*ret)->id,
				    association_state_str((*ret)->state));
	return check_users(c, *ret, rep);
}

static int refuse_path(int err, const struct association *assoc, const struct sockaddr_storage *a,
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

int primary_path_set(struct client *c, const struct msg_set_primary *req, struct reply *rep)
{
	struct sockaddr_storage a;
	char text[ADDR_TEXT_MAX];
	struct association *assoc;
	int r = find_association(c, req, &assoc, rep);

	if (r)
		return r;
	if (msg_addr_get(&req->remote, &a))
		return reply_refuse(rep, EAFNOSUPPORT,
				    "set primary: neither an IPv4 nor an IPv6 address");
	r = llp_set_primary(assoc->conn, (const struct sockaddr *)&a);
	if (r)
		return refuse_path(-r, assoc, &a, rep);
	log_limited(&c->worker->client_log, c->worker->now_ms, LOG_LEVEL_INFO,
		    "assoc %u: primary path to %s, by pid %d, uid %u", assoc->id,
		    addr_host_text(&a, text), (int)c->pid, (unsigned)c->uid);
	return 0;
}
