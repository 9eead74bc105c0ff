/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/objects/client.h"
#include "daemon/objects/conn_params.h"
#include "daemon/net/association.h"
#include "daemon/objects/qp.h"
#include "util/addr.h"

struct daemon *listener_daemon(const struct listener *l)
{
	return l->client->daemon;
}

/* ---- listening ---- */

static int listen_both(struct listener *l, struct reply *rep)
{
	struct daemon *d = l->client->daemon;
	const struct llp_addrs at = addr_set_llp(&l->at);
	const struct sockaddr_storage any = {.ss_family = AF_UNSPEC};
	char text[ADDR_TEXT_MAX];
	int r = llp_listen_at(d->net, &at, l->port, l, &l->net);

	if (!r)
		r = llp_listen_at(d->self, &at, l->port, l, &l->self);
	if (r)
		return reply_refuse(rep, -r, "listen at %s%s port %u: %s",
				    addr_host_text(at.n ? &at.a[0] : &any, text),
				    at.n > 1 ? " and others" : "", l->port, strerror(-r));
	return 0;
}

/* A program that was started again takes over the associations that came to its predecessor: peers
 * go on using them. */
static void adopt(struct listener *l)
{
	struct daemon *d = l->client->daemon;
	struct llp_info info;
	uint32_t pos = 0;
	struct association *assoc;

	while ((assoc = idtab_next(&d->assocs, &pos))) {
		if (assoc->opener || assoc->listener || assoc->state != ASSOCIATION_UP)
			continue;
		llp_info(assoc->conn, &info);
		if (addr_port(&info.local) == l->port &&
		    (l->at.n == 0 || addr_set_has(&l->at, &info.local)))
			assoc->listener = l;
	}
}

int listener_create(struct client *c, const struct msg_listen *req, struct reply *rep)
{
	struct listener *l;
	struct addr_set at;
	int r;

	if (req->port == 0)
		return reply_refuse(rep, EINVAL, "listen: port 0");
	r = endpoint_addrs_read_listen(c->daemon, req, &at, rep);
	if (r)
		return r;
	l = calloc(1, sizeof(*l));
	if (!l)
		return reply_refuse(rep, ENOMEM, "listen: out of memory");
	l->client = c;
	l->cookie = req->cookie;
	l->backlog = req->backlog ? req->backlog : c->daemon->cfg.session.pending_max;
	l->at = at;
	l->port = req->port;
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
	struct association *assoc;

	while ((r = idtab_next(&l->client->requests, &pos)))
		if (r->listener == l)
			listener_request_free(r);
	pos = 0;
	while ((assoc = idtab_next(&d->assocs, &pos)))
		if (assoc->listener == l)
			assoc->listener = NULL;
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

static struct request *request_new(struct listener *l, struct association *assoc,
				   const struct assoc_event *ev)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->client = l->client;
	r->listener = l;
	r->assoc = assoc;
	r->sid = ev->sid;
	r->enhanced = ev->enhanced;
	r->enh = ev->enh;
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
	assoc_refuse(r->assoc->ddp, r->sid);
	association_activate(r->assoc);
	drop(r);
	return NULL;
}

void listener_request(struct listener *l, struct association *assoc, const struct assoc_event *ev)
{
	struct msg_event out = {.type = MSG_EV_REQUEST, .private_len = ev->priv_len};
	struct request *r = NULL;

	if (l && !l->client->daemon->stopping && l->waiting < l->backlog &&
	    client_event_quota_ok(l->client))
		r = request_new(l, assoc, ev);
	if (!r) {
		assoc_refuse(assoc->ddp, ev->sid);
		association_activate(assoc);
		return;
	}
	out.cookie = l->cookie;
	out.request = r->handle;
	out.assoc = assoc->id;
	out.stream = ev->sid;
	out.peer = assoc->remote;
	conn_params_to_event(ev->enhanced ? &ev->enh : NULL, &out);
	if (ev->priv_len > 0)
		memcpy(out.private_data, ev->priv, ev->priv_len);
	client_event(l->client, &out);
}

static void withdraw(struct request *r)
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

static struct request *find(struct client *c, const struct association *assoc, int sid)
{
	uint32_t pos = 0;
	struct request *r;

	while ((r = idtab_next(&c->requests, &pos)))
		if (r->assoc == assoc && (sid < 0 || r->sid == sid))
			return r;
	return NULL;
}

void listener_withdrawn(struct association *assoc, uint16_t sid)
{
	struct request *r = assoc->listener ? find(assoc->listener->client, assoc, sid) : NULL;

	if (r)
		withdraw(r);
}

