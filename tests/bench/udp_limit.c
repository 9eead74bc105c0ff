/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What UDP allows at most: the reference for the transport `user`. Packets with a CRC32c, in
 * batches (UDP_SEGMENT, UDP_GRO), one copy into the packet and one out of it to its place, as many
 * messages in a packet as fit, and a count of bytes back from time to time. No protocol: what is
 * lost is lost, and fails the run.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/be.h"
#include "util/crc32c.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
	PORT = 19898,
	HEAD = 12,         /* of a packet: the sum is at 8, as in SCTP */
	MESSAGE_HEAD = 32, /* headers that a message has in SCTP and DDP */
	MOST = 65507,
	SEGMENTS = 64,
	WINDOW = 2 << 20, /* bytes on their way */
	BUFFER = 16 << 20,
	RX = 8,
	LOST_MS = 1000,
};

static struct {
	uint32_t size, mtu;
	double seconds;
	const char *from, *to, *netns;
} opt = {65536, 65535, 3, "127.0.0.1", "127.0.0.2", NULL};

static void die(const char *what)
{
	fprintf(stderr, "udp_limit: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int open_socket(const char *at, uint16_t port, const char *peer, uint16_t peer_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in p = {.sin_family = AF_INET, .sin_port = htons(peer_port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = BUFFER, one = 1;

	if (fd < 0 || inet_pton(AF_INET, at, &a.sin_addr) != 1 ||
	    inet_pton(AF_INET, peer, &p.sin_addr) != 1)
		die(at);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	(void)setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) ||
	    connect(fd, (struct sockaddr *)&p, sizeof(p)))
		die(at);
	return fd;
}

/* ---- receiving ---- */

static uint8_t *memory; /* of one message */

/* Checks a packet and copies its messages to their place. Returns their bytes. */
static uint64_t place(uint8_t *p, uint32_t len)
{
	static uint32_t at;
	uint64_t bytes = 0;

	if (len < HEAD || !crc32c_check(p, len)) {
		fprintf(stderr, "udp_limit: a bad packet\n");
		exit(1);
	}
	for (uint32_t off = HEAD; off + MESSAGE_HEAD <= len;) {
		uint32_t n = be_get32(p + off);

		off += MESSAGE_HEAD;
		if (n > len - off || n > opt.size)
			exit(1);
		if (n > opt.size - at)
			at = 0;
		memcpy(memory + at, p + off, n);
		at += n;
		bytes += n;
		off += n;
	}
	return bytes;
}

static uint32_t segment(struct msghdr *m, uint32_t len)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int size;

		if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&size, CMSG_DATA(c), sizeof(size));
		return (uint32_t)size;
	}
	return len;
}

