/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sendmmsg(), recvmmsg() */
#endif
#include "llp/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/addr.h"
#include "util/cleanup.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
	TX_BATCHES = 16,  /* open or full, until the next flush */
	TX_SEGMENTS = 64, /* kernels before 6.9 take no more in one send */
	TX_MSGS = 64,
	RX_MSGS = 8,
	RX_SIZE = 65536,
	SEND_WAIT_MS = 5, /* for room in the kernel's send buffer */
};

/* Packets of `seg` bytes, but for the last, that wait to be sent. */
struct udp_batch {
	struct udp_flow *flow;
	size_t len, seg;
	unsigned count;
	uint8_t data[UDP_MAX_PACKET];
};

struct control {
	_Alignas(struct cmsghdr) uint8_t buf[CMSG_SPACE(sizeof(int))];
};

struct udp {
	int fd;
	bool gso;
	bool errors; /* a send reported an ICMP message: the queue has more */
	uint32_t rcvbuf;
	struct sockaddr_storage local;
	struct udp_stats st;

	unsigned nbatches;
	struct udp_batch *batch[TX_BATCHES];

	unsigned nmsgs;
	struct mmsghdr tx[TX_MSGS];
	struct iovec tx_iov[TX_MSGS];
	struct control tx_ctl[TX_MSGS];
	uint16_t tx_seg[TX_MSGS];
	struct udp_flow *tx_flow[TX_MSGS];

	struct mmsghdr rx[RX_MSGS];
	struct iovec rx_iov[RX_MSGS];
	struct sockaddr_storage rx_from[RX_MSGS];
	struct control rx_ctl[RX_MSGS];
	uint8_t *rx_data;
};

/* ---- open and close ---- */

static void set_int(int fd, int level, int name, int value)
{
	/* Each of these is an improvement, none a need. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

/* The limit of net.core.rmem_max and wmem_max does not bind a privileged process. */
static void set_buffer(int fd, int forced, int plain, uint32_t want)
{
	int value = want > INT32_MAX / 2 ? INT32_MAX / 2 : (int)want;

	if (setsockopt(fd, SOL_SOCKET, forced, &value, sizeof(value)))
		set_int(fd, SOL_SOCKET, plain, value);
}

static uint32_t get_rcvbuf(int fd)
{
	int value = 0;
	socklen_t len = sizeof(value);

	/* The kernel doubles what was asked for, to cover its own overhead. */
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, &len) || value < 0)
		return 0;
	return (uint32_t)value / 2;
}

static bool probe_gso(int fd)
{
	int zero = 0;

	return setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &zero, sizeof(zero)) == 0;
}

static int make_socket(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer)
{
	struct sockaddr_storage a = *addr;
	bool v6 = a.ss_family == AF_INET6;
	autoclose int fd =
		socket(a.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);

	if (fd < 0)
		return -errno;
	if (v6)
		set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	addr_set_port(&a, port);
	if (bind(fd, (struct sockaddr *)&a, addr_len(&a)))
		return -errno;
	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, buffer);
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, buffer);
	set_int(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, 1);
	set_int(fd, IPPROTO_UDP, UDP_GRO, 1);
	return take_fd(&fd);
}

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

static int alloc_buffers(struct udp *u)
{
	u->rx_data = malloc((size_t)RX_MSGS * RX_SIZE);
	if (!u->rx_data)
		return -ENOMEM;
	for (unsigned i = 0; i < TX_BATCHES; i++) {
		u->batch[i] = malloc(sizeof(*u->batch[i]));
		if (!u->batch[i])
			return -ENOMEM;
	}
	return 0;
}

int udp_open(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer, struct udp **ret)
{
	struct udp *u = calloc(1, sizeof(*u));
	socklen_t len = sizeof(u->local);
	int r;

	if (!u)
		return -ENOMEM;
	r = u->fd = make_socket(addr, port, buffer);
	if (r >= 0)
		r = alloc_buffers(u);
	if (r >= 0 && getsockname(u->fd, (struct sockaddr *)&u->local, &len))
		r = -errno;
	if (r < 0) {
		udp_close(u);
		return r;
	}
	init_rx(u);
	u->rcvbuf = get_rcvbuf(u->fd);
	u->gso = probe_gso(u->fd);
	*ret = u;
	return 0;
}

