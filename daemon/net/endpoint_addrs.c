/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/endpoint_addrs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/state.h"
#include "ipc/msg_addr.h"
#include "util/addr.h"

bool addr_set_has(const struct addr_set *l, const struct sockaddr_storage *a)
{
	for (unsigned i = 0; i < l->n; i++)
		if (addr_same_host(&l->a[i], a))
			return true;
	return false;
}

/* No address occurs twice in a set, so equal sizes complete the comparison. */
bool addr_set_same(const struct addr_set *a, const struct addr_set *b)
{
	for (unsigned i = 0; i < a->n; i++)
		if (!addr_set_has(b, &a->a[i]))
			return false;
	return a->n == b->n;
}

static bool same_peer(const struct endpoint_addrs *a, const struct endpoint_addrs *b)
{
	return a->port == b->port && addr_same_host(&a->peer.a[0], &b->peer.a[0]) &&
	       addr_set_same(&a->peer, &b->peer);
}

bool endpoint_addrs_same(const struct endpoint_addrs *a, const struct endpoint_addrs *b)
{
	return same_peer(a, b) && addr_set_same(&a->local, &b->local);
}

bool endpoint_addrs_serve(const struct endpoint_addrs *have, const struct endpoint_addrs *want)
{
	bool any = want->local.n == 0 && have->local.n == 1;

	return same_peer(have, want) && (any || addr_set_same(&have->local, &want->local));
}

/* ---- packed ---- */

struct packed_addrs *endpoint_addrs_pack(const struct endpoint_addrs *e)
{
	struct packed_addrs *p = calloc(1, sizeof(*p) + (e->peer.n + e->local.n) * sizeof(p->a[0]));

	if (!p)
		return NULL;
	p->port = e->port;
	p->npeers = (uint8_t)e->peer.n;
	p->nlocals = (uint8_t)e->local.n;
	for (unsigned i = 0; i < e->peer.n; i++)
		msg_addr_put(&p->a[i], &e->peer.a[i]);
	for (unsigned i = 0; i < e->local.n; i++)
		msg_addr_put(&p->a[e->peer.n + i], &e->local.a[i]);
	return p;
}

static void unpack(const struct msg_addr *a, unsigned n, struct addr_set *ret)
{
	ret->n = n;
	for (unsigned i = 0; i < n; i++)
		msg_addr_get(&a[i], &ret->a[i]);
}

void endpoint_addrs_unpack(const struct packed_addrs *p, struct endpoint_addrs *ret)
{
	ret->port = p->port;
	ret->own_port = 0;
	unpack(p->a, p->npeers, &ret->peer);
	unpack(p->a + p->npeers, p->nlocals, &ret->local);
}

struct llp *endpoint_addrs_transport(const struct worker *w, const struct addr_set *peer)
{
	for (unsigned i = 0; i < w->own.n; i++)
		if (addr_same_host(&w->own.a[i], &peer->a[0]))
			return w->self;
	return w->net;
}

struct llp_addrs addr_set_llp(const struct addr_set *l)
{
	return (struct llp_addrs){l->a, l->n};
}

/* ---- reading records ---- */

/* A list of addresses in a record. */
struct source {
	const char *what;
	const struct msg_addr *addrs;
	unsigned n;
	uint16_t port; /* the port that all must have */
};

static int read_one(const struct source *src, unsigned i, struct addr_set *l, struct reply *rep)
{
	char text[ADDR_TEXT_MAX];
	struct sockaddr_storage a;
	int r = msg_addr_get(&src->addrs[i], &a);

	if (r == -EAFNOSUPPORT)
		return reply_refuse(rep, EAFNOSUPPORT,
				    "%s: address family %u: expected 2 (IPv4) or 10 "
				    "(IPv6)",
				    src->what, src->addrs[i].family);
	if (r)
		return reply_violation(rep, -r, "%s: address %u is longer than an IPv4 address",
				       src->what, i + 1);
	if (src->addrs[i].port != src->port)
		return reply_refuse(rep, EINVAL, "%s: %s: all addresses must have port %u",
				    src->what, addr_text(&a, text), src->port);
	if (addr_set_has(l, &a))
		return reply_refuse(rep, EINVAL, "%s: %s is given twice", src->what,
				    addr_host_text(&a, text));
	if (addr_any(&a) && src->n > 1)
		return reply_refuse(rep, EINVAL, "%s: %s: a wildcard must be the only address",
				    src->what, addr_host_text(&a, text));
	l->a[l->n++] = a;
	return 0;
}

static int read_list(const struct source *src, struct addr_set *ret, struct reply *rep)
{
	struct addr_set l = {.n = 0};
	int r = 0;

	if (src->n > LLP_MAX_ADDRS)
		return reply_violation(rep, EINVAL, "%s: %u addresses: at most %d", src->what,
				       src->n, LLP_MAX_ADDRS);
	for (unsigned i = 0; r == 0 && i < src->n; i++)
		r = read_one(src, i, &l, rep);
	if (r == 0)
		*ret = l;
	return r;
}

