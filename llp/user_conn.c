/* SPDX-License-Identifier: BSD-2-Clause */
/* Associations and listeners: how they begin and how they end. */
#include "llp/user.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llp/route.h"
#include "util/addr.h"

enum {
	BACKLOG = 512,
	LINGER_MS = 2000, /* how long usrsctp's timers go on after the last association */
};

/* ---- an association's record ---- */

static void upcall(struct socket *so, void *arg, int flags)
{
	(void)so;
	(void)flags;
	llp_user_conn_touch(arg);
}

void llp_user_conn_touch(struct user_conn *c)
{
	if (!list_linked(&c->ready))
		list_add_tail(&llp_user_of(c)->ready, &c->ready);
}

/* Takes the socket over, also when it fails. */
static int new_conn(struct user *t, struct user_peer *p, struct socket *so, struct user_conn **ret)
{
	struct user_conn *c = t->nconns < USER_MAX_CONNS ? calloc(1, sizeof(*c)) : NULL;
	int r = c ? llp_user_peer_ref(t, p) : -ENOMEM;

	if (r < 0) {
		llp_user_sock_abort(so);
		free(c);
		return r;
	}
	c->base.llp = &t->base;
	c->peer = p;
	c->so = so;
	list_init(&c->ready);
	list_add_tail(&t->conns, &c->all);
	t->nconns++;
	usrsctp_set_upcall(so, upcall, c);
	*ret = c;
	return 0;
}

void llp_user_conn_release(struct user_conn *c)
{
	struct user *t = llp_user_of(c);

	c->state = USER_DOWN;
	if (!c->so)
		return;
	llp_user_sock_abort(c->so);
	c->so = NULL;
	t->linger_ms = t->now_ms + LINGER_MS;
}

void llp_user_conn_free(struct llp_conn *lc)
{
	struct user_conn *c = (struct user_conn *)lc;
	struct user *t = llp_user_of(c);

	llp_user_conn_release(c);
	llp_user_peer_unref(t, c->peer);
	list_del(&c->ready);
	list_del(&c->all);
	t->nconns--;
	if (t->current == c)
		t->current = NULL;
	free(c->part);
	free(c);
}

void llp_user_conn_end(struct user_conn *c, int err, const char *reason, ...)
{
	va_list ap;

	llp_user_conn_touch(c);
	if (c->ended)
		return;
	c->ended = true;
	c->err = err;
	va_start(ap, reason);
	vsnprintf(c->reason, sizeof(c->reason), reason, ap);
	va_end(ap);
}

void llp_user_conn_measure(struct user_conn *c)
{
	struct sctp_status st;

	if (!llp_user_sock_status(c->so, &st))
		return;
	c->streams = st.sstat_instrms < st.sstat_outstrms ? st.sstat_instrms : st.sstat_outstrms;
	c->max_message = st.sstat_fragmentation_point;
	if (c->max_message > USER_MAX_CHUNK)
		c->max_message = USER_MAX_CHUNK;
}

/* ---- listening ---- */

static struct user_port *find_port(const struct user *t, uint16_t port)
{
	list_foreach (it, &t->ports) {
		struct user_port *p = list_entry(it, struct user_port, all);

		if (p->port == port)
			return p;
	}
	return NULL;
}

struct user_listener *llp_user_listener_find(const struct user *t, const struct udp *sock,
					     uint16_t port)
{
	struct user_port *p = find_port(t, port);
	struct user_listener *any = NULL;

	if (!p)
		return NULL;
	list_foreach (it, &p->listeners) {
		struct user_listener *l = list_entry(it, struct user_listener, all);

		if (l->sock == sock)
			return l;
		if (!l->sock)
			any = l;
	}
	return any;
}

static struct udp *find_sock(const struct user *t, const struct sockaddr_storage *addr)
{
	for (unsigned i = 0; i < t->nsocks; i++)
		if (addr_same_host(udp_local(t->sock[i]), addr))
			return t->sock[i];
	return NULL;
}

static void port_upcall(struct socket *so, void *arg, int flags)
{
	struct user *t = arg;

	(void)so;
	(void)flags;
	t->accepting = true;
}

/* The largest packets that are possible: each association is limited when it is up. */
static struct socket *open_port(struct user *t, uint16_t port)
{
	struct sockaddr_conn a = {.sconn_family = AF_CONN, .sconn_port = htons(port)};
	struct socket *so = llp_user_sock_new(t, UDP_MAX_PACKET & ~3u);

	if (!so)
		return NULL;
	if (usrsctp_bind(so, (struct sockaddr *)&a, sizeof(a)) || usrsctp_listen(so, BACKLOG)) {
		int err = errno;

		llp_user_sock_abort(so);
		errno = err;
		return NULL;
	}
	usrsctp_set_upcall(so, port_upcall, t);
	return so;
}

