/* SPDX-License-Identifier: BSD-2-Clause */
/* Associations: how they begin, what is told of them, and how they end. */
#include "llp/kernel.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "llp/route.h"
#include "util/addr.h"

enum {
	RX_BATCHES = 4, /* of one association in a row */
};

/* ---- an association's record ---- */

void kernel_conn_touch(struct kernel_conn *c)
{
	if (!list_linked(&c->ready))
		list_add_tail(&kernel_of(c)->ready, &c->ready);
}

/* The peer's shutdown makes the socket readable for good: then only changes count. */
void kernel_conn_watch(struct kernel_conn *c, bool writable)
{
	struct epoll_event e = {.data.ptr = &c->watch};

	e.events = EPOLLIN | (writable ? EPOLLOUT : 0u) | (c->eof ? (unsigned)EPOLLET : 0u);
	if (c->watch.fd < 0 || c->watching == e.events)
		return;
	if (epoll_ctl(kernel_of(c)->epoll, c->watching ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->watch.fd,
		      &e))
		kernel_conn_end(c, errno, "its socket cannot be watched");
	c->watching = e.events;
}

struct kernel_conn *kernel_conn_new(struct kernel *t, int fd)
{
	struct kernel_conn *c = t->nconns < KERNEL_MAX_CONNS ? calloc(1, sizeof(*c)) : NULL;

	if (!c) {
		kernel_sock_abort(fd);
		return NULL;
	}
	c->base.llp = &t->base;
	c->watch.fd = fd;
	list_init(&c->ready);
	list_init(&c->connecting);
	list_init(&c->tx.dirty);
	list_add_tail(&t->conns, &c->all);
	t->nconns++;
	kernel_conn_watch(c, false);
	return c;
}

/* What the kernel counted of it is kept for llp_stats(). */
static void count_past(struct kernel_conn *c)
{
	struct llp_stats *st = &kernel_of(c)->stats;

	(void)kernel_sock_count(c->watch.fd, &c->count);
	st->tx_packets += c->count.tx_packets;
	st->rx_packets += c->count.rx_packets;
	st->retransmits += c->count.retransmits;
}

void kernel_conn_release(struct kernel_conn *c)
{
	c->state = KERNEL_DOWN;
	if (c->watch.fd < 0)
		return;
	count_past(c);
	kernel_sock_abort(c->watch.fd);
	c->watch.fd = -1;
	kernel_rx_drop(c);
	list_del(&c->connecting);
	list_del(&c->tx.dirty);
}

void kernel_conn_free(struct llp_conn *lc)
{
	struct kernel_conn *c = (struct kernel_conn *)lc;
	struct kernel *t = kernel_of(c);

	kernel_conn_release(c);
	list_del(&c->ready);
	list_del(&c->all);
	t->nconns--;
	if (t->current == c)
		t->current = NULL;
	free(c->tx.stage);
	free(c->part);
	free(c);
}

void kernel_conn_end(struct kernel_conn *c, int err, const char *reason, ...)
{
	va_list ap;

	kernel_conn_touch(c);
	if (c->ended)
		return;
	c->ended = true;
	c->err = err;
	va_start(ap, reason);
	vsnprintf(c->reason, sizeof(c->reason), reason, ap);
	va_end(ap);
}

bool kernel_conn_measure(struct kernel_conn *c)
{
	struct sctp_status st;

	if (c->watch.fd < 0 || !kernel_sock_status(c->watch.fd, &st))
		return false;
	c->streams = st.sstat_instrms < st.sstat_outstrms ? st.sstat_instrms : st.sstat_outstrms;
	c->max_message = st.sstat_fragmentation_point;
	c->cwnd = st.sstat_primary.spinfo_cwnd;
	return true;
}

/* ---- connecting ---- */

/* The local address that the kernel would use, if it is ours; else any of the same kind. */
static const struct sockaddr_storage *choose_local(const struct kernel *t,
						   const struct sockaddr_storage *to)
{
	struct route way;

	if (route_find(NULL, to, &way) == 0)
		for (unsigned i = 0; i < t->cfg.naddrs; i++)
			if (addr_same_host(&t->addrs[i], &way.src))
				return &t->addrs[i];
	for (unsigned i = 0; i < t->cfg.naddrs; i++)
		if (t->addrs[i].ss_family == to->ss_family)
			return &t->addrs[i];
	return NULL;
}

