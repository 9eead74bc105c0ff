/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens many associations to a daemon at once, from several networks of 127.0.0.0/8, and leaves.
 *
 *   storm ADDRESS SCTP-PORT N HOW
 *
 * HOW: shutdown (waits for the daemon's answers), abort, or vanish (the process ends, and says
 * nothing). Prints "open N" when all are up. Exit status 1 if one fails.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "llp/common/llp.h"
#include "util/minmax.h"

enum {
	HOSTS = 8, /* each in a network (/24) of its own */
	MOST = 4096,
	UDP_PORT = 9899,
	BUDGET = 256,
	LIMIT_S = 120,
};

static struct llp *host[HOSTS];
static struct llp_conn *conn[MOST];
static unsigned up, down;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void die(const char *what)
{
	fprintf(stderr, "storm: %s\n", what);
	exit(1);
}

/* ---- upcalls ---- */

static void *on_incoming(void *user, struct llp_conn *c)
{
	(void)user;
	(void)c;
	return NULL;
}

static void on_up(void *user)
{
	(void)user;
	up++;
}

static void on_down(void *user, int err, const char *reason)
{
	(void)user;
	if (err)
		die(reason);
	down++;
}

static bool on_readable(void *user)
{
	(void)user;
	die("a message");
	return false;
}

static void ignore(void *user)
{
	(void)user;
}

static const struct llp_events events = {
	.incoming = on_incoming,
	.up = on_up,
	.down = on_down,
	.readable = on_readable,
	.writable = ignore,
	.acked = ignore,
};

/* ---- the hosts ---- */

/* An address of the i-th network that no other process has. */
static struct llp *open_host(unsigned i)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_storage a = {0};
	struct llp_config cfg = {
		.addrs = &a,
		.naddrs = 1,
		.udp_port = UDP_PORT,
		.streams = 100,
		.adaptation = 1,
		.buffer = 1 << 20,
		.sack_packets = 2,
		.sack_ms = 20,
		.rto_min_ms = 100,
		.rto_max_ms = 5000,
		.heartbeat_ms = 5000,
		.path_max_retrans = 5,
		.init_ms = LIMIT_S * 1000,
	};
	char reason[256];

	for (unsigned tries = 0; tries < 100; tries++) {
		struct llp *t;

		in.sin_addr.s_addr =
			htonl(0x7f800000 + (i << 16) + ((unsigned)getpid() + tries * 4111) % 65536);
		memcpy(&a, &in, sizeof(in));
		if (llp_user_open(&cfg, &events, &t, reason, sizeof(reason)) == 0)
			return t;
	}
	die(reason);
	return NULL;
}

static uint64_t expiry_ms(void)
{
	uint64_t at_us = (now_ms() + 1000) * 1000;

	for (unsigned i = 0; i < HOSTS; i++)
		at_us = min_u64(at_us, llp_expiry_us(host[i]));
	return (at_us + 999) / 1000;
}

static void turn(void)
{
	struct pollfd p[HOSTS * LLP_MAX_FDS];
	unsigned n = 0;
	uint64_t at, now;

	for (unsigned i = 0; i < HOSTS; i++) {
		int fd[LLP_MAX_FDS];
		unsigned k = llp_fds(host[i], fd);

		(void)llp_input(host[i], BUDGET);
		llp_tick(host[i], now_ms());
		llp_flush(host[i]);
		while (k--)
			p[n++] = (struct pollfd){.fd = fd[k], .events = POLLIN};
	}
	at = expiry_ms();
	now = now_ms();
	poll(p, n, at > now ? (int)(at - now) : 0);
}

static void turns_until(const unsigned *counter, unsigned want)
{
	while (*counter < want)
		turn();
}

/* ---- the storm ---- */

static void open_all(const char *to, uint16_t port, unsigned n)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_storage a = {0};
	const struct llp_addrs peer = {&a, 1}, from = {NULL, 0};

	if (inet_pton(AF_INET, to, &in.sin_addr) != 1)
		die("no address");
	memcpy(&a, &in, sizeof(in));
	for (unsigned i = 0; i < n; i++)
		if (llp_connect_at(host[i % HOSTS], &peer, port, &from, 0, NULL, &conn[i]))
			die("cannot connect");
	turns_until(&up, n);
	printf("open %u\n", n);
	fflush(stdout);
}

static void leave(unsigned n, const char *how)
{
	if (strcmp(how, "vanish") == 0)
		_exit(0);
	for (unsigned i = 0; i < n && strcmp(how, "shutdown") == 0; i++)
		llp_shutdown(conn[i]);
	if (strcmp(how, "shutdown") == 0)
		turns_until(&down, n);
	for (unsigned i = 0; i < HOSTS; i++)
		llp_close(host[i]);
}

int main(int argc, char **argv)
{
	unsigned n = argc == 5 ? (unsigned)atoi(argv[3]) : 0;

	if (n == 0 || n > MOST)
		die("usage: storm ADDRESS SCTP-PORT N shutdown|abort|vanish");
	alarm(LIMIT_S);
	for (unsigned i = 0; i < HOSTS; i++)
		host[i] = open_host(i);
	open_all(argv[1], (uint16_t)atoi(argv[2]), n);
	leave(n, argv[4]);
	return 0;
}
