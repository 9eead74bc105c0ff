/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sendmmsg(), recvmmsg() */
#endif
#include "llp/user/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <time.h> /* for errqueue.h */

#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llp/user/udp_error.h"
#include "llp/user/udp_socket.h"
#include "util/addr.h"
#include "util/cleanup.h"
#include "util/minmax.h"
#include "util/undumped.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum {
	MAX_SEGMENTS = 64, /* Linux before 6.9 takes no more in one send */
	MAX_TRIES = 4,     /* of a send that reports errors of others */
	WAITING = 65536,
	MAX_JOINED = 128, /* spans of a batch that are joined */
	RX_MSGS = 8,
	RX_SIZE = 65536,
	RX_BYTES = RX_MSGS * RX_SIZE,
};

struct control {
	_Alignas(struct cmsghdr) uint8_t buf[CMSG_SPACE(sizeof(int))];
};

struct udp {
	int fd;
	bool v6, gso;
	bool errors; /* a call reported an error that the error queue explains */
	bool full;   /* the kernel took no more packets */
	uint32_t rcvbuf;
	struct sockaddr_storage local;
	struct udp_stats st;

	struct mmsghdr tx[MAX_SEGMENTS];
	uint32_t tx_len[MAX_SEGMENTS];
	struct iovec tx_iov[MAX_JOINED];

	struct udp_batch rest; /* packets that wait; len 0: none */
	struct span rest_span[MAX_SEGMENTS];
	uint8_t *rest_data;

	struct mmsghdr rx[RX_MSGS];
	struct iovec rx_iov[RX_MSGS];
	struct sockaddr_storage rx_from[RX_MSGS];
	struct control rx_ctl[RX_MSGS];
	uint8_t *rx_data;
};

_Static_assert(sizeof(struct span) == sizeof(struct iovec) &&
		       offsetof(struct span, len) == offsetof(struct iovec, iov_len),
	       "a span is an iovec");

/* ---- open and close ---- */

static void init_rx(struct udp *u)
{
	for (unsigned i = 0; i < RX_MSGS; i++) {
		u->rx_iov[i] = (struct iovec){u->rx_data + (size_t)i * RX_SIZE, RX_SIZE};
		u->rx[i].msg_hdr.msg_iov = &u->rx_iov[i];
		u->rx[i].msg_hdr.msg_iovlen = 1;
		u->rx[i].msg_hdr.msg_name = &u->rx_from[i];
		u->rx[i].msg_hdr.msg_control = u->rx_ctl[i].buf;
	}
}

static bool probe_gso(int fd)
{
	int zero = 0;

	return setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &zero, sizeof(zero)) == 0;
}

/* Takes the descriptor, or its error. */
static int open_with(int fd, struct udp **ret)
{
	struct udp *u = calloc(1, sizeof(*u));
	socklen_t len = sizeof(u->local);
	int r = fd < 0 ? fd : 0;

	if (!u) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	u->fd = fd;
	u->rx_data = undumped_map(RX_BYTES, 0);
	u->rest_data = undumped_map(WAITING, 0);
	if (r >= 0 && !(u->rx_data && u->rest_data))
		r = -ENOMEM;
	if (r >= 0 && getsockname(u->fd, (struct sockaddr *)&u->local, &len))
		r = -errno;
	if (r < 0) {
		udp_close(u);
		return r;
	}
	init_rx(u);
	u->v6 = u->local.ss_family == AF_INET6;
	u->rcvbuf = udp_socket_rcvbuf(u->fd);
	u->gso = probe_gso(u->fd);
	*ret = u;
	return 0;
}

int udp_open(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer, struct udp **ret)
{
	return open_with(udp_socket_make(addr, port, buffer), ret);
}

int udp_adopt(int fd, const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer,
	      struct udp **ret)
{
	return open_with(udp_socket_adopt(fd, addr, port, buffer), ret);
}

struct udp *udp_close(struct udp *u)
{
	if (!u)
		return NULL;
	undumped_unmap(u->rest_data, WAITING);
	undumped_unmap(u->rx_data, RX_BYTES);
	if (u->fd >= 0)
		close(u->fd);
	free(u);
	return NULL;
}

int udp_fd(const struct udp *u)
{
	return u->fd;
}

const struct sockaddr_storage *udp_local(const struct udp *u)
{
	return &u->local;
}

uint32_t udp_rcvbuf(const struct udp *u)
{
	return u->rcvbuf;
}