static int get_port(struct user *t, uint16_t port, struct user_port **ret)
{
	struct user_port *p = find_port(t, port);

	if (p) {
		*ret = p;
		return 0;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->so = open_port(t, port);
	if (!p->so) {
		int err = errno;

		free(p);
		return -err;
	}
	p->port = port;
	list_init(&p->listeners);
	list_add_tail(&t->ports, &p->all);
	*ret = p;
	return 0;
}

static void put_port(struct user_port *p)
{
	if (!list_empty(&p->listeners))
		return;
	llp_user_sock_abort(p->so);
	list_del(&p->all);
	free(p);
}

int llp_user_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *listener_user,
		    struct llp_listener **ret)
{
	struct user *t = (struct user *)llp;
	struct user_listener *l;
	const struct udp *sock = NULL;
	int r;

	if (at->n > 1)
		return -EOPNOTSUPP;
	if (at->n == 1) {
		sock = find_sock(t, &at->a[0]);
		if (!sock)
			return -EADDRNOTAVAIL;
	}
	l = llp_user_listener_find(t, sock, port);
	if (l && l->sock == sock)
		return -EADDRINUSE;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	r = get_port(t, port, &l->port);
	if (r < 0) {
		free(l);
		return r;
	}
	l->base.llp = llp;
	l->base.user = listener_user;
	l->sock = sock;
	list_add_tail(&l->port->listeners, &l->all);
	*ret = &l->base;
	return 0;
}

void llp_user_unlisten(struct llp_listener *ll)
{
	struct user_listener *l = (struct user_listener *)ll;

	list_del(&l->all);
	put_port(l->port);
	free(l);
}

static void accept_one(struct user *t, const struct user_port *port, struct socket *so,
		       const struct sockaddr_conn *from)
{
	struct user_peer *p = llp_user_peer_by_token(t, from->sconn_addr);
	struct user_conn *c;

	if (!p) {
		llp_user_sock_abort(so);
		return;
	}
	/* Without memory or a route back there is nobody to tell but the peer. */
	if (new_conn(t, p, so, &c) < 0)
		return;
	c->state = USER_VERIFYING;
	c->passive = true;
	c->local_port = port->port;
	c->remote_port = ntohs(from->sconn_port);
	llp_user_sock_limit(so, llp_user_peer_packet(p));
	/* Its first events came before there was an upcall. */
	llp_user_conn_touch(c);
}

void llp_user_accept(struct user *t)
{
	t->accepting = false;
	list_foreach (it, &t->ports) {
		struct user_port *p = list_entry(it, struct user_port, all);

		for (;;) {
			struct sockaddr_conn from;
			socklen_t len = sizeof(from);
			struct socket *so = usrsctp_accept(p->so, (struct sockaddr *)&from, &len);

			if (!so)
				break;
			accept_one(t, p, so, &from);
		}
	}
}

/* ---- connecting ---- */

/* The local address that the kernel would use, if it is ours; else any of the same kind. */
static struct udp *choose_sock(const struct user *t, const struct sockaddr_storage *to)
{
	struct route way;
	struct udp *sock = route_find(NULL, to, &way) == 0 ? find_sock(t, &way.src) : NULL;

	for (unsigned i = 0; !sock && i < t->nsocks; i++)
		if (udp_local(t->sock[i])->ss_family == to->ss_family)
			sock = t->sock[i];
	return sock;
}

/* Bound to the peer's token alone: usrsctp then has a list of one to search for each packet. */
static int begin(struct user_conn *c)
{
	struct sockaddr_conn a = {.sconn_family = AF_CONN,
				  .sconn_addr = llp_user_peer_token(c->peer)};

	if (usrsctp_bind(c->so, (struct sockaddr *)&a, sizeof(a)))
		return -errno;
	a.sconn_port = htons(c->remote_port);
	if (usrsctp_connect(c->so, (struct sockaddr *)&a, sizeof(a)) && errno != EINPROGRESS)
		return -errno;
	return 0;
}

static void learn_local_port(struct user_conn *c)
{
	struct sockaddr *list;

	if (usrsctp_getladdrs(c->so, 0, &list) <= 0)
		return;
	c->local_port = ntohs(((struct sockaddr_conn *)list)->sconn_port);
	usrsctp_freeladdrs(list);
}

/* The peer, as seen from the address of ours that is asked for. One path: usrsctp knows peers by
 * tokens, not by addresses. */
static int find_ends(struct user *t, const struct llp_addrs *peer, const struct llp_addrs *from,
		     struct user_peer **ret)
{
	struct sockaddr_storage to = peer->a[0];
	struct udp *sock;

	if (peer->n > 1 || from->n > 1)
		return -EOPNOTSUPP;
	sock = from->n ? find_sock(t, &from->a[0]) : choose_sock(t, &to);
	if (!sock)
		return from->n ? -EADDRNOTAVAIL : -EAFNOSUPPORT;
	if (udp_local(sock)->ss_family != to.ss_family)
		return -EAFNOSUPPORT;
	addr_set_port(&to, t->cfg.udp_port);
	return llp_user_peer_get(t, sock, &to, ret);
}