void listener_assoc_gone(struct daemon *d, struct association *assoc)
{
	uint32_t pos = 0;
	struct client *c;
	struct request *r;

	while ((c = idtab_next(&d->clients, &pos)))
		while ((r = find(c, assoc, -1)))
			withdraw(r);
}

/* ---- answers ---- */

static int gone(const struct conn_params *o, struct reply *rep)
{
	return reply_refuse(
		rep, ECONNABORTED,
		"%s: the request is gone: it was not answered in time, or its peer gave "
		"up",
		o->what);
}

/*
 * Looks the request up for an answer that this queue pair can give, or NULL to reject. A request
 * may have become void while its answer was on the way: that is nobody's fault.
 */
static int answered(struct client *c, uint32_t handle, const struct qp *qp,
		    const struct conn_params *o, struct reply *rep, struct request **ret)
{
	int r = conn_params_check(c->daemon, qp, o, rep);

	if (r)
		return r;
	*ret = idtab_get(&c->requests, handle);
	return *ret ? 0 : gone(o, rep);
}

/* In words, why the association does not take the answer. */
static int refuse_answer(int outcome, const struct conn_params *o, struct reply *rep)
{
	return outcome == ASSOC_E_LEN ? conn_params_too_long(o, rep) : gone(o, rep);
}

/* An enhanced request asks about Reads: can this queue pair have them as the program wants? */
static int check_enhanced(const struct request *r, const struct qp *qp, const struct conn_params *o,
			  struct reply *rep)
{
	if (!r->enhanced)
		return 0;
	if (qp->raw)
		return reply_refuse(rep, EOPNOTSUPP,
				    "accept: the request negotiates Reads: queue pair %u is raw",
				    qp->num);
	if (o->flags & MSG_CONN_NEGOTIATE && o->ord != MSG_READS_UNCHANGED && o->ord > r->enh.ird)
		return reply_refuse(rep, ERANGE, "accept: ord of %u: the peer's ird is %u", o->ord,
				    r->enh.ird);
	return 0;
}

/* The session is this queue pair's from now on. */
static void hand_over(struct request *r, struct qp *qp, uint32_t cookie)
{
	struct wire_enh enh = r->enh;
	struct session_event event = {.enh = r->enhanced ? &enh : NULL};

	qp->cookie = cookie;
	qp->assoc = r->assoc;
	qp->sid = r->sid;
	drop(r);
	qp_established(qp, &event);
	dp_accepted(&qp->assoc->dp);
}

static int accept_with(struct client *c, struct qp *qp, const struct msg_accept *req,
		       const struct conn_params *params, struct reply *rep)
{
	struct assoc_params words = {.priv = req->private_data, .len = req->private_len};
	struct wire_enh enh;
	struct request *r;
	int e = answered(c, req->request, qp, params, rep, &r);

	if (!e)
		e = check_enhanced(r, qp, params, rep);
	if (e)
		return e;
	if (conn_params_to_wire(params, &enh))
		words.enh = &enh;
	e = assoc_accept(r->assoc->ddp, r->sid, qp->ep, &words);
	if (e)
		return refuse_answer(e, params, rep);
	hand_over(r, qp, req->cookie);
	return 0;
}

int listener_accept(struct client *c, const struct msg_accept *req, struct reply *rep)
{
	struct qp *qp = idtab_get(&c->qps, req->qp);
	const struct conn_params params = {
		.what = "accept",
		.known = CONN_PARAMS_ANSWER,
		.private_len = req->private_len,
		.flags = req->flags,
		.ird = req->ird,
		.ord = req->ord,
	};

	if (!qp)
		return reply_violation(rep, ENOENT, "accept: no queue pair 0x%x", req->qp);
	if (qp->state != QP_IDLE)
		return reply_refuse(rep, EISCONN, "queue pair %u: accept while it is %s", qp->num,
				    qp_state_str(qp->state));
	return accept_with(c, qp, req, &params, rep);
}

int listener_reject(struct client *c, const struct msg_reject *req, struct reply *rep)
{
	struct assoc_params words = {.priv = req->private_data, .len = req->private_len};
	const struct conn_params params = {
		.what = "reject",
		.known = CONN_PARAMS_ANSWER,
		.private_len = req->private_len,
		.flags = req->flags,
		.ird = req->ird,
		.ord = req->ord,
	};
	struct wire_enh enh;
	struct request *r;
	int e = answered(c, req->request, NULL, &params, rep, &r);

	if (e)
		return e;
	if (conn_params_to_wire(&params, &enh))
		words.enh = &enh;
	e = assoc_reject(r->assoc->ddp, r->sid, &words);
	if (e)
		return refuse_answer(e, &params, rep);
	association_activate(r->assoc);
	drop(r);
	return 0;
}