bool udp_can_gso(const struct udp *u)
{
	return u->gso;
}

void udp_filter(struct udp *u, const struct sock_filter *f, unsigned short n)
{
	struct sock_fprog p = {.len = n, .filter = (struct sock_filter *)(uintptr_t)f};

	if (n)
		(void)setsockopt(u->fd, SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p));
	else
		udp_socket_unfilter(u->fd);
}

/* All 0 where the kernel does not tell. */
static void read_meminfo(const struct udp *u, uint32_t ret[SK_MEMINFO_VARS])
{
	socklen_t len = SK_MEMINFO_VARS * sizeof(*ret);

	memset(ret, 0, len);
	(void)getsockopt(u->fd, SOL_SOCKET, SO_MEMINFO, ret, &len);
}

bool udp_crowded(const struct udp *u)
{
	uint32_t info[SK_MEMINFO_VARS];

	read_meminfo(u, info);
	return info[SK_MEMINFO_RMEM_ALLOC] > info[SK_MEMINFO_RCVBUF] / 8;
}

void udp_stats(const struct udp *u, struct udp_stats *ret)
{
	uint32_t info[SK_MEMINFO_VARS];

	read_meminfo(u, info);
	*ret = u->st;
	ret->rx_dropped = info[SK_MEMINFO_DROPS];
}

/* ---- sending ---- */

/* How much of a batch is sent. */
struct progress {
	unsigned span; /* the next one */
	uint32_t done; /* bytes */
	unsigned sent; /* packets that the kernel took one by one */
	bool too_big;
};

static unsigned packets(const struct udp_batch *b, uint32_t len)
{
	return (len + b->segment - 1) / b->segment;
}

/* How many spans the next len bytes are. */
static unsigned count_spans(const struct udp_batch *b, unsigned from, uint32_t len)
{
	unsigned n = 0;

	for (size_t got = 0; got < len && from + n < b->nspans; n++)
		got += b->span[from + n].len;
	return n;
}

static void fill_msg(struct msghdr *m, struct udp_batch *b, unsigned span, uint32_t len)
{
	*m = (struct msghdr){.msg_name = &b->to, .msg_namelen = addr_len(&b->to)};
	m->msg_iov = (struct iovec *)(uintptr_t)&b->span[span];
	m->msg_iovlen = count_spans(b, span, len);
}

/* Packets of a batch are often adjacent in memory, and the kernel takes time for each iovec. */
static void join_spans(struct udp *u, struct msghdr *m)
{
	const struct iovec *from = m->msg_iov, *end = from + m->msg_iovlen;
	struct iovec *last = u->tx_iov;

	for (*last = *from++; from < end; from++) {
		if ((uint8_t *)last->iov_base + last->iov_len == from->iov_base)
			last->iov_len += from->iov_len;
		else if (last + 1 == u->tx_iov + MAX_JOINED)
			return;
		else
			*++last = *from;
	}
	m->msg_iov = u->tx_iov;
	m->msg_iovlen = (size_t)(last + 1 - u->tx_iov);
}

/* An ICMP message about an earlier packet is reported as the error of an unrelated send. */
static bool is_icmp(int err)
{
	return err == ECONNREFUSED || err == EHOSTUNREACH || err == ENETUNREACH ||
	       err == EHOSTDOWN || err == ENOPROTOOPT || err == EPROTO || err == EACCES;
}

/* 0 or -errno; -EAGAIN: the socket is full. EMSGSIZE may be that of an earlier packet as well: then
 * the next try succeeds. */
static int send_one(struct udp *u, const struct msghdr *m)
{
	unsigned too_big = 0;

	for (int tries = 0; tries < MAX_TRIES; tries++) {
		if (sendmsg(u->fd, m, 0) >= 0)
			return 0;
		too_big += errno == EMSGSIZE;
		if (is_icmp(errno) || errno == EMSGSIZE)
			u->errors = true;
		else if (errno != EINTR)
			break;
		if (too_big > 1)
			break;
	}
	u->full = errno == EAGAIN;
	return -errno;
}

/* The kernel refused a packet for good. */
static void count_refused(struct udp *u, struct progress *p, int err)
{
	u->st.tx_errors++;
	p->too_big |= err == -EMSGSIZE;
}

static void progress_add(const struct udp_batch *b, struct progress *p, uint32_t len)
{
	p->span += count_spans(b, p->span, len);
	p->done += len;
}

