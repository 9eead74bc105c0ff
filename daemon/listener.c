/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/addr.h"
#include "daemon/client.h"
#include "daemon/peer.h"
#include "daemon/qp.h"

struct daemon *listener_daemon(const struct listener *l)
{
	return l->client->daemon;
}

/* ---- listening ---- */

static int listen_both(struct listener *l, struct reply *rep)
{
	struct daemon *d = l->client->daemon;
	const struct sockaddr *addr =
		l->addr.ss_family == AF_UNSPEC ? NULL : (const struct sockaddr *)&l->addr;
	char text[ADDR_TEXT_MAX];
	int r = llp_listen(d->net, addr, l->port, l, &l->net);

	if (!r)
		r = llp_listen(d->self, addr, l->port, l, &l->self);
	if (r)
		return reply_refuse(rep, -r, "listen at %s port %u: %s", addr_text(&l->addr, text),
				    l->port, strerror(-r));
	return 0;
}

/* A program that was started again takes over the associations that came to its predecessor: peers
 * go on using them. */
static void adopt(struct listener *l)
{
	struct daemon *d = l->client->daemon;
	struct llp_info info;
	uint32_t pos = 0;
	struct peer *p;

	while ((p = idtab_next(&d->peers, &pos))) {
		if (p->opener || p->listener || p->state != PEER_UP)
			continue;
		llp_info(p->conn, &info);
		if (addr_port(&info.local) == l->port &&
		    (addr_any(&l->addr) || addr_same_host(&info.local, &l->addr)))
			p->listener = l;
	}
}

int listener_create(struct client *c, const struct msg_listen *req, struct reply *rep)
{
	struct listener *l;
	int r;

	if (addr_port(&req->addr) == 0)
		return reply_refuse(rep, EINVAL, "listen: port 0");
	l = calloc(1, sizeof(*l));
	if (!l)
		return reply_refuse(rep, ENOMEM, "listen: out of memory");
	l->client = c;
	l->cookie = req->cookie;
	l->backlog = req->backlog ? req->backlog : c->daemon->cfg.session.pending_max;
	l->addr = req->addr;
	l->port = addr_port(&req->addr);
	if (addr_any(&l->addr))
		memset(&l->addr, 0, sizeof(l->addr));
	r = client_charge(c, ACCT_LISTENERS, 1, &l->charge, rep);
	if (!r)
		r = listen_both(l, rep);
	if (!r && idtab_add(&c->listeners, l, &l->handle))
		r = reply_refuse(rep, ENOMEM, "listen: no room in the client's table");
	if (r) {
		listener_free(l);
		return r;
	}
	adopt(l);
	rep->listener.handle = l->handle;
	rep->listener.port = l->port;
	return 0;
}

static void forget_listener(struct listener *l)
{
	struct daemon *d = l->client->daemon;
	uint32_t pos = 0;
	struct request *r;
	struct peer *p;

	while ((r = idtab_next(&l->client->requests, &pos)))
		if (r->listener == l)
			listener_request_free(r);
	pos = 0;
	while ((p = idtab_next(&d->peers, &pos)))
		if (p->listener == l)
			p->listener = NULL;
}

struct listener *listener_free(struct listener *l)
{
	if (!l)
		return NULL;
	forget_listener(l);
	llp_unlisten(l->net);
	llp_unlisten(l->self);
	idtab_del(&l->client->listeners, l->handle);
	acct_release(&l->charge);
	free(l);
	return NULL;
}

/* ---- requests ---- */

static struct request *request_new(struct listener *l, struct peer *p, uint16_t sid)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->client = l->client;
	r->listener = l;
	r->peer = p;
	r->sid = sid;
	if (idtab_add(&l->client->requests, r, &r->handle)) {
		free(r);
		return NULL;
	}
	l->waiting++;
	l->requests++;
	return r;
}

/* Forgets it: it was answered, or is void. */
static void drop(struct request *r)
{
	r->listener->waiting--;
	idtab_del(&r->client->requests, r->handle);
	free(r);
}

struct request *listener_request_free(struct request *r)
{
	if (!r)
		return NULL;
	assoc_refuse(r->peer->assoc, r->sid);
	peer_activate(r->peer);
	drop(r);
	return NULL;
}

