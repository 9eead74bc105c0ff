/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners, and the sockets that they share. */
#include "llp/kernel/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "util/addr.h"

enum {
	BACKLOG = 512,
	MAX_HALF_OPEN = 64, /* accepted and not dispatched yet; others stay in the kernel */
	PAUSE_MS = 100,     /* before accept() is tried again without descriptors */
};

static bool same_list(const struct sockaddr_storage *a, unsigned na, const struct llp_addrs *b)
{
	if (na != b->n)
		return false;
	for (unsigned i = 0; i < na; i++)
		if (!addr_same_host(&a[i], &b->a[i]))
			return false;
	return true;
}

/* ---- listening sockets ---- */

static int watch_socket(struct kernel *t, struct kernel_listening *s, int op, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = &s->watch};

	return epoll_ctl(t->epoll, op, s->watch.fd, &e) ? -errno : 0;
}

static struct kernel_listening *find_socket(const struct kernel *t, const struct llp_addrs *at,
					    uint16_t port)
{
	list_foreach (it, &t->listening) {
		struct kernel_listening *s = list_entry(it, struct kernel_listening, all);

		if (s->port == port && same_list(s->addr, s->naddrs, at))
			return s;
	}
	return NULL;
}

static void put_socket(struct kernel *t, struct kernel_listening *s)
{
	if (--s->refs > 0)
		return;
	if (s->paused_until_ms)
		t->paused--;
	kernel_sock_abort(s->watch.fd);
	list_del(&s->all);
	free(s);
}

static int open_socket(struct kernel *t, const struct llp_addrs *at, uint16_t port,
		       struct kernel_listening **ret)
{
	struct kernel_listening *s = calloc(1, sizeof(*s));
	const char *what;
	int r;

	if (!s)
		return -ENOMEM;
	s->watch.listening = true;
	s->watch.fd = kernel_sock_new(t, at, port, &what);
	if (s->watch.fd < 0) {
		r = s->watch.fd;
		free(s);
		return r;
	}
	s->port = port;
	s->refs = 1;
	s->naddrs = at->n;
	memcpy(s->addr, at->a, at->n * sizeof(s->addr[0]));
	list_add_tail(&t->listening, &s->all);
	r = listen(s->watch.fd, BACKLOG) ? -errno : watch_socket(t, s, EPOLL_CTL_ADD, EPOLLIN);
	if (r)
		put_socket(t, s);
	else
		*ret = s;
	return r;
}

/* Adds a socket at these addresses to those of the listener. */
static int get_socket(struct kernel *t, struct kernel_listener *l, const struct llp_addrs *at)
{
	struct kernel_listening *s = find_socket(t, at, l->port);
	int r = 0;

	if (s)
		s->refs++;
	else
		r = open_socket(t, at, l->port, &s);
	if (r == 0)
		l->socket[l->nsockets++] = s;
	return r;
}

/* ---- listeners ---- */

static void put_sockets(struct kernel *t, struct kernel_listener *l)
{
	while (l->nsockets)
		put_socket(t, l->socket[--l->nsockets]);
}

/* At each address of the transport. A loopback address where another daemon has the port is left
 * out if there is one that other hosts reach. */
static int get_sockets_at_all(struct kernel *t, struct kernel_listener *l)
{
	bool outside = false;
	int left_out = 0;

	for (unsigned i = 0; i < t->sctp.cfg.naddrs; i++) {
		const struct sockaddr_storage *a = &t->sctp.addrs[i];
		int r = get_socket(t, l, &(struct llp_addrs){a, 1});

		if (r == -EADDRINUSE && addr_loopback(a))
			left_out = r;
		else if (r)
			return r;
		else
			outside |= !addr_loopback(a);
	}
	return outside ? 0 : left_out;
}