static unsigned fill_msgs(struct udp *u, struct udp_batch *b, const struct progress *p,
			  uint32_t end)
{
	unsigned n = 0, span = p->span;

	for (uint32_t done = p->done; done < end && n < MAX_SEGMENTS; n++) {
		u->tx_len[n] = min_u32(end - done, b->segment);
		fill_msg(&u->tx[n].msg_hdr, b, span, u->tx_len[n]);
		span += (unsigned)u->tx[n].msg_hdr.msg_iovlen;
		done += u->tx_len[n];
	}
	return n;
}

/* Sends the packets up to the byte `end` one by one. */
static void send_apart(struct udp *u, struct udp_batch *b, struct progress *p, uint32_t end)
{
	while (p->done < end && !u->full) {
		int r = sendmmsg(u->fd, u->tx, fill_msgs(u, b, p, end), 0);

		p->sent += r > 0 ? (unsigned)r : 0;
		for (int i = 0; i < r; i++)
			progress_add(b, p, u->tx_len[i]);
		if (r > 0)
			continue;
		r = send_one(u, &u->tx[0].msg_hdr);
		if (r == -EAGAIN)
			return;
		if (r)
			count_refused(u, p, r);
		p->sent += r == 0;
		progress_add(b, p, u->tx_len[0]);
	}
}

/* Lets the kernel cut the message into packets. */
static void add_segment_size(struct msghdr *m, struct control *ctl, uint32_t segment)
{
	uint16_t size = (uint16_t)segment;
	struct cmsghdr *c;

	m->msg_control = ctl->buf;
	m->msg_controllen = CMSG_SPACE(sizeof(size));
	c = CMSG_FIRSTHDR(m);
	c->cmsg_len = CMSG_LEN(sizeof(size));
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	memcpy(CMSG_DATA(c), &size, sizeof(size));
}

/* Sends as many packets as one call takes. */
static void send_joined(struct udp *u, struct udp_batch *b, struct progress *p)
{
	uint32_t fit = b->segment > UDP_MAX_PACKET ? 1 : UDP_MAX_PACKET / b->segment;
	uint32_t len = min_u32(b->len - p->done, min_u32(fit, MAX_SEGMENTS) * b->segment);
	struct control ctl;
	unsigned before;
	struct msghdr m;
	int r;

	fill_msg(&m, b, p->span, len);
	join_spans(u, &m);
	if (len > b->segment)
		add_segment_size(&m, &ctl, b->segment);
	r = send_one(u, &m);
	if (r == -EAGAIN)
		return;
	if (r == 0 || len <= b->segment) {
		if (r)
			count_refused(u, p, r);
		progress_add(b, p, len);
		return;
	}
	/* ENOBUFS passes. Other errors would recur, unless the packets themselves are refused. */
	before = p->sent;
	send_apart(u, b, p, p->done + len);
	if (p->sent > before && (r == -EIO || r == -EINVAL || r == -EMSGSIZE))
		b->gso = false;
}

static void send_all(struct udp *u, struct udp_batch *b, struct progress *p)
{
	if (b->fragment)
		udp_socket_set_df(u->fd, u->v6, false);
	while (p->done < b->len && !u->full) {
		if (b->gso || b->len - p->done <= b->segment)
			send_joined(u, b, p);
		else
			send_apart(u, b, p, b->len);
	}
	if (b->fragment)
		udp_socket_set_df(u->fd, u->v6, true);
}

/* Keeps the packets that were not sent, as far as there is room. */
static void keep_unsent(struct udp *u, const struct udp_batch *b, const struct progress *p)
{
	uint32_t most = min_u32(WAITING / b->segment, MAX_SEGMENTS) * b->segment;
	uint32_t len = min_u32(b->len - p->done, most);
	struct span to = {u->rest_data, len};

	u->st.tx_errors += packets(b, b->len - p->done) - packets(b, len);
	span_copy(&to, 1, b->span + p->span, b->nspans - p->span, 0, len);
	u->rest = *b;
	u->rest.span = u->rest_span;
	u->rest.len = len;
	u->rest.nspans = packets(b, len);
	for (unsigned i = 0; i < u->rest.nspans; i++, len -= b->segment)
		u->rest_span[i] = (struct span){u->rest_data + (size_t)i * b->segment,
						min_u32(len, b->segment)};
}