struct udp *udp_close(struct udp *u)
{
	if (!u)
		return NULL;
	for (unsigned i = 0; i < TX_BATCHES; i++)
		free(u->batch[i]);
	free(u->rx_data);
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

void udp_stats(const struct udp *u, struct udp_stats *ret)
{
	*ret = u->st;
}

/* ---- sending ---- */

static void put_msg(struct udp *u, struct udp_flow *f, uint8_t *p, size_t len, size_t seg)
{
	unsigned i = u->nmsgs++;
	struct msghdr *m = &u->tx[i].msg_hdr;

	*m = (struct msghdr){.msg_name = &f->to, .msg_namelen = f->tolen};
	u->tx_iov[i] = (struct iovec){p, len};
	m->msg_iov = &u->tx_iov[i];
	m->msg_iovlen = 1;
	u->tx_flow[i] = f;
	if (seg < len) {
		struct cmsghdr *c;

		u->tx_seg[i] = (uint16_t)seg;
		m->msg_control = u->tx_ctl[i].buf;
		m->msg_controllen = CMSG_SPACE(sizeof(u->tx_seg[i]));
		c = CMSG_FIRSTHDR(m);
		c->cmsg_len = CMSG_LEN(sizeof(u->tx_seg[i]));
		c->cmsg_level = IPPROTO_UDP;
		c->cmsg_type = UDP_SEGMENT;
		memcpy(CMSG_DATA(c), &u->tx_seg[i], sizeof(u->tx_seg[i]));
	}
}

/* An ICMP message to an earlier packet shows as the error of a send that has nothing to do with it.
 */
static bool is_icmp(int err)
{
	return err == ECONNREFUSED || err == EHOSTUNREACH || err == ENETUNREACH ||
	       err == EHOSTDOWN || err == ENOPROTOOPT || err == EPROTO || err == EACCES;
}

static int send_one(struct udp *u, const struct msghdr *m)
{
	for (int tries = 0; tries < 4; tries++) {
		struct pollfd p = {.fd = u->fd, .events = POLLOUT};

		if (sendmsg(u->fd, m, 0) >= 0)
			return 0;
		if (errno == EAGAIN)
			(void)poll(&p, 1, SEND_WAIT_MS);
		else if (is_icmp(errno))
			u->errors = true;
		else if (errno != EINTR)
			break;
	}
	return -errno;
}

/* What the kernel would not take as a batch goes packet by packet. */
static void send_apart(struct udp *u, const struct msghdr *m, size_t seg)
{
	uint8_t *p = m->msg_iov->iov_base;
	size_t left = m->msg_iov->iov_len;

	while (left) {
		struct iovec v = {p, left < seg ? left : seg};
		struct msghdr one = {.msg_name = m->msg_name,
				     .msg_namelen = m->msg_namelen,
				     .msg_iov = &v,
				     .msg_iovlen = 1};

		if (send_one(u, &one))
			u->st.tx_errors++;
		p += v.iov_len;
		left -= v.iov_len;
	}
}

/* The i-th message was refused. The next call of sendmmsg() begins behind it. */
static void send_again(struct udp *u, unsigned i)
{
	const struct msghdr *m = &u->tx[i].msg_hdr;
	int r = send_one(u, m);

	if (r == 0)
		return;
	if (!m->msg_control) {
		u->st.tx_errors++;
		return;
	}
	/* ENOBUFS passes; the others will be the same for every batch on this way. */
	if (r == -EIO || r == -EINVAL || r == -EMSGSIZE)
		u->tx_flow[i]->gso = false;
	send_apart(u, m, u->tx_seg[i]);
}

static void send_msgs(struct udp *u)
{
	unsigned done = 0;

	while (done < u->nmsgs) {
		int r = sendmmsg(u->fd, u->tx + done, u->nmsgs - done, 0);

		if (r > 0)
			done += (unsigned)r;
		else
			send_again(u, done++);
	}
	u->nmsgs = 0;
}

static void put_batch(struct udp *u, struct udp_batch *b)
{
	struct udp_flow *f = b->flow;

	if (f->open == b)
		f->open = NULL;
	if (f->gso || b->count == 1) {
		if (u->nmsgs == TX_MSGS)
			send_msgs(u);
		put_msg(u, f, b->data, b->len, b->seg);
		return;
	}
	for (size_t off = 0; off < b->len; off += b->seg) {
		size_t left = b->len - off;
		size_t n = left < b->seg ? left : b->seg;

		if (u->nmsgs == TX_MSGS)
			send_msgs(u);
		put_msg(u, f, b->data + off, n, n);
	}
}

void udp_flush(struct udp *u)
{
	for (unsigned i = 0; i < u->nbatches; i++)
		put_batch(u, u->batch[i]);
	if (u->nmsgs)
		send_msgs(u);
	u->nbatches = 0;
}

static struct udp_batch *begin_batch(struct udp *u, struct udp_flow *f, size_t len)
{
	struct udp_batch *b;

