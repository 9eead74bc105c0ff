/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners, and the SCTP ports that they share. */
#include "llp/user.h"

#include <errno.h>
#include <stdlib.h>

#include "util/addr.h"

enum {
	BACKLOG = 512,
};

/* ---- ports and listeners ---- */

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

static void port_upcall(struct socket *so, void *arg, int flags)
{
	struct user *t = arg;

	(void)so;
	(void)flags;
	t->accepting = true;
}

/* With the largest packet size: each association is limited when it is up. */
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
		int i = llp_sctp_find_addr(&t->sctp, &at->a[0]);

		if (i < 0)
			return -EADDRNOTAVAIL;
		sock = t->sock[i];
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

/* ---- accepting ---- */

static void accept_one(struct user *t, const struct user_port *port, struct socket *so,
		       const struct sockaddr_conn *from)
{
	struct user_peer *p = llp_user_peer_by_token(t, from->sconn_addr);
	struct user_conn *c;

	if (!p) {
		llp_user_sock_abort(so);
		return;
	}
	/* Without memory or a route only the peer learns of it, by an ABORT. */
	if (llp_user_conn_new(t, p, so, &c) < 0)
		return;
	c->sctp.state = LLP_SCTP_VERIFYING;
	c->sctp.passive = true;
	c->local_port = port->port;
	c->remote_port = ntohs(from->sconn_port);
	llp_user_sock_limit(so, llp_user_peer_packet(p));
	/* Its first events came before usrsctp had our upcall. */
	llp_sctp_touch(&c->sctp);
}

void llp_user_listener_accept(struct user *t)
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
