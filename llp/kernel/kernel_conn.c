/* SPDX-License-Identifier: BSD-2-Clause */
/* Associations: their records, how they begin and how they end. */
#include "llp/kernel/kernel.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "llp/common/route.h"
#include "util/addr.h"
#include "util/minmax.h"

/* ---- an association's record ---- */

/* After the peer's shutdown the socket stays readable: edge-triggered from then on. */
void kernel_conn_watch(struct kernel_conn *c, bool writable)
{
	struct epoll_event e = {.data.ptr = &c->watch};

	e.events = EPOLLIN | (writable ? EPOLLOUT : 0u) | (c->eof ? (unsigned)EPOLLET : 0u);
	if (c->watch.fd < 0 || c->watching == e.events)
		return;
	if (epoll_ctl(kernel_of(c)->epoll, c->watching ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->watch.fd,
		      &e))
		llp_sctp_end(&c->sctp, errno, "epoll_ctl: %s", strerror(errno));
	c->watching = e.events;
}

static bool may_have_more(const struct kernel *t)
{
	unsigned max = t->sctp.cfg.max_conns;

	return t->sctp.nconns < (max ? min_u32(max, LLP_SCTP_MAX_CONNS) : LLP_SCTP_MAX_CONNS);
}

struct kernel_conn *kernel_conn_new(struct kernel *t, int fd)
{
	struct kernel_conn *c = may_have_more(t) ? calloc(1, sizeof(*c)) : NULL;

	if (!c) {
		kernel_sock_abort(fd);
		return NULL;
	}
	c->watch.fd = fd;
	list_init(&c->tx.dirty);
	list_init(&c->used);
	llp_sctp_add(&t->sctp, &c->sctp);
	kernel_conn_watch(c, false);
	return c;
}

void kernel_conn_use(struct kernel_conn *c)
{
	if (!list_linked(&c->used))
		list_add_tail(&kernel_of(c)->used, &c->used);
}

void kernel_conn_count(struct kernel_conn *c, struct llp_stats *st)
{
	struct kernel_count before = c->count;

	if (c->watch.fd < 0 || !kernel_sock_count(c->watch.fd, &c->count))
		return;
	st->tx_packets += c->count.tx_packets - before.tx_packets;
	st->rx_packets += c->count.rx_packets - before.rx_packets;
	st->retransmits += c->count.retransmits - before.retransmits;
}

void kernel_conn_drop_input(struct kernel_conn *c)
{
	struct kernel *t = kernel_of(c);

	if (t->reader == c) {
		t->reader = NULL;
		t->batch.head = t->batch.n = 0;
	}
	free(c->kept);
	c->kept = NULL;
}

void kernel_conn_release(struct llp_sctp_conn *sc)
{
	struct kernel_conn *c = (struct kernel_conn *)sc;

	c->sctp.state = LLP_SCTP_DOWN;
	if (c->watch.fd < 0)
		return;
	kernel_conn_count(c, &kernel_of(c)->stats);
	kernel_sock_abort(c->watch.fd);
	c->watch.fd = -1;
	kernel_conn_drop_input(c);
	list_del(&c->sctp.connecting);
	list_del(&c->tx.dirty);
	list_del(&c->used);
}

void kernel_conn_free(struct llp_conn *lc)
{
	struct kernel_conn *c = (struct kernel_conn *)lc;

	kernel_conn_release(&c->sctp);
	llp_sctp_remove(&c->sctp);
	free(c->tx.stage);
	free(c);
}

bool kernel_conn_measure(struct kernel_conn *c)
{
	struct sctp_status st;

	if (c->watch.fd < 0 || !kernel_sock_status(c->watch.fd, &st))
		return false;
	c->sctp.streams = min_u16(st.sstat_instrms, st.sstat_outstrms);
	c->sctp.max_message = st.sstat_fragmentation_point;
	c->cwnd = st.sstat_primary.spinfo_cwnd;
	return true;
}

/* ---- connecting ---- */