/*
 * A peer can ask and withdraw as often as it likes, and each time is two events. While a client is
 * slow to hear them it is asked nothing more; the rest of its queue is for what its own
 * sessions have to say.
 */
static bool has_ears(const struct client *c)
{
	return c->events.count < c->events.max / 2;
}

void listener_request(struct listener *l, struct peer *p, const struct assoc_event *ev)
{
	struct msg_event out = {.type = MSG_EV_REQUEST, .private_len = ev->priv_len};
	struct request *r = NULL;

	if (l && !l->client->daemon->stopping && l->waiting < l->backlog && has_ears(l->client))
		r = request_new(l, p, ev->sid);
	if (!r) {
		assoc_refuse(p->assoc, ev->sid);
		peer_activate(p);
		return;
	}
	out.cookie = l->cookie;
	out.request = r->handle;
	out.assoc = p->id;
	out.stream = ev->sid;
	out.peer = p->remote;
	if (ev->priv_len > 0)
		memcpy(out.private_data, ev->priv, ev->priv_len);
	client_event(l->client, &out);
}

static void tell_void(struct request *r)
{
	struct msg_event out = {
		.type = MSG_EV_WITHDRAWN,
		.cookie = r->listener->cookie,
		.request = r->handle,
		.err = ECONNABORTED,
		.reason = "the request was not answered in time, or its peer is gone",
	};

	client_event(r->client, &out);
	drop(r);
}

static struct request *find(struct client *c, const struct peer *p, int sid)
{
	uint32_t pos = 0;
	struct request *r;

	while ((r = idtab_next(&c->requests, &pos)))
		if (r->peer == p && (sid < 0 || r->sid == sid))
			return r;
	return NULL;
}

void listener_withdrawn(struct peer *p, uint16_t sid)
{
	struct request *r = p->listener ? find(p->listener->client, p, sid) : NULL;

	if (r)
		tell_void(r);
}

void listener_peer_gone(struct daemon *d, struct peer *p)
{
	uint32_t pos = 0;
	struct client *c;
	struct request *r;

	while ((c = idtab_next(&d->clients, &pos)))
		while ((r = find(c, p, -1)))
			tell_void(r);
}

/* ---- answers ---- */

/* A request may have become void while its answer was on the way: that is nobody's fault. */
static struct request *answered(struct client *c, uint32_t handle, uint16_t private_len,
				struct reply *rep, int *ret_err)
{
	struct request *r = idtab_get(&c->requests, handle);

	if (private_len > MSG_PRIVATE_MAX)
		*ret_err =
			reply_violation(rep, EINVAL, "answer: %u bytes of private data: at most %d",
					private_len, MSG_PRIVATE_MAX);
	else if (!r)
		*ret_err = reply_refuse(
			rep, ECONNABORTED,
			"answer: the request is gone: it was not answered in time, or its "
			"peer gave up");
	else
		return r;
	return NULL;
}

int listener_accept(struct client *c, const struct msg_accept *req, struct reply *rep)
{
	struct qp *qp = idtab_get(&c->qps, req->qp);
	struct request *r;
	int err;

	if (!qp)
		return reply_violation(rep, ENOENT, "accept: no queue pair 0x%x", req->qp);
	if (qp->state != QP_IDLE)
		return reply_refuse(rep, EISCONN, "queue pair %u: accept while it is %s", qp->num,
				    qp_state_str(qp->state));
	r = answered(c, req->request, req->private_len, rep, &err);
	if (!r)
		return err;
	if (assoc_accept(r->peer->assoc, r->sid, qp->ep, req->private_data, req->private_len))
		return reply_refuse(rep, ECONNABORTED, "accept: the request is void");
	qp->cookie = req->cookie;
	qp->peer = r->peer;
	qp->sid = r->sid;
	drop(r);
	qp_established(qp, NULL, 0);
	dp_accepted(&qp->peer->dp);
	return 0;
}

int listener_reject(struct client *c, const struct msg_reject *req, struct reply *rep)
{
	struct request *r;
	int err;

	r = answered(c, req->request, req->private_len, rep, &err);
	if (!r)
		return err;
	assoc_reject(r->peer->assoc, r->sid, req->private_data, req->private_len);
	peer_activate(r->peer);
	drop(r);
	return 0;
}
