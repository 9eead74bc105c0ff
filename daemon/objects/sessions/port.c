/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/port.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "daemon/base/state.h"
#include "daemon/objects/client/client.h"
#include "daemon/objects/datagrams/reserved.h"
#include "daemon/objects/sessions/listener.h"
#include "util/addr.h"

/* Dynamic ports (RFC 6335 section 6): one of them answers a request for port 0. */
enum { FIRST_FREE = 49152, FREE_PORTS = 65536 - FIRST_FREE };

/* ---- listening ---- */

static int listen_both(struct port *p)
{
	struct worker *w = p->accepts.worker;
	const struct llp_addrs at = addr_set_llp(&p->at);
	int r = llp_listen_at(w->net, &at, p->number, &p->accepts, &p->net);

	if (r)
		return r;
	r = llp_listen_at(w->self, &at, p->number, &p->accepts, &p->self);
	if (r) {
		llp_unlisten(p->net);
		p->net = NULL;
	}
	return r;
}

/* From a random one on, so that a port is not used again soon after its program has ended. -EACCES:
 * `ports` has none of them for the client. */
static int listen_free(struct port *p, struct client *by)
{
	uint32_t start = 0;
	int r = -EACCES;

	if (getrandom(&start, sizeof(start), GRND_NONBLOCK) < 0)
		start = (uint32_t)p->accepts.worker->now_ms;
	for (uint32_t i = 0; i < FREE_PORTS; i++) {
		p->number = (uint16_t)(FIRST_FREE + (start + i) % FREE_PORTS);
		if (client_port_rule(by, p->number) || reserved_port(by->daemon, p->number))
			continue;
		r = listen_both(p);
		if (r != -EADDRINUSE)
			break;
	}
	return r;
}

static int refuse_port(const struct port_request *req, int r, struct reply *rep)
{
	const struct sockaddr_storage any = {.ss_family = AF_UNSPEC};
	char text[ADDR_TEXT_MAX];

	if (r == -EACCES && req->number == 0)
		return reply_refuse(rep, EACCES, "listen: uid %u may use no free port (ports)",
				    (unsigned)req->by->uid);
	return reply_refuse(rep, -r, "listen at %s%s port %u: %s",
			    addr_host_text(req->at.n ? &req->at.a[0] : &any, text),
			    req->at.n > 1 ? " and others" : "", req->number, strerror(-r));
}

static int port_new(struct worker *w, const struct port_request *req, struct reply *rep,
		    struct port **ret)
{
	struct port *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return reply_refuse(rep, ENOMEM, "listen: out of memory");
	p->accepts = (struct association_listener){.worker = w, .at = &p->at};
	p->uid = req->by->uid;
	p->number = req->number;
	p->at = req->at;
	list_init(&p->listeners);
	list_init(&p->link);
	list_add_tail(&w->ports, &p->link);
	if (w->max_conns && (r = client_charge(req->by, ACCT_DESCRIPTORS, 1, &p->fd, rep))) {
		port_put(p);
		return r;
	}
	r = req->number ? listen_both(p) : listen_free(p, req->by);
	if (r) {
		port_put(p);
		return refuse_port(req, r, rep);
	}
	*ret = p;
	return 0;
}

void port_put(struct port *p)
{
	struct worker *w = p->accepts.worker;
	struct association *assoc;
	uint32_t pos = 0;

	if (!list_empty(&p->listeners))
		return;
	while ((assoc = idtab_next(&w->assocs, &pos)))
		if (assoc->listener == &p->accepts)
			assoc->listener = NULL;
	llp_unlisten(p->net);
	llp_unlisten(p->self);
	acct_release(&p->fd);
	list_del(&p->link);
	list_assert_out(&p->link);
	list_assert_out(&p->listeners);
	free(p);
}

/* ---- associations ---- */

struct port *port_of(struct association *assoc)
{
	struct llp_info info;

	if (assoc->listener)
		return list_entry(assoc->listener, struct port, accepts);
	llp_info(assoc->conn, &info);
	list_foreach (it, &assoc->worker->ports) {
		struct port *p = list_entry(it, struct port, link);

		if (p->number != addr_port(&info.local) ||
		    (p->at.n && !addr_set_has(&p->at, &info.local)))
			continue;
		assoc->listener = &p->accepts;
		return p;
	}
	return NULL;
}

/* An association that the port accepts would have the same addresses, as far as that is known. */
static bool accepts_as(const struct port *p, const struct addr_set *local)
{
	return addr_set_same(&p->at, local) || (p->at.n <= 1 && local->n == 0) ||
	       (p->at.n == 0 && local->n == 1);
}

uint16_t port_to_connect(const struct client *c, const struct endpoint_addrs *e)
{
	const struct listener *l;
	uint32_t pos = 0;

	while ((l = idtab_next(&c->handles.listeners, &pos)))
		if (accepts_as(l->port, &e->local))
			return l->port->number;
	return 0;
}

/* ---- sharing ---- */

static struct listener *with_key(const struct port *p, uint64_t key)
{
	list_foreach (it, &p->listeners) {
		struct listener *l = list_entry(it, struct listener, link);

		if (l->key == key)
			return l;
	}
	return NULL;
}

struct listener *port_find(const struct port *p, uint64_t key)
{
	struct listener *l = with_key(p, key);

	if (l || key != 0 || list_empty(&p->listeners))
		return l;
	return list_entry(p->listeners.next, struct listener, link);
}

static struct port *find_shared(const struct worker *w, const struct port_request *req)
{
	list_foreach (it, &w->ports) {
		struct port *p = list_entry(it, struct port, link);

		if (p->number == req->number && addr_set_same(&p->at, &req->at))
			return p;
	}
	return NULL;
}

int port_get(struct worker *w, const struct port_request *req, struct reply *rep, struct port **ret)
{
	const struct port_rule *rule = client_port_rule(req->by, req->number);
	struct port *p = find_shared(w, req);

	if (rule)
		return reply_refuse(rep, EACCES,
				    "listen: port %u: uid %u is not among those of '%s' (ports)",
				    req->number, (unsigned)req->by->uid, rule->text);
	if (!p)
		return port_new(w, req, rep, ret);
	if (p->uid != req->by->uid)
		return reply_refuse(rep, EADDRINUSE, "listen: port %u: another user listens there",
				    req->number);
	if (with_key(p, req->key) && req->key)
		return reply_refuse(rep, EADDRINUSE,
				    "listen: port %u: a program listens there with service key "
				    "0x%" PRIx64,
				    req->number, req->key);
	if (with_key(p, req->key))
		return refuse_port(req, -EADDRINUSE, rep);
	*ret = p;
	return 0;
}