/* sctp_connectx() takes a packed array of addresses of different lengths. */
static int connect_socket(int fd, const struct llp_addrs *peer, uint16_t port)
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

/* The addresses to connect from: those the owner names, or the one that the route takes. */
static int choose_sources(const struct kernel *t, const struct llp_addrs *peer,
			  const struct llp_addrs *from, struct llp_addrs *ret)
{
	int i;

	if (from->n) {
		*ret = *from;
		return llp_sctp_check_addrs(&t->sctp, from);
	}
	i = llp_sctp_choose_addr(&t->sctp, &peer->a[0]);
	if (i < 0)
		return -EAFNOSUPPORT;
	*ret = (struct llp_addrs){&t->sctp.addrs[i], 1};
	return 0;
}

/* A socket that has sent its INIT. The descriptor or -errno. */
static int open_to(const struct kernel *t, const struct llp_addrs *peer, uint16_t port,
		   const struct llp_addrs *from)
{
	struct llp_addrs local;
	const char *what;
	int fd, r = check_families(peer);

	if (r == 0)
		r = choose_sources(t, peer, from, &local);
	if (r)
		return r;
	fd = kernel_sock_new(t, &local, 0, &what);
	if (fd < 0)
		return fd;
	r = connect_socket(fd, peer, port);
	if (r == 0)
		return fd;
	kernel_sock_abort(fd);
	return r;
}

/* Always from a free port. After both ends had connected from the ports that they listen on,
 * neither could know which streams are its own: Linux does not report the verification tags. */
int kernel_connect(struct llp *llp, const struct llp_addrs *peer, uint16_t port,
		   const struct llp_addrs *from, uint16_t own_port, void *user,
		   struct llp_conn **ret)
{
	struct kernel *t = (struct kernel *)llp;
	int fd = open_to(t, peer, port, from);
	socklen_t len = sizeof(struct sockaddr_storage);
	struct kernel_conn *c;

	(void)own_port;
	if (fd < 0)
		return fd;
	c = kernel_conn_new(t, fd);
	if (!c)
		return may_have_more(t) ? -ENOMEM : -EMFILE;
	c->sctp.base.user = user;
	c->remote = peer->a[0];
	addr_set_port(&c->remote, port);
	(void)getsockname(fd, (struct sockaddr *)&c->local, &len);
	llp_sctp_connecting(&c->sctp);
	*ret = &c->sctp.base;
	return 0;
}

const char *kernel_silence(uint16_t udp_port, char ret[KERNEL_SILENCE_MAX])
{
	static const char other[] = "or its ddpsctpd has the transport user (ddpctl status there)";

	if (udp_port)
		snprintf(ret, KERNEL_SILENCE_MAX, "let UDP port %u through the firewalls; %s",
			 udp_port, other);
	else
		snprintf(ret, KERNEL_SILENCE_MAX,
			 "let IP protocol 132 through the firewalls (NAT and clouds drop it: set "
			 "transport: user); %s",
			 other);
	return ret;
}

void kernel_conn_expire(struct kernel *t)
{
	struct llp_sctp_conn *sc;

	while ((sc = llp_sctp_expired(&t->sctp))) {
		const struct kernel_conn *c = (const struct kernel_conn *)sc;
		char text[ADDR_TEXT_MAX], why[KERNEL_SILENCE_MAX];

		llp_sctp_end(sc, ETIMEDOUT, "%s does not answer within %u ms: %s",
			     addr_host_text(&c->remote, text), t->sctp.cfg.init_ms,
			     kernel_silence(t->sctp.cfg.udp_port, why));
	}
}

/* ---- ending ---- */

/* Linux sends no text with the ABORT of a one-to-one socket. */
void kernel_abort(struct llp_conn *lc, const char *reason)
{
	struct kernel_conn *c = (struct kernel_conn *)lc;

	(void)reason;
	kernel_conn_release(&c->sctp);
	list_del(&c->sctp.ready);
}