/* sctp_connectx() wants them one behind the other, each of its own length. */
static int begin(int fd, const struct llp_addrs *peer, uint16_t port)
{
	uint8_t packed[LLP_MAX_ADDRS * sizeof(struct sockaddr_in6)];
	uint8_t *p = packed;

	for (unsigned i = 0; i < peer->n; i++) {
		struct sockaddr_storage a = peer->a[i];

		addr_set_port(&a, port);
		memcpy(p, &a, addr_len(&a));
		p += addr_len(&a);
	}
	if (sctp_connectx(fd, (struct sockaddr *)packed, (int)peer->n, NULL) < 0 &&
	    errno != EINPROGRESS)
		return -errno;
	return 0;
}

static int check_families(const struct llp_addrs *peer)
{
	for (unsigned i = 0; i < peer->n; i++)
		if (peer->a[i].ss_family != AF_INET && peer->a[i].ss_family != AF_INET6)
			return -EAFNOSUPPORT;
	return 0;
}

/* A socket whose INIT has left. The descriptor or -errno. */
static int open_to(struct kernel *t, const struct llp_addrs *peer, uint16_t port,
		   const struct llp_addrs *from)
{
	struct llp_addrs local = *from;
	const char *what;
	int fd, r = check_families(peer);

	if (r == 0)
		r = kernel_check_addrs(t, from);
	if (r)
		return r;
	if (local.n == 0) {
		local = (struct llp_addrs){choose_local(t, &peer->a[0]), 1};
		if (!local.a)
			return -EAFNOSUPPORT;
	}
	fd = kernel_sock_new(t, &local, 0, &what);
	if (fd < 0)
		return fd;
	r = begin(fd, peer, port);
	if (r == 0)
		return fd;
	kernel_sock_abort(fd);
	return r;
}

int kernel_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		   const struct llp_addrs *from, void *user, struct llp_conn **ret)
{
	struct kernel *t = (struct kernel *)llp;
	int fd = open_to(t, peer, port, from);
	socklen_t len = sizeof(struct sockaddr_storage);
	struct kernel_conn *c;

	if (fd < 0)
		return fd;
	c = kernel_conn_new(t, fd);
	if (!c)
		return -ENOMEM;
	c->base.user = user;
	c->remote = peer->a[0];
	addr_set_port(&c->remote, port);
	(void)getsockname(fd, (struct sockaddr *)&c->local, &len);
	c->deadline_ms = t->now_ms + t->cfg.init_ms;
	list_add_tail(&t->connecting, &c->connecting);
	*ret = &c->base;
	return 0;
}

void kernel_conn_expire(struct kernel *t)
{
	while (!list_empty(&t->connecting)) {
		struct kernel_conn *c =
			list_entry(t->connecting.next, struct kernel_conn, connecting);
		char text[ADDR_TEXT_MAX];

		if (t->now_ms < c->deadline_ms)
			return;
		list_del(&c->connecting);
		kernel_conn_end(c, ETIMEDOUT, "%s does not answer within %u ms",
				addr_host_text(&c->remote, text), t->cfg.init_ms);
	}
}

/* ---- ending ---- */

void kernel_shutdown(struct llp_conn *lc)
{
	struct kernel_conn *c = (struct kernel_conn *)lc;

	if (c->state == KERNEL_UP) {
		c->state = KERNEL_CLOSING;
		kernel_tx_push(c);
		if (kernel_tx_empty(&c->tx))
			(void)shutdown(c->watch.fd, SHUT_WR);
	} else if (c->state != KERNEL_CLOSING && c->state != KERNEL_DOWN) {
		kernel_conn_end(c, 0, "closed before it was up");
	}
}

/* Linux sends no text with the ABORT of a one-to-one socket. */
void kernel_abort(struct llp_conn *lc, const char *reason)
{
	struct kernel_conn *c = (struct kernel_conn *)lc;

	(void)reason;
	kernel_conn_release(c);
	list_del(&c->ready);
}

/* ---- upcalls ---- */

/* The kernel tells of the indication in the same step as that the association is up: where
 * messages or nothing come behind that, there was none. */
static void verify(struct kernel_conn *c)
{
	enum kernel_pulled r = KERNEL_PULLED_EVENT;
	struct kernel_in in;

	c->rx_left = KERNEL_BATCH;
	c->drained = false;
	while (c->state < KERNEL_UP && !c->ended && r == KERNEL_PULLED_EVENT)
		r = kernel_pull(c, &in);
	if (c->ended || c->state == KERNEL_UP)
		return;
	if (c->state == KERNEL_VERIFYING)
		kernel_conn_end(c, EPROTONOSUPPORT,
				"the peer speaks no DDP: no adaptation indication");
	else if (c->passive)
		kernel_conn_end(c, ECONNABORTED, "it was gone before it was up");
}

/* It came up and has gone again: an event may say why. */
static void look_for_end(struct kernel_conn *c)
{
	struct kernel_in in;

	c->drained = false;
	while (!c->ended && kernel_pull(c, &in) != KERNEL_PULLED_NOTHING)
		;
	kernel_conn_end(c, ECONNRESET, "the peer ended the association at once");
}