static void enter_netns(void)
{
	int fd;

	if (!opt.netns)
		return;
	fd = open(opt.netns, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		die(opt.netns);
	close(fd);
}

/* Places what comes, and tells the sender how many bytes that were, until it is killed. */
static void receive(int ready)
{
	static uint8_t data[RX][65536];
	static _Alignas(8) uint8_t ctl[RX][64];
	struct mmsghdr msg[RX] = {0};
	struct iovec v[RX];
	uint64_t total = 0;
	int fd;

	enter_netns();
	fd = open_socket(opt.to, PORT, opt.from, PORT + 1);
	if (write(ready, "r", 1) != 1)
		die("pipe");
	for (int i = 0; i < RX; i++) {
		v[i] = (struct iovec){data[i], sizeof(data[i])};
		msg[i].msg_hdr =
			(struct msghdr){.msg_iov = &v[i], .msg_iovlen = 1, .msg_control = ctl[i]};
	}
	for (;;) {
		uint8_t count[8];
		int n;

		for (int i = 0; i < RX; i++)
			msg[i].msg_hdr.msg_controllen = sizeof(ctl[i]);
		n = recvmmsg(fd, msg, RX, MSG_WAITFORONE, NULL);
		for (int i = 0; i < n; i++) {
			uint32_t len = msg[i].msg_len, seg = segment(&msg[i].msg_hdr, len);

			for (uint32_t off = 0; off < len; off += seg)
				total += place(data[i] + off, seg < len - off ? seg : len - off);
		}
		be_put64(count, total);
		(void)send(fd, count, sizeof(count), MSG_DONTWAIT);
	}
}

/* ---- sending ---- */

/* Fills a packet of at most `most` bytes with messages, or parts of one. Returns its length. */
static uint32_t fill(uint8_t *p, uint32_t most, uint64_t *payload)
{
	static uint32_t at;
	uint32_t off = HEAD;

	memset(p, 0, HEAD);
	while (most - off > MESSAGE_HEAD) {
		uint32_t n =
			opt.size < most - off - MESSAGE_HEAD ? opt.size : most - off - MESSAGE_HEAD;

		if (n < opt.size && off > HEAD)
			break;
		if (n > opt.size - at)
			at = 0;
		be_put32(p + off, n);
		memcpy(p + off + MESSAGE_HEAD, memory + at, n);
		at += n;
		off += MESSAGE_HEAD + n;
		*payload += n;
	}
	crc32c_seal(p, off);
	return off;
}

static void send_batch(int fd, uint8_t *p, size_t len, uint16_t seg)
{
	_Alignas(8) uint8_t ctl[CMSG_SPACE(sizeof(seg))] = {0};
	struct iovec v = {p, len};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	if (len > seg) {
		struct cmsghdr *c;

		m.msg_control = ctl;
		m.msg_controllen = sizeof(ctl);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_len = CMSG_LEN(sizeof(seg));
		c->cmsg_level = IPPROTO_UDP;
		c->cmsg_type = UDP_SEGMENT;
		memcpy(CMSG_DATA(c), &seg, sizeof(seg));
	}
	while (sendmsg(fd, &m, 0) < 0)
		if (errno != EINTR && errno != EAGAIN && errno != ECONNREFUSED)
			die("send");
}

static uint64_t arrived(int fd, uint64_t before, bool wait)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t count[64];

	if (wait && poll(&p, 1, LOST_MS) <= 0) {
		fprintf(stderr, "udp_limit: packets were lost\n");
		exit(1);
	}
	while (recv(fd, count, sizeof(count), MSG_DONTWAIT) >= 8)
		before = be_get64(count);
	return before;
}

static double send_all(int fd, uint64_t *ret_bytes)
{
	static uint8_t batch[MOST + 1];
	uint32_t most = opt.mtu - 28 < MOST ? opt.mtu - 28 : MOST;
	double begin = now();
	uint64_t sent = 0, back = 0;

	while (now() - begin < opt.seconds) {
		uint32_t len = 0, seg = 0, n;

		for (int i = 0; i < SEGMENTS && len + most <= MOST; i++) {
			n = fill(batch + len, most, &sent);
			seg = seg ? seg : n;
			len += n;
		}
		send_batch(fd, batch, len, (uint16_t)seg);
		while (sent - (back = arrived(fd, back, false)) > WINDOW)
			back = arrived(fd, back, true);
	}
	while (back < sent)
		back = arrived(fd, back, true);
	*ret_bytes = sent;
	return now() - begin;
}

int main(int argc, char **argv)
{
	uint64_t bytes = 0;
	double seconds;
	pid_t child;
	int o, fd, ready[2];
	char byte;

	while ((o = getopt(argc, argv, "s:m:t:f:T:N:")) >= 0) {
		switch (o) {
		case 's':
			opt.size = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'm':
			opt.mtu = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 't':
			opt.seconds = strtod(optarg, NULL);
			break;
		case 'f':
			opt.from = optarg;
			break;
		case 'T':
			opt.to = optarg;
			break;
		case 'N':
			opt.netns = optarg;
			break;
		default:
			fprintf(stderr,
				"Usage: udp_limit [-s SIZE] [-m MTU] [-t SECONDS] [-f FROM] "
				"[-T TO] [-N NETNS-OF-RECEIVER]\n");
			return 2;
		}
	}
	memory = calloc(1, opt.size);
	if (!memory || opt.size == 0 || opt.mtu < 576)
		return 2;
	if (pipe(ready))
		die("pipe");
	child = fork();
	if (child == 0) {
		alarm((unsigned)opt.seconds + 20);
		receive(ready[1]);
	}
	close(ready[1]);
	fd = open_socket(opt.from, PORT + 1, opt.to, PORT);
	if (read(ready[0], &byte, 1) != 1)
		die("receiver");
	seconds = send_all(fd, &bytes);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("{\"mb_per_s\": %.3f, \"messages_per_s\": %.0f, \"bytes\": %llu}\n",
	       (double)bytes / seconds / 1e6, (double)bytes / opt.size / seconds,
	       (unsigned long long)bytes);
	return 0;
}