static int get_sockets(struct kernel *t, struct kernel_listener *l)
{
	int r = l->naddrs ? get_socket(t, l, &(struct llp_addrs){l->addr, l->naddrs})
			  : get_sockets_at_all(t, l);

	if (r)
		put_sockets(t, l);
	return r;
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
	int r = llp_sctp_check_addrs(&t->sctp, at);

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
	r = get_sockets(t, l);
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

	/* Associations that were not announced yet are dropped when they are. */
	list_foreach (it, &t->sctp.conns) {
		struct kernel_conn *c = list_entry(it, struct kernel_conn, sctp.all);

		if (c->listener == l)
			c->listener = NULL;
	}
	list_del(&l->all);
	put_sockets(t, l);
	free(l);
}

/* ---- addresses that come and go ---- */

static void put_socket_at(struct kernel *t, struct kernel_listener *l,
			  const struct sockaddr_storage *a)
{
	for (unsigned i = 0; l->naddrs == 0 && i < l->nsockets; i++) {
		if (!addr_same_host(&l->socket[i]->addr[0], a))
			continue;
		put_socket(t, l->socket[i]);
		l->socket[i] = l->socket[--l->nsockets];
		return;
	}
}

int kernel_listener_add_addr(struct kernel *t, const struct sockaddr_storage *a)
{
	list_foreach (it, &t->listeners) {
		struct kernel_listener *l = list_entry(it, struct kernel_listener, all);
		int r = l->naddrs ? 0 : get_socket(t, l, &(struct llp_addrs){a, 1});

		if (r == 0 || (r == -EADDRINUSE && addr_loopback(a)))
			continue;
		kernel_listener_drop_addr(t, a);
		return r;
	}
	return 0;
}

void kernel_listener_drop_addr(struct kernel *t, const struct sockaddr_storage *a)
{
	list_foreach (it, &t->listeners) {
		put_socket_at(t, list_entry(it, struct kernel_listener, all), a);
	}
}

/* ---- accepting ---- */

/* A listener at exactly these addresses takes precedence over one at all addresses. */
static struct kernel_listener *listener_of(const struct kernel *t, const struct kernel_listening *s)
{
	struct kernel_listener *l =
		find_listener(t, &(struct llp_addrs){s->addr, s->naddrs}, s->port);

	return l ? l : find_listener(t, &(struct llp_addrs){NULL, 0}, s->port);
}

/* No descriptor is left for an incoming association. */
static void pause_accept(struct kernel *t, struct kernel_listening *s)
{
	if (watch_socket(t, s, EPOLL_CTL_MOD, 0))
		return;
	s->paused_until_ms = t->sctp.now_ms + PAUSE_MS;
	t->paused++;
}

void kernel_listener_resume(struct kernel *t)
{
	if (!t->paused)
		return;
	list_foreach (it, &t->listening) {
		struct kernel_listening *s = list_entry(it, struct kernel_listening, all);

		if (!s->paused_until_ms || t->sctp.now_ms < s->paused_until_ms)
			continue;
		s->paused_until_ms = 0;
		t->paused--;
		(void)watch_socket(t, s, EPOLL_CTL_MOD, EPOLLIN);
	}
}

uint64_t kernel_listener_expiry_us(const struct kernel *t)
{
	uint64_t next_ms = UINT64_MAX;

	if (!t->paused)
		return UINT64_MAX;
	list_foreach (it, &t->listening) {
		const struct kernel_listening *s = list_entry(it, struct kernel_listening, all);

		if (s->paused_until_ms && s->paused_until_ms < next_ms)
			next_ms = s->paused_until_ms;
	}
	return (t->sctp.base_ms + next_ms) * 1000;
}

void kernel_listener_accept(struct kernel *t, struct kernel_listening *s)
{
	while (t->half_open < MAX_HALF_OPEN) {
		struct sockaddr_storage from = {0};
		socklen_t len = sizeof(from);
		struct kernel_conn *c;
		int fd = accept4(s->watch.fd, (struct sockaddr *)&from, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				pause_accept(t, s);
			return;
		}
		kernel_sock_adopt(t, fd);
		c = kernel_conn_new(t, fd);
		if (!c)
			return;
		c->sctp.passive = true;
		c->half_open = true;
		t->half_open++;
		c->listener = listener_of(t, s);
		c->remote = from;
		c->local = s->addr[0];
		addr_set_port(&c->local, s->port);
		c->readable = true;
		llp_sctp_touch(&c->sctp);
	}
}