static int check_peer(const char *what, const struct addr_set *l, struct reply *rep)
{
	char text[ADDR_TEXT_MAX];

	for (unsigned i = 0; i < l->n; i++)
		if (!addr_one_host(&l->a[i]))
			return reply_refuse(rep, EADDRNOTAVAIL,
					    "%s: %s is not the address of one host", what,
					    addr_host_text(&l->a[i], text));
	return 0;
}

/* True if the daemon may use the address. */
static bool is_own_addr(const struct worker *w, const struct sockaddr_storage *a)
{
	for (unsigned i = 0; i < w->own.n; i++) {
		const struct sockaddr_storage *own = &w->own.a[i];

		if (addr_same_host(own, a) || (addr_any(own) && own->ss_family == a->ss_family))
			return true;
	}
	return false;
}

static int check_ours(const struct worker *w, const char *what, const struct addr_set *l,
		      struct reply *rep)
{
	char text[ADDR_TEXT_MAX];

	for (unsigned i = 0; i < l->n; i++)
		if (!is_own_addr(w, &l->a[i]))
			return reply_refuse(rep, EADDRNOTAVAIL,
					    "%s: %s is not an address of the daemon (listen)", what,
					    addr_host_text(&l->a[i], text));
	return 0;
}

static int check_several(const struct worker *w, const char *what, unsigned n, struct reply *rep)
{
	if (n < 2 || llp_has_paths(w->net))
		return 0;
	return reply_refuse(rep, EOPNOTSUPP,
			    "%s: transport %s has one path per association: %u addresses were "
			    "given",
			    what, w->daemon->transport, n);
}

int endpoint_addrs_read(const struct worker *w, const char *what, const struct msg_connect *req,
			struct endpoint_addrs *ret, struct reply *rep)
{
	const struct source peer = {what, req->peers, req->npeers, req->peers[0].port};
	const struct source local = {what, req->locals, req->nlocals, 0};
	struct endpoint_addrs e = {.port = peer.port};
	int r;

	if (req->npeers == 0)
		return reply_violation(rep, EINVAL, "%s: no address of the peer", what);
	r = read_list(&peer, &e.peer, rep);
	if (!r)
		r = check_peer(what, &e.peer, rep);
	if (!r)
		r = read_list(&local, &e.local, rep);
	if (!r && e.port == 0)
		r = reply_refuse(rep, EINVAL, "%s: port 0", what);
	if (!r)
		r = check_ours(w, what, &e.local, rep);
	if (!r && endpoint_addrs_transport(w, &e.peer) == w->net)
		r = check_several(w, what, e.peer.n > e.local.n ? e.peer.n : e.local.n, rep);
	if (!r)
		*ret = e;
	return r;
}

/* The addresses of the daemon: "127.0.0.1, ::1", with an ellipsis if they are many. */
static void own_text(const struct own_addrs *own, char *ret, size_t len)
{
	char text[ADDR_TEXT_MAX];
	size_t at = 0;

	snprintf(ret, len, "none yet");
	for (unsigned i = 0; i < own->n && at < len; i++) {
		int n = snprintf(ret + at, len - at, "%s%s", i ? ", " : "",
				 i < 3 ? addr_host_text(&own->a[i], text) : "...");

		at += (size_t)n;
		if (i == 3)
			return;
	}
}

static bool no_route(int err)
{
	return err == -EINVAL || err == -ENETUNREACH || err == -EHOSTUNREACH ||
	       err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT;
}

int endpoint_addrs_refuse(const struct worker *w, const char *what, const struct endpoint_addrs *e,
			  int err, struct reply *rep)
{
	char own[128], peer[ADDR_TEXT_MAX];

	if (!no_route(err))
		return reply_refuse(rep, -err, "%s: cannot open an association: %s", what,
				    strerror(-err));
	own_text(&w->own, own, sizeof(own));
	return reply_refuse(rep, err == -EINVAL ? ENETUNREACH : -err,
			    "%s: no route to %s from the addresses of this daemon (%s): the key "
			    "'listen' of its configuration sets them",
			    what, addr_host_text(&e->peer.a[0], peer), own);
}

int endpoint_addrs_read_listen(const struct worker *w, const struct msg_listen *req,
			       struct addr_set *ret, struct reply *rep)
{
	const struct source src = {"listen", req->addrs, req->naddrs, req->port};
	struct addr_set l;
	int r = read_list(&src, &l, rep);

	if (!r && l.n == 1 && addr_any(&l.a[0]))
		l.n = 0;
	if (!r)
		r = check_ours(w, "listen", &l, rep);
	if (!r)
		r = check_several(w, "listen", l.n, rep);
	if (!r)
		*ret = l;
	return r;
}

void endpoint_addrs_ours(const struct worker *w, struct msg_addrs *ret)
{
	for (unsigned i = 0; i < w->own.n; i++) {
		struct msg_addr *a = ret->n < MSG_MAX_ADDRS ? &ret->addrs[ret->n++]
							    : &ret->more[ret->num_more++];

		msg_addr_put(a, &w->own.a[i]);
		a->port = 0;
	}
}