int llp_user_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		     const struct llp_addrs *from, void *conn_user, struct llp_conn **ret)
{
	struct user *t = (struct user *)llp;
	struct user_peer *p;
	struct user_conn *c;
	struct socket *so;
	int r = find_ends(t, peer, from, &p);

	if (r < 0)
		return r;
	so = llp_user_sock_new(t, UDP_MAX_PACKET & ~3u);
	if (!so)
		return -errno;
	r = new_conn(t, p, so, &c);
	if (r < 0)
		return r;
	llp_user_sock_limit(c->so, llp_user_peer_packet(p));
	c->base.user = conn_user;
	c->remote_port = port;
	c->state = USER_CONNECTING;
	c->deadline_ms = t->now_ms + t->cfg.init_ms;
	r = begin(c);
	if (r < 0) {
		llp_user_conn_free(&c->base);
		return r;
	}
	learn_local_port(c);
	*ret = &c->base;
	return 0;
}

void llp_user_conn_expire(struct user *t)
{
	list_foreach (it, &t->conns) {
		struct user_conn *c = list_entry(it, struct user_conn, all);
		char text[ADDR_TEXT_MAX];

		if (c->state == USER_CONNECTING && t->now_ms >= c->deadline_ms)
			llp_user_conn_end(c, ETIMEDOUT,
					  "%s does not answer on UDP port %u within %u ms",
					  addr_host_text(&c->peer->flow.to, text),
					  addr_port(&c->peer->flow.to), t->cfg.init_ms);
	}
}

/* ---- ICMP ---- */

static void shrink(struct user *t, struct user_peer *p, uint32_t mtu)
{
	if (mtu < USER_MIN_MTU)
		mtu = USER_MIN_MTU;
	if (mtu >= p->mtu)
		return;
	p->mtu = mtu;
	list_foreach (it, &t->conns) {
		struct user_conn *c = list_entry(it, struct user_conn, all);

		if (c->peer != p || !c->so)
			continue;
		llp_user_sock_limit(c->so, llp_user_peer_packet(p));
		llp_user_conn_measure(c);
	}
}

/* Only who has no association yet believes it: later it may be forged, or pass. */
static void unreachable(struct user *t, const struct user_peer *p, int err)
{
	char text[ADDR_TEXT_MAX];

	addr_host_text(&p->flow.to, text);
	list_foreach (it, &t->conns) {
		struct user_conn *c = list_entry(it, struct user_conn, all);

		if (c->peer != p || c->state != USER_CONNECTING)
			continue;
		if (err == ECONNREFUSED)
			llp_user_conn_end(c, err, "nothing listens on UDP port %u of %s",
					  addr_port(&p->flow.to), text);
		else
			llp_user_conn_end(c, err, "%s: %s", text, strerror(err));
	}
}

void llp_user_icmp(void *arg, const struct sockaddr_storage *to, int err, uint32_t mtu)
{
	struct user_rx *rx = arg;
	struct user_peer *p = llp_user_peer_find(rx->user, rx->sock, to);

	if (!p || !p->conns)
		return;
	if (err == EMSGSIZE)
		shrink(rx->user, p, mtu);
	else
		unreachable(rx->user, p, err);
}

/* ---- ending ---- */

void llp_user_shutdown(struct llp_conn *lc)
{
	struct user_conn *c = (struct user_conn *)lc;

	if (c->state == USER_UP && usrsctp_shutdown(c->so, SHUT_WR) == 0)
		c->state = USER_CLOSING;
	else if (c->state != USER_CLOSING && c->state != USER_DOWN)
		llp_user_conn_end(c, 0, "closed before it was up");
}

void llp_user_abort(struct llp_conn *lc, const char *reason)
{
	struct user_conn *c = (struct user_conn *)lc;
	struct sctp_sndinfo info = {.snd_flags = SCTP_ABORT};

	if (c->state == USER_DOWN)
		return;
	/* Before it is up the text cannot travel, and closing is enough. */
	if (c->state != USER_CONNECTING)
		(void)usrsctp_sendv(c->so, reason, strlen(reason), NULL, 0, &info, sizeof(info),
				    SCTP_SENDV_SNDINFO, 0);
	llp_user_conn_release(c);
	list_del(&c->ready);
}

/* ---- information ---- */

static void fill_status(const struct user_conn *c, struct llp_info *ret)
{
	struct sctp_status st;

	if (!c->so || !llp_user_sock_status(c->so, &st))
		return;
	ret->srtt_us = st.sstat_primary.spinfo_srtt * 1000;
	ret->rto_ms = st.sstat_primary.spinfo_rto;
	ret->cwnd = st.sstat_primary.spinfo_cwnd;
	ret->peer_rwnd = st.sstat_rwnd;
	ret->unacked = st.sstat_unackdata;
}

void llp_user_info(const struct llp_conn *lc, struct llp_info *ret)
{
	const struct user_conn *c = (const struct user_conn *)lc;

	*ret = (struct llp_info){
		.backend = "user",
		.local = *udp_local(c->peer->sock),
		.remote = c->peer->flow.to,
		.remote_udp_port = addr_port(&c->peer->flow.to),
		.gso = c->peer->flow.gso,
		.streams = c->streams,
		.max_message = c->max_message,
		.mtu = c->peer->mtu,
	};
	addr_set_port(&ret->local, c->local_port);
	addr_set_port(&ret->remote, c->remote_port);
	fill_status(c, ret);
}
