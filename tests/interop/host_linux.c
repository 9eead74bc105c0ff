/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linux's SCTP with UDP encapsulation at net.sctp.udp_port = 9899, in real time: host.h. It listens
 * at 127.0.0.1; the peer is at 127.0.0.2.
 *
 * On the loopback interface a packet has been answered when its send returns, on a machine with one
 * processor; SETTLE covers the others.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/interop/host.h"

enum {
	SETTLE = 20, /* ms in which an answer comes, if any */
	MOVED = 1,   /* the second of the peer's UDP sockets */
};

#ifndef SCTP_REMOTE_UDP_ENCAPS_PORT
#define SCTP_REMOTE_UDP_ENCAPS_PORT 36
#endif

static int udp[2], listener, assoc = -1;

static struct sockaddr_in address(uint8_t last, uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr.s_addr = htonl(0x7f000000 | last)};
}

static void open_udp(int *ret, uint16_t port)
{
	struct sockaddr_in own = address(2, port), peer = address(1, HOST_UDP);

	*ret = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*ret < 0 || bind(*ret, (struct sockaddr *)&own, sizeof(own)) ||
	    connect(*ret, (struct sockaddr *)&peer, sizeof(peer)))
		host_die("the peer's UDP port");
}

static int make(void)
{
	struct sockaddr_in own = address(1, HOST_PORT);
	struct sctp_event_subscribe on = {.sctp_association_event = 1};
	struct sctp_setadaptation ad = {.ssb_adaptation_ind = 1};
	const int yes = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_SCTP);

	if (fd < 0)
		host_die("this kernel has no SCTP");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, &on, sizeof(on));
	setsockopt(fd, IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, &ad, sizeof(ad));
	setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &yes, sizeof(yes));
	if (bind(fd, (struct sockaddr *)&own, sizeof(own)))
		host_die("bind");
	return fd;
}

static void note(const union sctp_notification *e)
{
	if (e->sn_header.sn_type != SCTP_ASSOC_CHANGE)
		return;
	if (e->sn_assoc_change.sac_state == SCTP_RESTART)
		host_event("down", 0);
	host_event(e->sn_assoc_change.sac_state == SCTP_COMM_UP ||
				   e->sn_assoc_change.sac_state == SCTP_RESTART
			   ? "up"
			   : "down",
		   0);
}

static void take(void)
{
	static uint8_t buf[1 << 17];
	struct iovec v = {buf, sizeof(buf)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	ssize_t n;

	while (assoc >= 0 && (n = recvmsg(assoc, &m, MSG_DONTWAIT)) > 0) {
		if (m.msg_flags & MSG_NOTIFICATION)
			note((void *)buf);
		else
			host_event("data", (size_t)n);
	}
}

static void take_packets(int fd)
{
	static uint8_t buf[1 << 16];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		host_put(buf, (size_t)n);
}

static void poll_stack(void)
{
	int fd = listener >= 0 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

	if (fd >= 0)
		assoc = fd;
	take();
	take_packets(udp[0]);
	take_packets(udp[MOVED]);
}

static unsigned now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

/* Reading may make the kernel send, so the program wakes up at times. */
static unsigned wait_ms(unsigned ms)
{
	const unsigned began = now_ms(), before = host_packets();

	for (;;) {
		struct pollfd p[] = {{udp[0], POLLIN, 0}, {udp[MOVED], POLLIN, 0}};
		unsigned passed;

		poll_stack();
		passed = now_ms() - began;
		if (passed >= ms || host_packets() != before)
			return passed;
		poll(p, 2, ms - passed < SETTLE ? (int)(ms - passed) : SETTLE);
	}
}

static void packet(unsigned port, uint8_t *p, size_t n)
{
	(void)send(udp[port ? MOVED : 0], p, n, 0);
	wait_ms(SETTLE);
}

static void connect_peer(void)
{
	struct sockaddr_in peer = address(2, HOST_PEER);
	struct sctp_udpencaps {
		sctp_assoc_t id;
		struct sockaddr_storage addr;
		uint16_t port;
	} encaps = {.addr.ss_family = AF_INET, .port = htons(HOST_PEER_UDP)};

	close(listener);
	listener = -1;
	assoc = make();
	if (setsockopt(assoc, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps)))
		host_die("SCTP_REMOTE_UDP_ENCAPS_PORT");
	if (connect(assoc, (struct sockaddr *)&peer, sizeof(peer)) && errno != EINPROGRESS)
		host_die("connect");
	wait_ms(SETTLE);
}

static void send_messages(unsigned n, unsigned len)
{
	static uint8_t data[1 << 16];
	union {
		struct cmsghdr align;
		uint8_t space[CMSG_SPACE(sizeof(struct sctp_sndinfo))];
	} control = {0};
	struct sctp_sndinfo info = {.snd_flags = SCTP_UNORDERED, .snd_ppid = htonl(16)};
	struct iovec v = {data, len};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr){CMSG_LEN(sizeof(info)), IPPROTO_SCTP, SCTP_SNDINFO};
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	while (n--)
		if (sendmsg(assoc, &m, MSG_NOSIGNAL) < 0)
			host_die("sendmsg");
	wait_ms(SETTLE);
}

static void shutdown_assoc(void)
{
	shutdown(assoc, SHUT_WR);
	wait_ms(SETTLE);
}

static void abort_assoc(void)
{
	struct linger l = {.l_onoff = 1};

	setsockopt(assoc, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(assoc);
	assoc = -1;
	wait_ms(SETTLE);
}

int main(void)
{
	static const struct host_ops ops = {packet,        wait_ms,        connect_peer,
					    send_messages, shutdown_assoc, abort_assoc};
	int status;

	open_udp(&udp[0], HOST_PEER_UDP);
	open_udp(&udp[MOVED], HOST_MOVED);
	listener = make();
	if (listen(listener, 5))
		host_die("listen");
	status = host_run(&ops);
	abort_assoc(); /* the next case has the same ports */
	return status;
}
