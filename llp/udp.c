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
	TX_BATCHES = 16,  /* not sent yet; further packets are dropped while the socket is full */
	TX_SEGMENTS = 64, /* kernels before 6.9 take no more in one send */
	TX_MSGS = 64,
	RX_MSGS = 8,
	RX_SIZE = 65536,
};

/* Packets of `seg` bytes, except the last one, that wait to be sent. */
struct udp_batch {
	struct udp_flow *flow;
	size_t len, seg;
	size_t done; /* bytes that the kernel took, or refused for good */
	unsigned count;
	uint8_t data[UDP_MAX_PACKET];
};

struct control {
	_Alignas(struct cmsghdr) uint8_t buf[CMSG_SPACE(sizeof(int))];
};

struct udp {
	int fd;
	bool gso;
	bool errors; /* a call reported an ICMP message: the error queue holds it */
	bool full;   /* the kernel took no more packets at the last flush */
	uint32_t rcvbuf;
	struct sockaddr_storage local;
	struct udp_stats st;

	unsigned nbatches;
	struct udp_batch *batch[TX_BATCHES];

	unsigned nmsgs;
	struct mmsghdr tx[TX_MSGS];
	struct iovec tx_iov[TX_MSGS];
	struct control tx_ctl[TX_MSGS];
	struct udp_batch *tx_batch[TX_MSGS];

	struct mmsghdr rx[RX_MSGS];
	struct iovec rx_iov[RX_MSGS];
	struct sockaddr_storage rx_from[RX_MSGS];
	struct control rx_ctl[RX_MSGS];
	uint8_t *rx_data;
};

/* ---- open and close ---- */

static void set_int(int fd, int level, int name, int value)
{
	/* The socket also works without. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

/* net.core.rmem_max and wmem_max do not limit a privileged process. */
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

	/* The kernel doubles the requested size, to cover its own overhead. */
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

static void put_msg(struct udp *u, struct udp_batch *b, size_t off, size_t len)
{
	unsigned i = u->nmsgs++;
	struct msghdr *m = &u->tx[i].msg_hdr;

	*m = (struct msghdr){.msg_name = &b->flow->to, .msg_namelen = b->flow->tolen};
	u->tx_iov[i] = (struct iovec){b->data + off, len};
	m->msg_iov = &u->tx_iov[i];
	m->msg_iovlen = 1;
	u->tx_batch[i] = b;
	if (b->seg < len) {
		uint16_t seg = (uint16_t)b->seg;
		struct cmsghdr *c;

		m->msg_control = u->tx_ctl[i].buf;
		m->msg_controllen = CMSG_SPACE(sizeof(seg));
		c = CMSG_FIRSTHDR(m);
		c->cmsg_len = CMSG_LEN(sizeof(seg));
		c->cmsg_level = IPPROTO_UDP;
		c->cmsg_type = UDP_SEGMENT;
		memcpy(CMSG_DATA(c), &seg, sizeof(seg));
	}
}

/* An ICMP message about an earlier packet is reported as the error of an unrelated send. */
static bool is_icmp(int err)
{
	return err == ECONNREFUSED || err == EHOSTUNREACH || err == ENETUNREACH ||
	       err == EHOSTDOWN || err == ENOPROTOOPT || err == EPROTO || err == EACCES;
}

/* 0 or -errno; -EAGAIN: the socket is full. */
static int send_one(struct udp *u, const struct msghdr *m)
{
	for (int tries = 0; tries < 4; tries++) {
		if (sendmsg(u->fd, m, 0) >= 0)
			return 0;
		if (is_icmp(errno))
			u->errors = true;
		else if (errno != EINTR)
			break;
	}
	u->full = errno == EAGAIN;
	return -errno;
}

/* Sends a batch packet by packet, after the kernel refused it as a whole. */
static void send_apart(struct udp *u, struct udp_batch *b)
{
	while (b->done < b->len) {
		size_t left = b->len - b->done;
		struct iovec v = {b->data + b->done, left < b->seg ? left : b->seg};
		struct msghdr one = {.msg_name = &b->flow->to,
				     .msg_namelen = b->flow->tolen,
				     .msg_iov = &v,
				     .msg_iovlen = 1};
		int r = send_one(u, &one);

		if (r == -EAGAIN)
			return;
		if (r)
			u->st.tx_errors++;
		b->done += v.iov_len;
	}
}

/* Retries the i-th message, which sendmmsg() refused. */
static void send_again(struct udp *u, unsigned i)
{
	const struct msghdr *m = &u->tx[i].msg_hdr;
	struct udp_batch *b = u->tx_batch[i];
	int r = send_one(u, m);

	if (r == -EAGAIN)
		return;
	if (r && m->msg_control) {
		/* ENOBUFS passes; other errors would recur for every batch of this flow. */
		if (r == -EIO || r == -EINVAL || r == -EMSGSIZE)
			b->flow->gso = false;
		send_apart(u, b);
		return;
	}
	if (r)
		u->st.tx_errors++;
	b->done += u->tx_iov[i].iov_len;
}

/* Hands the collected messages to the kernel. False if the socket is full: what it did not take is
 * still in the batches. */
static bool send_msgs(struct udp *u)
{
	unsigned i = 0;

	while (i < u->nmsgs && !u->full) {
		int r = sendmmsg(u->fd, u->tx + i, u->nmsgs - i, 0);

		if (r <= 0)
			send_again(u, i++);
		for (; r > 0; r--, i++)
			u->tx_batch[i]->done += u->tx_iov[i].iov_len;
	}
	u->nmsgs = 0;
	return !u->full;
}

static bool put_batch(struct udp *u, struct udp_batch *b)
{
	size_t most = b->flow->gso ? b->len : b->seg;

	for (size_t off = b->done, n; off < b->len; off += n) {
		n = b->len - off < most ? b->len - off : most;
		if (u->nmsgs == TX_MSGS && !send_msgs(u))
			return false;
		put_msg(u, b, off, n);
	}
	return true;
}

/* Keeps the batches that were not sent, in their order. */
static void remove_sent(struct udp *u)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < u->nbatches; i++) {
		struct udp_batch *b = u->batch[i];

		if (b->done < b->len) {
			u->batch[i] = u->batch[kept];
			u->batch[kept++] = b;
		} else if (b->flow->open == b) {
			b->flow->open = NULL;
		}
	}
	u->nbatches = kept;
}