int udp_send(struct udp *u, struct udp_batch *b)
{
	struct progress p = {0};

	u->st.tx_packets += packets(b, b->len);
	u->st.tx_bytes += b->len;
	u->st.tx_batches++;
	if (udp_blocked(u)) {
		u->st.tx_errors += packets(b, b->len);
		return 0;
	}
	u->full = false;
	send_all(u, b, &p);
	if (p.done < b->len)
		keep_unsent(u, b, &p);
	return p.too_big ? -EMSGSIZE : 0;
}

void udp_flush(struct udp *u)
{
	struct udp_batch *b = &u->rest;
	struct progress p = {0};

	if (!udp_blocked(u))
		return;
	u->full = false;
	send_all(u, b, &p);
	b->span += p.span;
	b->nspans -= p.span;
	b->len -= p.done;
}

bool udp_blocked(const struct udp *u)
{
	return u->rest.len > 0;
}

/* ---- receiving ---- */

/* The size of the packets that the kernel joined (UDP_GRO), or that of the only one. */
static size_t segment_size(struct msghdr *m, size_t len)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int size;

		if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&size, CMSG_DATA(c), sizeof(size));
		if (size > 0 && (size_t)size < len)
			return (size_t)size;
	}
	return len;
}

static unsigned take_msg(struct udp *u, unsigned i, udp_packets_fn *fn, void *arg)
{
	struct msghdr *m = &u->rx[i].msg_hdr;
	size_t len = u->rx[i].msg_len, segment = segment_size(m, len);
	unsigned n;

	u->st.rx_batches++;
	if (m->msg_flags & MSG_TRUNC) {
		u->st.rx_cut++;
		return 1;
	}
	n = len ? (unsigned)((len + segment - 1) / segment) : 1;
	u->st.rx_packets += n;
	u->st.rx_bytes += len;
	fn(arg, &u->rx_from[i], m->msg_iov->iov_base, len, segment);
	return n;
}

static bool is_error_of_send(int err)
{
	return is_icmp(err) || err == EMSGSIZE;
}

static int recv_msgs(struct udp *u)
{
	int r;

	for (unsigned i = 0; i < RX_MSGS; i++) {
		u->rx[i].msg_hdr.msg_namelen = sizeof(u->rx_from[i]);
		u->rx[i].msg_hdr.msg_controllen = sizeof(u->rx_ctl[i].buf);
	}
	do {
		r = recvmmsg(u->fd, u->rx, RX_MSGS, MSG_DONTWAIT, NULL);
		if (r < 0 && is_error_of_send(errno))
			u->errors = true;
	} while (r < 0 && (errno == EINTR || is_error_of_send(errno)));
	return r;
}

unsigned udp_recv(struct udp *u, unsigned budget, udp_packets_fn *fn, void *arg)
{
	uint64_t before = u->st.rx_bytes;
	unsigned n = 0;

	while (n < budget && (u->st.rx_bytes - before) / UDP_PACKET < budget) {
		int r = recv_msgs(u);

		for (int i = 0; i < r; i++)
			n += take_msg(u, (unsigned)i, fn, arg);
		if (r < RX_MSGS)
			break;
	}
	return n;
}

/* ---- errors ---- */

static void take_error(struct msghdr *m, struct udp_error *ret, udp_error_fn *fn, void *arg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct sock_extended_err e;
		bool v4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR;
		bool v6 = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR;

		if (!v4 && !v6)
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (!udp_error_kind(&e, &ret->kind))
			return;
		if (ret->kind == UDP_TOO_BIG || ret->kind == UDP_TOO_BIG_LOCAL)
			ret->mtu = e.ee_info;
		fn(arg, ret);
		return;
	}
}

void udp_errors(struct udp *u, udp_error_fn *fn, void *arg)
{
	/* An attacker can send these faster than they are read. */
	for (int budget = 64; u->errors && budget; budget--) {
		struct udp_error e = {0};
		uint8_t quoted[UDP_QUOTE];
		struct iovec v = {quoted, sizeof(quoted)};
		_Alignas(struct cmsghdr) uint8_t ctl[512];
		struct msghdr m = {.msg_name = &e.to,
				   .msg_namelen = sizeof(e.to),
				   .msg_iov = &v,
				   .msg_iovlen = 1,
				   .msg_control = ctl,
				   .msg_controllen = sizeof(ctl)};
		ssize_t n = recvmsg(u->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT);

		if (n < 0) {
			u->errors = false;
			return;
		}
		e.quoted = quoted;
		e.len = (size_t)n;
		take_error(&m, &e, fn, arg);
	}
}
