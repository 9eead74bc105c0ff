/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libusrsctp without threads, with its default times and a clock of its own: host.h. The library
 * asks for the time by gettimeofday(), and finds ours.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <usrsctp.h>

#include "tests/interop/host.h"

enum { TICK = 10 }; /* ms of its timers */

static int token; /* its address */
static struct socket *listener, *assoc;
static uint64_t now_ms = 1000000000;

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict ret,
							void *restrict zone)
{
	(void)zone;
	*ret = (struct timeval){(time_t)(now_ms / 1000), (suseconds_t)(now_ms % 1000 * 1000)};
	return 0;
}

static int output(void *addr, void *p, size_t n, uint8_t tos, uint8_t df)
{
	(void)addr;
	(void)tos;
	(void)df;
	host_put(p, n);
	return 0;
}

static struct sockaddr_conn address(uint16_t port)
{
	return (struct sockaddr_conn){
		.sconn_family = AF_CONN, .sconn_port = htons(port), .sconn_addr = &token};
}

static struct socket *make(uint16_t port)
{
	struct socket *so = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	struct sctp_event e = {.se_type = SCTP_ASSOC_CHANGE, .se_on = 1};
	struct sctp_setadaptation ad = {.ssb_adaptation_ind = 1};
	struct sockaddr_conn a = address(port);
	const int on = 1;

	if (!so)
		host_die("usrsctp_socket");
	usrsctp_set_non_blocking(so, 1);
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_EVENT, &e, sizeof(e));
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, &ad, sizeof(ad));
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof(on));
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_REUSE_PORT, &on, sizeof(on));
	if (usrsctp_bind(so, (struct sockaddr *)&a, sizeof(a)))
		host_die("usrsctp_bind");
	return so;
}

static void note(const struct sctp_assoc_change *c)
{
	if (c->sac_type != SCTP_ASSOC_CHANGE)
		return;
	if (c->sac_state == SCTP_COMM_UP)
		host_event("up", 0);
	else if (c->sac_state == SCTP_RESTART) {
		host_event("down", 0);
		host_event("up", 0);
	} else
		host_event("down", 0);
}

static void take(struct socket *so)
{
	static uint8_t buf[1 << 17];
	struct sctp_rcvinfo info;
	socklen_t len = sizeof(info);
	unsigned type;
	int flags = 0;
	ssize_t n;

	while ((n = usrsctp_recvv(so, buf, sizeof(buf), NULL, NULL, &info, &len, &type, &flags)) >
	       0) {
		if (flags & MSG_NOTIFICATION)
			note((void *)buf);
		else
			host_event("data", (size_t)n);
		len = sizeof(info);
		flags = 0;
	}
}

static void poll_stack(void)
{
	struct socket *so;

	while (listener && (so = usrsctp_accept(listener, NULL, NULL)))
		assoc = so;
	if (assoc)
		take(assoc);
}

static void packet(unsigned port, uint8_t *p, size_t n)
{
	(void)port;
	usrsctp_conninput(&token, p, n, 0);
	poll_stack();
}

static unsigned wait_ms(unsigned ms)
{
	const unsigned before = host_packets();
	unsigned passed = 0;

	while (passed < ms && host_packets() == before) {
		now_ms += TICK;
		usrsctp_handle_timers(TICK);
		poll_stack();
		passed += TICK;
	}
	return passed;
}

static void connect_peer(void)
{
	struct sockaddr_conn a = address(HOST_PEER);

	usrsctp_close(listener);
	listener = NULL;
	assoc = make(HOST_PORT);
	if (usrsctp_connect(assoc, (struct sockaddr *)&a, sizeof(a)) && errno != EINPROGRESS)
		host_die("usrsctp_connect");
}

static void send_messages(unsigned n, unsigned len)
{
	static const uint8_t data[1 << 16];
	struct sctp_sndinfo info = {.snd_flags = SCTP_UNORDERED, .snd_ppid = htonl(16)};

	while (n--)
		if (!assoc || usrsctp_sendv(assoc, data, len, NULL, 0, &info, sizeof(info),
					    SCTP_SENDV_SNDINFO, 0) < 0)
			host_die("usrsctp_sendv");
}

static void shutdown_assoc(void)
{
	if (assoc)
		usrsctp_shutdown(assoc, SHUT_WR);
}

static void abort_assoc(void)
{
	struct linger l = {.l_onoff = 1};

	if (!assoc)
		return;
	usrsctp_setsockopt(assoc, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	usrsctp_close(assoc);
	assoc = NULL;
}

int main(void)
{
	static const struct host_ops ops = {packet,        wait_ms,        connect_peer,
					    send_messages, shutdown_assoc, abort_assoc};

	usrsctp_init_nothreads(0, output, NULL);
	usrsctp_register_address(&token);
	listener = make(HOST_PORT);
	if (usrsctp_listen(listener, 5))
		host_die("usrsctp_listen");
	return host_run(&ops);
}