	if (u->nbatches == TX_BATCHES)
		udp_flush(u);
	b = u->batch[u->nbatches++];
	b->flow = f;
	b->len = 0;
	b->seg = len;
	b->count = 0;
	u->st.tx_batches++;
	f->open = b;
	return b;
}

/* A packet that nothing could follow in its batch needs no copy: what is before it leaves, then it.
 */
static void send_big(struct udp *u, struct udp_flow *f, const void *pkt, size_t len)
{
	struct iovec v = {(void *)(uintptr_t)pkt, len};
	struct msghdr m = {
		.msg_name = &f->to, .msg_namelen = f->tolen, .msg_iov = &v, .msg_iovlen = 1};

	udp_flush(u);
	u->st.tx_batches++;
	if (send_one(u, &m))
		u->st.tx_errors++;
}

void udp_send(struct udp *u, struct udp_flow *f, const void *pkt, size_t len)
{
	struct udp_batch *b = f->open;

	u->st.tx_packets++;
	u->st.tx_bytes += len;
	if (len > UDP_MAX_PACKET / 2) {
		send_big(u, f, pkt, len);
		return;
	}
	if (!b || len > b->seg || len > UDP_MAX_PACKET - b->len)
		b = begin_batch(u, f, len);
	memcpy(b->data + b->len, pkt, len);
	b->len += len;
	if (++b->count == TX_SEGMENTS || len < b->seg || UDP_MAX_PACKET - b->len < b->seg)
		f->open = NULL;
}

void udp_forget(struct udp *u, struct udp_flow *f)
{
	for (unsigned i = 0; i < u->nbatches; i++) {
		if (u->batch[i]->flow == f) {
			udp_flush(u);
			return;
		}
	}
}

/* ---- receiving ---- */

/* The size of the packets that the kernel glued together, or that of the only one. */
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

static unsigned take_msg(struct udp *u, unsigned i, udp_packet_fn *fn, void *arg)
{
	struct msghdr *m = &u->rx[i].msg_hdr;
	size_t left = u->rx[i].msg_len;
	size_t seg = segment_size(m, left);
	uint8_t *p = m->msg_iov->iov_base;
	unsigned n = 0;

	u->st.rx_batches++;
	if (m->msg_flags & MSG_TRUNC) {
		u->st.rx_cut++;
		return 1;
	}
	for (; left; n++) {
		size_t len = left < seg ? left : seg;

		u->st.rx_bytes += len;
		fn(arg, &u->rx_from[i], p, len);
		p += len;
		left -= len;
	}
	u->st.rx_packets += n;
	return n;
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
		if (r < 0 && is_icmp(errno))
			u->errors = true;
	} while (r < 0 && (errno == EINTR || is_icmp(errno)));
	return r;
}

unsigned udp_recv(struct udp *u, unsigned budget, udp_packet_fn *fn, void *arg)
{
	unsigned n = 0;

	while (n < budget) {
		int r = recv_msgs(u);

		for (int i = 0; i < r; i++)
			n += take_msg(u, (unsigned)i, fn, arg);
		if (r < RX_MSGS)
			break;
	}
	return n;
}

/* ---- ICMP ---- */

static bool take_error(struct msghdr *m, const struct sockaddr_storage *to, udp_error_fn *fn,
		       void *arg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct sock_extended_err e;
		bool v4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR;
		bool v6 = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR;

		if (!v4 && !v6)
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		fn(arg, to, (int)e.ee_errno, e.ee_errno == EMSGSIZE ? e.ee_info : 0);
		return true;
	}
	return false;
}

void udp_errors(struct udp *u, udp_error_fn *fn, void *arg)
{
	/* An attacker can make these come faster than they are read. */
	for (int budget = 64; u->errors && budget; budget--) {
		struct sockaddr_storage to;
		_Alignas(struct cmsghdr) uint8_t ctl[512];
		struct msghdr m = {.msg_name = &to,
				   .msg_namelen = sizeof(to),
				   .msg_control = ctl,
				   .msg_controllen = sizeof(ctl)};

		memset(&to, 0, sizeof(to));
		if (recvmsg(u->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			u->errors = false;
		else
			take_error(&m, &to, fn, arg);
	}
}