void udp_flush(struct udp *u)
{
	unsigned i = 0;

	u->full = false;
	while (i < u->nbatches && put_batch(u, u->batch[i]))
		i++;
	if (u->nmsgs)
		send_msgs(u);
	remove_sent(u);
}

bool udp_blocked(const struct udp *u)
{
	return u->full && u->nbatches > 0;
}

/* NULL if the socket is full and all batches are in use. */
static struct udp_batch *begin_batch(struct udp *u, struct udp_flow *f, size_t len)
{
	struct udp_batch *b;

	if (u->nbatches == TX_BATCHES && !u->full)
		udp_flush(u);
	if (u->nbatches == TX_BATCHES)
		return NULL;
	b = u->batch[u->nbatches++];
	b->flow = f;
	b->len = 0;
	b->done = 0;
	b->seg = len;
	b->count = 0;
	u->st.tx_batches++;
	f->open = b;
	return b;
}

/* Sends a packet without a copy, after those that were queued before it. False if the socket is
 * full. */
static bool send_direct(struct udp *u, struct udp_flow *f, const void *pkt, size_t len)
{
	struct iovec v = {(void *)(uintptr_t)pkt, len};
	struct msghdr m = {
		.msg_name = &f->to, .msg_namelen = f->tolen, .msg_iov = &v, .msg_iovlen = 1};
	int r;

	if (!u->full)
		udp_flush(u);
	if (u->full)
		return false;
	r = send_one(u, &m);
	if (r == -EAGAIN)
		return false;
	u->st.tx_batches++;
	if (r)
		u->st.tx_errors++;
	return true;
}

void udp_send(struct udp *u, struct udp_flow *f, const void *pkt, size_t len)
{
	struct udp_batch *b;

	u->st.tx_packets++;
	u->st.tx_bytes += len;
	/* No other packet would fit into the batch of such a long one. */
	if (len > UDP_MAX_PACKET / 2 && send_direct(u, f, pkt, len))
		return;
	b = f->open;
	if (!b || len > b->seg || len > UDP_MAX_PACKET - b->len)
		b = begin_batch(u, f, len);
	if (!b) {
		u->st.tx_errors++;
		return;
	}
	memcpy(b->data + b->len, pkt, len);
	b->len += len;
	if (++b->count == TX_SEGMENTS || len < b->seg || UDP_MAX_PACKET - b->len < b->seg)
		f->open = NULL;
}

static bool has_batch(const struct udp *u, const struct udp_flow *f)
{
	for (unsigned i = 0; i < u->nbatches; i++)
		if (u->batch[i]->flow == f)
			return true;
	return false;
}

void udp_forget(struct udp *u, struct udp_flow *f)
{
	if (!has_batch(u, f))
		return;
	if (!u->full)
		udp_flush(u);
	for (unsigned i = 0; i < u->nbatches; i++) {
		struct udp_batch *b = u->batch[i];

		if (b->flow != f)
			continue;
		u->st.tx_errors += (b->len - b->done + b->seg - 1) / b->seg;
		b->done = b->len;
	}
	remove_sent(u);
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
	/* An attacker can send these faster than they are read. */
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
