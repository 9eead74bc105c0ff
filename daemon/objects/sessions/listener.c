/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/listener.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "daemon/base/state.h"
#include "daemon/net/endpoint_addrs.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/sessions/port.h"
#include "daemon/objects/sessions/session_request.h"

int listener_create(struct client *c, const struct msg_listen *req, uint64_t key,
		    struct msg_listener *ret, struct reply *rep)
{
	struct port_request want = {.number = req->port, .by = c, .key = key};
	struct listener *l;
	int r = endpoint_addrs_read_listen(c->worker, req, &want.at, rep);

	if (r)
		return r;
	if (req->flags & ~(uint32_t)(MSG_LISTEN_ENCRYPTED | MSG_LISTEN_PROVEN))
		return reply_refuse(rep, EOPNOTSUPP, "listen: this daemon does not know flags 0x%x",
				    req->flags);
	l = calloc(1, sizeof(*l));
	if (!l)
		return reply_refuse(rep, ENOMEM, "listen: out of memory");
	l->client = c;
	l->cookie = req->cookie;
	l->backlog = req->backlog ? req->backlog : c->daemon->cfg.session.pending_max;
	l->demands = req->flags;
	l->key = key;
	list_init(&l->link);
	list_init(&l->asking);
	r = client_charge(c, ACCT_LISTENERS, 1, &l->charge, rep);
	if (!r)
		r = port_get(c->worker, &want, rep, &l->port);
	if (!r)
		list_add_tail(&l->port->listeners, &l->link);
	if (!r && idtab_add(&c->handles.listeners, l, &l->handle))
		r = reply_refuse(rep, ENOMEM, "listen: no room in the client's table");
	if (r) {
		listener_free(l);
		return r;
	}
	session_request_listening(l->port);
	ret->handle = l->handle;
	ret->port = l->port->number;
	return 0;
}

struct listener *listener_free(struct listener *l)
{
	if (!l)
		return NULL;
	while (!list_empty(&l->asking))
		session_request_free(list_entry(l->asking.next, struct session_request, asking));
	list_del(&l->link);
	if (l->port)
		port_put(l->port);
	idtab_del(&l->client->handles.listeners, l->handle);
	acct_release(&l->charge);
	list_assert_out(&l->link);
	list_assert_out(&l->asking);
	assert(l->waiting == 0);
	free(l);
	return NULL;
}
