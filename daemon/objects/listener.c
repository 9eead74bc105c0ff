/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/state.h"
#include "daemon/objects/client.h"
#include "daemon/objects/session_request.h"
#include "util/addr.h"

/* ---- listening ---- */

static int listen_both(struct listener *l, struct reply *rep)
{
	struct worker *w = l->client->worker;
	const struct llp_addrs at = addr_set_llp(&l->at);
	const struct sockaddr_storage any = {.ss_family = AF_UNSPEC};
	char text[ADDR_TEXT_MAX];
	int r = llp_listen_at(w->net, &at, l->port, &l->accepts, &l->net);

	if (!r)
		r = llp_listen_at(w->self, &at, l->port, &l->accepts, &l->self);
	if (r)
		return reply_refuse(rep, -r, "listen at %s%s port %u: %s",
				    addr_host_text(at.n ? &at.a[0] : &any, text),
				    at.n > 1 ? " and others" : "", l->port, strerror(-r));
	return 0;
}

/* A restarted program gets the associations of its predecessor, because peers go on
 * using them. */
static void adopt(struct listener *l)
{
	struct worker *w = l->client->worker;
	struct llp_info info;
	uint32_t pos = 0;
	struct association *assoc;

	while ((assoc = idtab_next(&w->assocs, &pos))) {
		if (assoc->opener || assoc->listener || assoc->state != ASSOCIATION_UP)
			continue;
		llp_info(assoc->conn, &info);
		if (addr_port(&info.local) == l->port &&
		    (l->at.n == 0 || addr_set_has(&l->at, &info.local)))
			assoc->listener = &l->accepts;
	}
}

int listener_create(struct client *c, const struct msg_listen *req, struct reply *rep)
{
	struct listener *l;
	struct addr_set at;
	int r;

	if (req->port == 0)
		return reply_refuse(rep, EINVAL, "listen: port 0");
	r = endpoint_addrs_read_listen(c->worker, req, &at, rep);
	if (r)
		return r;
	l = calloc(1, sizeof(*l));
	if (!l)
		return reply_refuse(rep, ENOMEM, "listen: out of memory");
	l->accepts.worker = c->worker;
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
	struct worker *w = l->client->worker;
	uint32_t pos = 0;
	struct session_request *r;
	struct association *assoc;

	while ((r = idtab_next(&l->client->requests, &pos)))
		if (r->listener == l)
			session_request_free(r);
	pos = 0;
	while ((assoc = idtab_next(&w->assocs, &pos)))
		if (assoc->listener == &l->accepts)
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
