/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A foreign peer of the transport `user`: usrsctp, which computes checksums with its
 * own code and does not follow our rules. A program of its own, because libusrsctp exports names
 * that sctp/ has, too.
 *
 * Usage: usrsctp_peer READY-FD UDP-PORT LOCAL REMOTE SCTP-PORT ADAPTATION CONNECTS SEND-LEN
 * WANTS-ABORT ADAPTATION is -1 for no indication. It writes a byte to READY-FD when it is ready.
 * Exit status: 0 if the association ends as wanted, 1 if not.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <usrsctp.h>

struct options {
	int ready_fd;
	uint16_t udp_port, sctp_port;
	const char *local, *remote;
	int adaptation; /* negative: none */
	bool connects;  /* else it listens */
	uint32_t send_len;
	bool wants_abort;
};

static int raw_fd;

static socklen_t address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *a4 = (void *)ret;
	struct sockaddr_in6 *a6 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &a4->sin_addr) == 1) {
		a4->sin_family = AF_INET;
		a4->sin_port = htons(port);
		return sizeof(*a4);
	}
	inet_pton(AF_INET6, text, &a6->sin6_addr);
	a6->sin6_family = AF_INET6;
	a6->sin6_port = htons(port);
	return sizeof(*a6);
}

/* A connecting peer may use any port, a listening one needs the given port. */
static int open_udp(const struct options *o)
{
	struct sockaddr_storage from, to;
	socklen_t len = address(o->local, o->connects ? 0 : o->udp_port, &from);
	int fd = socket(from.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	address(o->remote, o->udp_port, &to);
	if (fd < 0 || bind(fd, (struct sockaddr *)&from, len) ||
	    connect(fd, (struct sockaddr *)&to, len))
		_exit(93);
	return fd;
}

static int raw_output(void *addr, void *buffer, size_t len, uint8_t tos, uint8_t df)
{
	(void)addr;
	(void)tos;
	(void)df;
	(void)send(raw_fd, buffer, len, 0);
	return 0;
}

static struct socket *raw_socket(const struct options *o)
{
	struct socket *so = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	struct sockaddr_conn a = {.sconn_family = AF_CONN, .sconn_addr = &raw_fd};
	struct sctp_setadaptation ad = {.ssb_adaptation_ind = (uint32_t)o->adaptation};
	struct sctp_event e = {.se_type = SCTP_ASSOC_CHANGE, .se_on = 1};
	struct sctp_rtoinfo rto = {.srto_initial = 50, .srto_min = 50, .srto_max = 1000};
	int big = 1 << 20;

	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof(rto));
	usrsctp_set_non_blocking(so, 1);
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_EVENT, &e, sizeof(e));
	usrsctp_setsockopt(so, SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	if (o->adaptation >= 0)
		usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, &ad, sizeof(ad));
	a.sconn_port = htons((uint16_t)(o->sctp_port + o->connects));
	if (usrsctp_bind(so, (struct sockaddr *)&a, sizeof(a)))
		_exit(97);
	a.sconn_port = htons(o->sctp_port);
	if (!o->connects && usrsctp_listen(so, 1))
		_exit(96);
	if (o->connects && usrsctp_connect(so, (struct sockaddr *)&a, sizeof(a)) &&
	    errno != EINPROGRESS)
		_exit(95);
	return so;
}

/* The pattern of rig_last_is() with the seed 7. */
static void raw_send(struct socket *so, uint32_t n)
{
	static uint8_t buf[1 << 20];
	struct sctp_sndinfo info = {
		.snd_sid = 1, .snd_flags = SCTP_UNORDERED, .snd_ppid = htonl(16)};

	for (uint32_t i = 0; i < n; i++)
		buf[i] = (uint8_t)(7 + i * 31 + (i >> 8));
	if (usrsctp_sendv(so, buf, n, NULL, 0, &info, sizeof(info), SCTP_SENDV_SNDINFO, 0) < 0)
		_exit(94);
}

/* Exits when the association has ended. */
static void raw_events(const struct options *o, struct socket *so)
{
	static uint8_t buf[1 << 17];
	struct sctp_rcvinfo info;
	socklen_t len = sizeof(info);
	unsigned type;
	int flags = 0;
	const struct sctp_assoc_change *a = (void *)buf;
	ssize_t n = usrsctp_recvv(so, buf, sizeof(buf), NULL, NULL, &info, &len, &type, &flags);

	if (n <= 0 || !(flags & MSG_NOTIFICATION))
		return;
	if (a->sac_state == SCTP_COMM_UP && o->send_len)
		raw_send(so, o->send_len);
	if (a->sac_state == SCTP_COMM_LOST || a->sac_state == SCTP_CANT_STR_ASSOC)
		_exit(o->wants_abort ? 0 : 1);
	if (a->sac_state == SCTP_SHUTDOWN_COMP)
		_exit(o->wants_abort ? 1 : 0);
}

static void run(const struct options *o)
{
	static uint8_t buf[1 << 16];
	struct socket *so, *conn;

	raw_fd = open_udp(o);
	usrsctp_init_nothreads(0, raw_output, NULL);
	usrsctp_register_address(&raw_fd);
	so = raw_socket(o);
	conn = o->connects ? so : NULL;
	if (write(o->ready_fd, "r", 1) != 1)
		_exit(99);
	for (;;) {
		struct pollfd p = {.fd = raw_fd, .events = POLLIN};
		ssize_t n = 0;

		if (poll(&p, 1, 10) > 0)
			n = recv(raw_fd, buf, sizeof(buf), 0);
		if (n > 0)
			usrsctp_conninput(&raw_fd, buf, (size_t)n, 0);
		else
			usrsctp_handle_timers(10);
		if (!conn)
			conn = usrsctp_accept(so, NULL, NULL);
		if (conn)
			raw_events(o, conn);
	}
}

int main(int argc, char **argv)
{
	struct options o;

	if (argc != 10)
		return 2;
	o = (struct options){
		.ready_fd = atoi(argv[1]),
		.udp_port = (uint16_t)atoi(argv[2]),
		.local = argv[3],
		.remote = argv[4],
		.sctp_port = (uint16_t)atoi(argv[5]),
		.adaptation = atoi(argv[6]),
		.connects = atoi(argv[7]),
		.send_len = (uint32_t)atoi(argv[8]),
		.wants_abort = atoi(argv[9]),
	};
	alarm(30); /* limits its life after a failed test */
	run(&o);
	return 0;
}
