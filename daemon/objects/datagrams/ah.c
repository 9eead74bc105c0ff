/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/datagrams/ah.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/net/endpoint_addrs.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/client/handles.h"
#include "daemon/objects/client/pd.h"
#include "ipc/msg_addr.h"
#include "util/addr.h"

/* With its entry in the client's table. */
enum { BYTES = sizeof(struct ah) + 32 };

/* As if a session was requested there: the port does not matter. */
static int read_addrs(const struct client *c, const struct msg_create_ah *req,
		      struct endpoint_addrs *ret, struct reply *rep)
{
	struct msg_connect connect = {.npeers = 1, .nlocals = req->local.family != 0};

	connect.peers[0] = req->remote;
	connect.peers[0].port = MSG_DEFAULT_PORT;
	connect.locals[0] = req->local;
	connect.locals[0].port = 0;
	return endpoint_addrs_read(c->worker, "address handle", &connect, ret, rep);
}

static bool is_here(const struct client *c, const struct endpoint_addrs *addrs)
{
	return endpoint_addrs_transport(c->worker, &addrs->peer) == c->worker->self;
}

static bool has_family(const struct worker *w, int family)
{
	for (unsigned i = 0; i < w->own.n; i++)
		if (w->own.a[i].ss_family == family)
			return true;
	return false;
}

static int check_reach(const struct client *c, const struct endpoint_addrs *addrs,
		       struct reply *rep)
{
	const struct sockaddr_storage *remote = &addrs->peer.a[0];
	char text[ADDR_TEXT_MAX];

	if (addrs->local.n > 0 && addrs->local.a[0].ss_family != remote->ss_family)
		return reply_refuse(rep, EAFNOSUPPORT,
				    "address handle: %s and the local address have different "
				    "families",
				    addr_host_text(remote, text));
	if (!is_here(c, addrs) && c->daemon->cfg.session.datagram_port == 0)
		return reply_refuse(
			rep, EHOSTUNREACH,
			"address handle: %s is not an address of this daemon: datagrams "
			"do not leave it (session.datagram_port)",
			addr_host_text(remote, text));
	if (!has_family(c->worker, remote->ss_family))
		return reply_refuse(rep, EHOSTUNREACH,
				    "address handle: %s: this daemon has no address of its family",
				    addr_host_text(remote, text));
	return 0;
}

/* Datagrams within this host are from the address to which they go, as with its kernel. */
static void set_addrs(struct ah *ah, const struct endpoint_addrs *addrs)
{
	msg_addr_put(&ah->remote, &addrs->peer.a[0]);
	ah->here = is_here(ah->client, addrs);
	if (addrs->local.n > 0)
		msg_addr_put(&ah->local, &addrs->local.a[0]);
	else if (ah->here)
		ah->local = ah->remote;
	ah->remote.port = ah->local.port = 0;
}

static int build_ah(struct ah *ah, struct reply *rep)
{
	struct client *c = ah->client;
	int r = client_charge(c, ACCT_MEMORY, BYTES, &ah->memory, rep);

	if (r)
		return r;
	r = idtab_add(&c->handles.ahs, ah, &ah->handle);
	if (r > 0)
		return reply_refuse(rep, ENOSPC,
				    "address handle: this client has %u, which is the limit",
				    c->handles.ahs.used);
	return r ? reply_refuse(rep, -r, "address handle: out of memory") : 0;
}

int ah_create(struct client *c, const struct msg_create_ah *req, struct msg_handle *ret,
	      struct reply *rep)
{
	struct pd *pd = handles_pd(c, req->pd, rep);
	struct endpoint_addrs addrs;
	struct ah *ah;
	int r = pd ? read_addrs(c, req, &addrs, rep) : -ENOENT;

	if (!r)
		r = check_reach(c, &addrs, rep);
	if (r)
		return r;
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return reply_refuse(rep, ENOMEM, "address handle: out of memory");
	ah->client = c;
	ah->pd = pd;
	pd->ahs++;
	set_addrs(ah, &addrs);
	r = build_ah(ah, rep);
	if (r) {
		ah_free(ah);
		return r;
	}
	ret->handle = ah->handle;
	return 0;
}

struct ah *ah_free(struct ah *ah)
{
	if (!ah)
		return NULL;
	idtab_del(&ah->client->handles.ahs, ah->handle);
	ah->pd->ahs--;
	acct_release(&ah->memory);
	free(ah);
	return NULL;
}
