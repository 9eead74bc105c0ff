/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners, and the addresses that they may use. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/base/addrs.h"
#include "client-lib/base/attr.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "ipc/msg_addr.h"
#include "util/addr.h"

_Static_assert((int)DDP_LISTEN_ENCRYPTED == MSG_LISTEN_ENCRYPTED &&
		       (int)DDP_LISTEN_PROVEN == MSG_LISTEN_PROVEN,
	       "as the daemon has it");

/* The properties of a new listener. key 0: none. */
struct wish {
	const char *call;
	struct addrs at;
	uint16_t port;
	int backlog;
	uint64_t key;
	unsigned flags;
};

static int send_listen(struct ddp_ctx *ctx, const char *call, struct msg_listen_key *req,
		       struct msg_listener *ret)
{
	if (req->listen.flags && ctx->minor < IPC_MINOR_PEER)
		return reason_fail(-EOPNOTSUPP,
				   "%s: the daemon is too old to demand encryption (local protocol "
				   "3.%u)",
				   call, ctx->minor);
	return req->key ? request_listen_key(ctx, call, req, ret)
			: request_listen(ctx, call, &req->listen, ret);
}

static int call_daemon(struct ddp_id *id, const struct wish *w, struct msg_listen_key *req)
{
	struct msg_listen *l = &req->listen;
	struct msg_listener reply;
	int r;

	l->cookie = id->cookie;
	l->port = w->port;
	l->backlog = (uint32_t)w->backlog;
	l->naddrs = (uint16_t)w->at.n;
	memcpy(l->addrs, w->at.a, sizeof(l->addrs));
	l->flags = w->flags;
	req->key = w->key;
	r = send_listen(id->ctx, w->call, req, &reply);
	if (r)
		return r;
	id->handle = reply.handle;
	id->port = l->port = (uint16_t)reply.port;
	return 0;
}

static int start_listening(struct ddp_id *id, const struct wish *w)
{
	struct msg_listen_key *asked = calloc(1, sizeof(*asked));
	int r = asked ? call_daemon(id, w, asked)
		      : reason_fail(-ENOMEM, "%s: out of memory", w->call);

	if (r) {
		free(asked);
		return r;
	}
	id->asked = asked;
	id->key = w->key;
	if (w->at.n > 0)
		msg_addr_get(&w->at.a[0], &id->at);
	if (w->at.n > 0)
		addr_set_port(&id->at, id->port);
	id_set_kind(id, ID_LISTENER);
	return 0;
}

int listen_renew(struct ddp_id *id, struct ddp_ctx *next, const char *call)
{
	struct msg_listener reply;
	int r = send_listen(next, call, id->asked, &reply);

	if (r == 0)
		id->renewed.handle = reply.handle;
	return r;
}

static int check_listen(const char *call, struct ddp_id *id, int backlog)
{
	int r = context_here(id->ctx, call);

	if (r)
		return r;
	if (id_kind(id) != ID_FRESH || id->qp)
		return reason_fail(-EINVAL, "%s: the id is in use already", call);
	if (backlog < 0)
		return reason_fail(-EINVAL, "%s: backlog %d is negative", call, backlog);
	return 0;
}

/* The port has the same offset in all kinds of address, AF_UNSPEC included. */
static uint16_t port_of(const struct sockaddr *addr)
{
	struct sockaddr_in in = {.sin_port = 0};

	if (addr)
		memcpy(&in, addr, sizeof(in));
	return ntohs(in.sin_port);
}

/* Replaces the port of the address by the given one. */
static int add_with_port(struct addrs *at, const char *call, const struct sockaddr *addr,
			 uint16_t port)
{
	struct sockaddr_storage ss;

	if (addr_copy(&ss, addr))
		return addrs_add(at, call, "to listen at", port, addr);
	addr_set_port(&ss, port);
	return addrs_add(at, call, "to listen at", port, (struct sockaddr *)&ss);
}

int ddp_listen(struct ddp_id *id, const struct sockaddr *addr, uint16_t port, int backlog)
{
	struct wish w = {.call = "ddp_listen", .port = port, .backlog = backlog};
	int r = check_listen(w.call, id, backlog);

	if (r)
		return r;
	if (port == 0)
		w.port = port_of(addr);
	if (addr && addr->sa_family != AF_UNSPEC)
		r = add_with_port(&w.at, w.call, addr, w.port);
	return r ? r : start_listening(id, &w);
}

/* Listens on n addresses. The first one may have the port. */
static int listen_list(struct ddp_id *id, struct wish *w, const struct sockaddr_storage *addrs,
		       unsigned n)
{
	int r = check_listen(w->call, id, w->backlog);

	if (r)
		return r;
	if (w->port == 0 && n > 0)
		w->port = addrs_port((const struct sockaddr *)addrs);
	r = addrs_add_list(&w->at, w->call, "to listen at", w->port, addrs, n);
	return r ? r : start_listening(id, w);
}

int ddp_listen_addrs(struct ddp_id *id, const struct sockaddr_storage *addrs, unsigned n,
		     uint16_t port, int backlog)
{
	struct wish w = {.call = "ddp_listen_addrs", .port = port, .backlog = backlog};

	return listen_list(id, &w, addrs, n);
}

int ddp_listen_service(struct ddp_id *id, const struct ddp_listen_attr *attr)
{
	struct ddp_listen_attr a;
	struct wish w = {.call = "ddp_listen_service"};
	int r = attr_read(w.call, &a, sizeof(a), attr);

	if (r)
		return r;
	w.port = a.port;
	w.backlog = a.backlog;
	w.key = a.service_key;
	w.flags = a.flags;
	if (a.flags & ~(unsigned)(DDP_LISTEN_ENCRYPTED | DDP_LISTEN_PROVEN))
		return reason_fail(-EINVAL, "%s: flags 0x%x are unknown", w.call, a.flags);
	return listen_list(id, &w, a.addrs, a.num_addrs);
}

/* ---- the daemon's addresses ---- */

/* The number of addresses in the reply, or -EPROTO. */
static int read_own(const struct msg_addrs *m, struct sockaddr_storage ret[MSG_MAX_OWN])
{
	if (m->n > MSG_MAX_ADDRS || m->num_more > MSG_MAX_OWN - MSG_MAX_ADDRS)
		return -EPROTO;
	if (m->num_more && m->n < MSG_MAX_ADDRS)
		return -EPROTO;
	for (unsigned i = 0; i < m->n; i++)
		if (msg_addr_get(&m->addrs[i], &ret[i]))
			return -EPROTO;
	for (unsigned i = 0; i < m->num_more; i++)
		if (msg_addr_get(&m->more[i], &ret[MSG_MAX_ADDRS + i]))
			return -EPROTO;
	return (int)(m->n + m->num_more);
}

/* Programs from before there were more have room for MSG_MAX_ADDRS, and may read as many as they
 * hear of. */
int ddp_query_addrs(struct ddp_ctx *ctx, struct sockaddr_storage *ret, unsigned n)
{
	struct sockaddr_storage addr[MSG_MAX_OWN];
	struct msg_addrs m = {.num_more = 0}; /* of which older daemons say no number */
	int r = request_query_addrs(ctx, "ddp_query_addrs", &m);

	if (r)
		return r;
	r = read_own(&m, addr);
	if (r < 0)
		return reason_fail(r, "ddp_query_addrs: the daemon's reply is invalid");
	if (r > MSG_MAX_ADDRS && n <= MSG_MAX_ADDRS)
		r = MSG_MAX_ADDRS;
	for (unsigned i = 0; i < (unsigned)r && i < n; i++)
		ret[i] = addr[i];
	return r;
}
