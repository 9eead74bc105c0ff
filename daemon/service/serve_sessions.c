/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests about sessions: listeners, session requests, connections, addresses and paths. */
#include <errno.h>

#include "daemon/net/endpoint_addrs.h"
#include "daemon/net/path.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/datagrams/reserved.h"
#include "daemon/objects/sessions/listener.h"
#include "daemon/objects/sessions/primary_path.h"
#include "daemon/objects/sessions/qp.h"
#include "daemon/objects/sessions/qp_connect.h"
#include "daemon/objects/sessions/session_request.h"
#include "daemon/service/serve.h"

/* ---- listeners and their session requests ---- */

int serve_listen(struct client *c, const struct msg_listen *req, struct msg_listener *ret,
		 struct reply *rep)
{
	int r = reserved_check_listen(c->daemon, req, rep);

	return r ? r : listener_create(c, req, 0, ret, rep);
}

int serve_listen_key(struct client *c, const struct msg_listen_key *req, struct msg_listener *ret,
		     struct reply *rep)
{
	int r = reserved_check_listen(c->daemon, &req->listen, rep);

	if (req->key == 0)
		return reply_violation(rep, EINVAL, "listen: service key 0");
	return r ? r : listener_create(c, &req->listen, req->key, ret, rep);
}

void serve_unlisten(struct listener *l)
{
	listener_free(l);
}

int serve_accept(struct client *c, const struct msg_accept *req, struct reply *rep)
{
	return session_request_accept(c, req, rep);
}

int serve_reject(struct client *c, const struct msg_reject *req, struct reply *rep)
{
	return session_request_reject(c, req, rep);
}

int serve_query_request(struct client *c, const struct msg_handle *req,
			struct msg_request_state *ret, struct reply *rep)
{
	return session_request_query(c, req, ret, rep);
}

/* ---- sessions ---- */

int serve_connect(struct qp *qp, const struct msg_connect *req, struct reply *rep)
{
	int r = reserved_check_connect(qp->client->daemon, req, rep);

	return r ? r : qp_connect(qp, req, rep);
}

void serve_disconnect(struct qp *qp)
{
	qp_disconnect(qp);
}

/* ---- addresses and paths ---- */

void serve_query_addrs(struct client *c, struct msg_addrs *ret)
{
	endpoint_addrs_ours(c->worker, ret);
}

int serve_query_paths(struct qp *qp, struct msg_paths *ret, struct reply *rep)
{
	if (!qp->assoc)
		return reply_refuse(rep, ENOTCONN, "paths: queue pair %u has no association",
				    qp->num);
	path_query(qp->assoc, ret);
	return 0;
}

int serve_set_primary(struct client *c, const struct msg_set_primary *req, struct reply *rep)
{
	return primary_path_set(c, req, rep);
}
