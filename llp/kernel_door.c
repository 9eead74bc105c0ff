/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners, and the sockets that they share. */
#include "llp/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "util/addr.h"

enum {
	BACKLOG = 512,
	EMBRYOS = 64,  /* so many wait to be looked at; all others stay in the kernel */
	SHUT_MS = 100, /* so long a door is left alone when there are no descriptors */
};

/* ---- addresses ---- */

bool kernel_has_addr(const struct kernel *t, const struct sockaddr_storage *a)
{
	for (unsigned i = 0; i < t->cfg.naddrs; i++)
		if (addr_same_host(&t->addrs[i], a))
			return true;
	return false;
}

int kernel_check_addrs(const struct kernel *t, const struct llp_addrs *at)
{
	for (unsigned i = 0; i < at->n; i++)
		if (!kernel_has_addr(t, &at->a[i]))
			return -EADDRNOTAVAIL;
	return 0;
}

static bool same_list(const struct sockaddr_storage *a, unsigned na, const struct llp_addrs *b)
{
	if (na != b->n)
		return false;
	for (unsigned i = 0; i < na; i++)
		if (!addr_same_host(&a[i], &b->a[i]))
			return false;
	return true;
}

/* ---- doors ---- */

static int watch(struct kernel *t, struct kernel_door *d, int op, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = &d->watch};

	return epoll_ctl(t->epoll, op, d->watch.fd, &e) ? -errno : 0;
}

static struct kernel_door *find_door(const struct kernel *t, const struct llp_addrs *at,
				     uint16_t port)
{
	list_foreach (it, &t->doors) {
		struct kernel_door *d = list_entry(it, struct kernel_door, all);

		if (d->port == port && same_list(d->addr, d->naddrs, at))
			return d;
	}
	return NULL;
}

static void put_door(struct kernel *t, struct kernel_door *d)
{
	if (--d->refs > 0)
		return;
	if (d->shut_until_ms)
		t->shut_doors--;
	kernel_sock_abort(d->watch.fd);
	list_del(&d->all);
	free(d);
}

static int open_door(struct kernel *t, const struct llp_addrs *at, uint16_t port)
{
	struct kernel_door *d = calloc(1, sizeof(*d));
	const char *what;
	int r;

	if (!d)
		return -ENOMEM;
	d->watch.door = true;
	d->watch.fd = kernel_sock_new(t, at, port, &what);
	if (d->watch.fd < 0) {
		r = d->watch.fd;
		free(d);
		return r;
	}
	d->port = port;
	d->refs = 1;
	d->naddrs = at->n;
	memcpy(d->addr, at->a, at->n * sizeof(d->addr[0]));
	list_add_tail(&t->doors, &d->all);
	r = listen(d->watch.fd, BACKLOG) ? -errno : watch(t, d, EPOLL_CTL_ADD, EPOLLIN);
	if (r)
		put_door(t, d);
	return r;
}

static int get_door(struct kernel *t, const struct llp_addrs *at, uint16_t port)
{
	struct kernel_door *d = find_door(t, at, port);

	if (!d)
		return open_door(t, at, port);
	d->refs++;
	return 0;
}

/* ---- listeners ---- */

/* Gives up the doors of the first n addresses, or the one of them all. */
static void put_doors(struct kernel *t, const struct kernel_listener *l, unsigned n)
{
	if (l->naddrs) {
		put_door(t, find_door(t, &(struct llp_addrs){l->addr, l->naddrs}, l->port));
		return;
	}
	for (unsigned i = 0; i < n; i++)
		put_door(t, find_door(t, &(struct llp_addrs){&t->addrs[i], 1}, l->port));
}

static int get_doors(struct kernel *t, const struct kernel_listener *l)
{
	if (l->naddrs)
		return get_door(t, &(struct llp_addrs){l->addr, l->naddrs}, l->port);
	for (unsigned i = 0; i < t->cfg.naddrs; i++) {
		int r = get_door(t, &(struct llp_addrs){&t->addrs[i], 1}, l->port);

		if (r) {
			put_doors(t, l, i);
			return r;
		}
	}
	return 0;
}

static struct kernel_listener *find_listener(const struct kernel *t, const struct llp_addrs *at,
					     uint16_t port)
{
	list_foreach (it, &t->listeners) {
		struct kernel_listener *l = list_entry(it, struct kernel_listener, all);

		if (l->port == port && same_list(l->addr, l->naddrs, at))
			return l;
	}
	return NULL;
}

int kernel_listen(struct llp *llp, const struct llp_addrs *at, uint16_t port, void *user,
		  struct llp_listener **ret)
{
	struct kernel *t = (struct kernel *)llp;
	struct kernel_listener *l;
	int r = kernel_check_addrs(t, at);

	if (r)
		return r;
	if (find_listener(t, at, port))
		return -EADDRINUSE;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->base.llp = llp;
	l->base.user = user;
	l->port = port;
	l->naddrs = at->n;
	if (at->n)
		memcpy(l->addr, at->a, at->n * sizeof(l->addr[0]));
	r = get_doors(t, l);
	if (r) {
		free(l);
		return r;
	}
	list_add_tail(&t->listeners, &l->all);
	*ret = &l->base;
	return 0;
}

void kernel_unlisten(struct llp_listener *ll)
{
	struct kernel_listener *l = (struct kernel_listener *)ll;
	struct kernel *t = (struct kernel *)ll->llp;

	/* What was accepted, but not announced yet, has nobody who wants it. */
	list_foreach (it, &t->conns) {
		struct kernel_conn *c = list_entry(it, struct kernel_conn, all);

		if (c->listener == l)
			c->listener = NULL;
	}
	list_del(&l->all);
	put_doors(t, l, t->cfg.naddrs);
	free(l);
}

/* ---- accepting ---- */

/* The one that waits at just these addresses goes before the one that waits at all. */
static struct kernel_listener *listener_of(const struct kernel *t, const struct kernel_door *d)
{
	struct kernel_listener *l =
		find_listener(t, &(struct llp_addrs){d->addr, d->naddrs}, d->port);

	return l ? l : find_listener(t, &(struct llp_addrs){NULL, 0}, d->port);
}

/* So many descriptors are in use that none is left for what has come. */
static void shut(struct kernel *t, struct kernel_door *d)
{
	if (watch(t, d, EPOLL_CTL_MOD, 0))
		return;
	d->shut_until_ms = t->now_ms + SHUT_MS;
	t->shut_doors++;
}

void kernel_door_expire(struct kernel *t)
{
	if (!t->shut_doors)
		return;
	list_foreach (it, &t->doors) {
		struct kernel_door *d = list_entry(it, struct kernel_door, all);

		if (!d->shut_until_ms || t->now_ms < d->shut_until_ms)
			continue;
		d->shut_until_ms = 0;
		t->shut_doors--;
		(void)watch(t, d, EPOLL_CTL_MOD, EPOLLIN);
	}
}

void kernel_door_accept(struct kernel *t, struct kernel_door *d)
{
	while (t->embryos < EMBRYOS) {
		struct sockaddr_storage from = {0};
		socklen_t len = sizeof(from);
		struct kernel_conn *c;
		int fd = accept4(d->watch.fd, (struct sockaddr *)&from, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				shut(t, d);
			return;
		}
		kernel_sock_adopt(t, fd);
		c = kernel_conn_new(t, fd);
		if (!c)
			return;
		c->passive = true;
		t->embryos++;
		c->listener = listener_of(t, d);
		c->remote = from;
		c->local = d->addr[0];
		addr_set_port(&c->local, d->port);
		c->readable = true;
		kernel_conn_touch(c);
	}
}