/* It can carry messages from now on. */
static void prepare(struct kernel_conn *c)
{
	list_del(&c->connecting);
	if (!kernel_conn_measure(c)) {
		look_for_end(c);
		return;
	}
	c->npaths = kernel_path_count(c->watch.fd);
	kernel_sock_patience(kernel_of(c), c->watch.fd, c->npaths);
	if (kernel_tx_init(c) < 0)
		kernel_conn_end(c, ENOMEM, "no memory for its messages");
}

/* False if the association did not come to be; it may be freed then. */
static bool announce(struct kernel *t, struct kernel_conn *c)
{
	void *owner;

	if (!c->passive) {
		t->base.ev->up(c->base.user);
		return t->current == c;
	}
	owner = c->listener ? t->base.ev->incoming(c->listener->base.user, &c->base) : NULL;
	if (t->current != c)
		return false;
	c->base.user = owner;
	if (owner)
		return true;
	kernel_conn_free(&c->base);
	return false;
}

static void tell_end(struct kernel *t, struct kernel_conn *c)
{
	bool silent = c->passive && !c->base.user;

	kernel_conn_release(c);
	list_del(&c->ready);
	if (silent)
		kernel_conn_free(&c->base);
	else
		t->base.ev->down(c->base.user, c->err, c->reason);
}

/* True while the association may be worked with further. */
static bool still(const struct kernel *t, const struct kernel_conn *c)
{
	return t->current == c && c->state != KERNEL_DOWN;
}

static bool serve_input(struct kernel *t, struct kernel_conn *c)
{
	if (!c->readable && !kernel_rx_holds(c))
		return true;
	c->rx_left = c->readable ? RX_BATCHES : 0;
	c->readable = false;
	c->drained = false;
	if (t->base.ev->readable(c->base.user) && still(t, c))
		kernel_conn_touch(c);
	return still(t, c);
}

static bool serve_output(struct kernel *t, struct kernel_conn *c)
{
	if (c->writable && c->tx.blocked)
		kernel_tx_push(c);
	else if (c->writable)
		kernel_conn_watch(c, false);
	c->writable = false;
	if (!kernel_tx_empty(&c->tx))
		return true;
	if (c->state == KERNEL_CLOSING)
		(void)shutdown(c->watch.fd, SHUT_WR);
	if (c->tx.wanted && c->state == KERNEL_UP) {
		c->tx.wanted = false;
		t->base.ev->writable(c->base.user);
	}
	return still(t, c);
}

/* An event may be older than what was sent since; then there will be another one. Where the
 * association ended, what is not acknowledged is gone as well. */
static bool serve_acked(struct kernel *t, struct kernel_conn *c)
{
	if (!c->dry)
		return true;
	c->dry = false;
	if (!c->ended && !c->tx.dropped && kernel_tx_empty(&c->tx) &&
	    kernel_sock_acked(c->watch.fd))
		t->base.ev->acked(c->base.user);
	return still(t, c);
}

/* Returns false when the owner was told of the end, or freed it. */
static bool serve(struct kernel *t, struct kernel_conn *c)
{
	if (!serve_input(t, c) || !serve_acked(t, c) || !serve_output(t, c))
		return false;
	kernel_path_tell(c);
	return still(t, c);
}

static void dispatch(struct kernel *t, struct kernel_conn *c)
{
	bool fresh = c->state < KERNEL_UP;

	t->current = c;
	/* One look decides of an association that came in. */
	t->embryos -= fresh && c->passive;
	if (fresh && !c->ended)
		verify(c);
	if (fresh && c->state == KERNEL_UP)
		prepare(c);
	if (fresh && c->state == KERNEL_UP && !c->ended && !announce(t, c))
		return;
	if ((c->state == KERNEL_UP || c->state == KERNEL_CLOSING) && !c->ended && !serve(t, c))
		return;
	if (c->ended && c->state != KERNEL_DOWN)
		tell_end(t, c);
}

void kernel_dispatch(struct kernel *t, unsigned budget)
{
	uint64_t limit = t->stats.rx_batches + (budget + KERNEL_BATCH - 1) / KERNEL_BATCH;
	struct list now;

	/* Those that become ready meanwhile have their turn in the next round, and those that the
	 * budget leaves out are the first in it. */
	list_init(&now);
	list_splice_tail(&now, &t->ready);
	while (!list_empty(&now) && t->stats.rx_batches < limit) {
		struct list *link = list_pop(&now);

		dispatch(t, list_entry(link, struct kernel_conn, ready));
	}
	t->current = NULL;
	list_splice_tail(&now, &t->ready);
	list_splice_tail(&t->ready, &now);
}
