/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Floods a daemon with packets of peers that it does not know, as fast as one core can.
 *
 *   flooder KIND ADDRESS UDP-PORT SCTP-PORT SECONDS [PEER PEER-SCTP-PORT]
 *
 * KIND: init, cookie (one of the daemon, again and again), garbage, blue (DATA out of the blue),
 * forged (ABORT, INIT, COOKIE ECHO and garbage in the name of an association of PEER with
 * PEER-SCTP-PORT), mix (all of these in turn), spin (no packet: computes instead); and for a port
 * of DTLS: hello (of clients that show no cookie), record (of a link that nobody has), flight (a
 * piece of a handshake), dtls (these in turn), half (clients with a good cookie that do not go on,
 * each with a new hello as soon as it has one for the last). Packets come from many addresses of
 * 127.0.0.0/8, or of fd00:200::/24, which are many networks. Prints how many packets left.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "util/addr.h"
#include "util/be.h"
#include "util/crc32c.h"

enum {
	HOSTS = 256, /* sockets, each with an address in a network of its own */
	BATCH = 64,
	MOST = 1400, /* bytes of a packet */
	HEAD = 12,
	INIT = 1,
	DATA = 0,
	ABORT = 6,
	COOKIE_ECHO = 10,
	COOKIE_PARAM = 7,
};

static struct sockaddr_storage to;
static int host[HOSTS];
static uint16_t sctp_port, peer_port;
static const char *peer;
static uint8_t cookie[MOST];
static size_t cookie_len;
static uint32_t cookie_tag;
static volatile uint64_t sink;
static uint64_t seed = 88172645463325252u;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct sockaddr_storage address(const char *text, uint16_t port)
{
	struct sockaddr_storage ret = {0};
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ret;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&ret;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
	}
	return ret;
}

static void open_host(int *fd, const char *addr)
{
	struct sockaddr_storage from = address(addr, 0);
	int size = 1 << 20;

	*fd = socket(from.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	(void)setsockopt(*fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (*fd < 0 || bind(*fd, (struct sockaddr *)&from, addr_len(&from)) < 0 ||
	    connect(*fd, (struct sockaddr *)&to, addr_len(&to)) < 0) {
		fprintf(stderr, "flooder: %s: %s\n", addr, strerror(errno));
		exit(1);
	}
}

static void open_hosts(void)
{
	const char *form = to.ss_family == AF_INET ? "127.%u.%u.1" : "fd00:%u:%u::1";
	char addr[INET6_ADDRSTRLEN];

	for (unsigned i = 0; i < HOSTS; i++) {
		snprintf(addr, sizeof(addr), form, 200 + i % 50, 1 + i / 50);
		open_host(&host[i], peer ? peer : addr);
	}
}

/* ---- packets ---- */

/* Head and head of the only chunk; the rest is at most len bytes. Returns the length. */
static size_t finish(uint8_t *p, uint16_t src, uint32_t tag, uint8_t type, size_t len)
{
	uint32_t crc;

	be_put16(p, src);
	be_put16(p + 2, sctp_port);
	be_put32(p + 4, tag);
	memset(p + 8, 0, 4);
	p[12] = type;
	p[13] = type == DATA ? 7 : 0;
	be_put16(p + 14, (uint16_t)(4 + len));
	crc = crc32c(p, HEAD + 4 + len);
	memcpy(p + 8, &crc, 4);
	return HEAD + 4 + len;
}

static uint16_t source(void)
{
	return peer_port ? peer_port : (uint16_t)(1 + draw() % 65535);
}

static size_t put_init(uint8_t *p)
{
	static const uint8_t value[] = {0, 0, 0, 1, 0,    16, 0, 0, 0, 16, 0, 16,
					0, 0, 0, 1, 0xc0, 6,  0, 8, 0, 0,  0, 1};

	memcpy(p + HEAD + 4, value, sizeof(value));
	be_put32(p + HEAD + 4, (uint32_t)draw() | 1);
	return finish(p, source(), 0, INIT, sizeof(value));
}

static size_t put_cookie(uint8_t *p)
{
	memcpy(p + HEAD + 4, cookie, cookie_len);
	if (!peer)
		return finish(p, 7777, cookie_tag, COOKIE_ECHO, cookie_len);
	return finish(p, source(), (uint32_t)draw() | 1, COOKIE_ECHO, 108);
}

static size_t put_garbage(uint8_t *p)
{
	size_t len = 16 + draw() % 1200;

	for (size_t i = 0; i < len; i += 8)
		be_put64(p + i, draw());
	be_put16(p, source());
	be_put16(p + 2, sctp_port);
	return len;
}

static size_t put_blue(uint8_t *p)
{
	memset(p + HEAD + 4, 1, 60);
	return finish(p, source(), (uint32_t)draw() | 1, DATA, 60);
}

static size_t put_abort(uint8_t *p)
{
	return finish(p, source(), (uint32_t)draw() | 1, ABORT, 0);
}

/* ---- DTLS (RFC 6347) ---- */

/* A record with this type and epoch, and as many bytes behind its header. */
static size_t put_record(uint8_t *p, uint8_t type, uint16_t epoch, size_t len)
{
	p[0] = type;
	be_put16(p + 1, 0xfefd);
	be_put64(p + 3, (uint64_t)epoch << 48 | draw() >> 16);
	be_put16(p + 11, (uint16_t)len);
	return 13 + len;
}

/* A message of a handshake in one piece. */
static size_t put_message(uint8_t *p, uint8_t type, uint16_t number, size_t len)
{
	memset(p + 13, 0, 12);
	p[13] = type;
	be_put16(p + 15, (uint16_t)len);
	be_put16(p + 17, number);
	be_put16(p + 23, (uint16_t)len);
	return put_record(p, 22, 0, 12 + len);
}

static void put_random(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i += 8)
		be_put64(p + i, draw());
}

/* Version, random, no session, no cookie, one suite, no compression. */
static size_t put_hello(uint8_t *p)
{
	static const uint8_t rest[] = {0, 0, 0, 2, 0xc0, 0x2b, 1, 0};

	be_put16(p + 25, 0xfefd);
	put_random(p + 27, 32);
	memcpy(p + 59, rest, sizeof(rest));
	return put_message(p, 1, 0, 34 + sizeof(rest));
}

static size_t put_flight(uint8_t *p)
{
	put_random(p + 25, 64);
	return put_message(p, 11, 2, 64);
}

static size_t put_sealed(uint8_t *p)
{
	put_random(p + 13, 128);
	return put_record(p, 23, 1, 128);
}

typedef size_t put_fn(uint8_t *p);

struct kind {
	const char *name;
	unsigned n;
	put_fn *put[5];
};

static const struct kind kinds[] = {
	{"init", 1, {put_init}},
	{"cookie", 1, {put_cookie}},
	{"garbage", 1, {put_garbage}},
	{"blue", 1, {put_blue}},
	{"abort", 1, {put_abort}},
	{"mix", 5, {put_init, put_cookie, put_garbage, put_blue, put_abort}},
	{"forged", 4, {put_abort, put_init, put_cookie, put_garbage}},
	{"hello", 1, {put_hello}},
	{"flight", 1, {put_flight}},
	{"record", 1, {put_sealed}},
	{"dtls", 3, {put_hello, put_flight, put_sealed}},
	{"half", 0, {0}},
	{"spin", 0, {0}},
};

/* ---- the handshake that a cookie comes from ---- */

static bool take_cookie(const uint8_t *p, size_t len)
{
	if (len < HEAD + 20 || p[HEAD] != 2)
		return false;
	cookie_tag = be_get32(p + HEAD + 4);
	for (size_t at = HEAD + 20; at + 4 <= len; at += (be_get16(p + at + 2) + 3u) & ~3u) {
		if (be_get16(p + at + 2) < 4)
			return false;
		if (be_get16(p + at) != COOKIE_PARAM || at + be_get16(p + at + 2) > len)
			continue;
		cookie_len = be_get16(p + at + 2) - 4u;
		memcpy(cookie, p + at + 4, cookie_len);
		return true;
	}
	return false;
}

static void get_cookie(void)
{
	const struct timeval wait = {1, 0};
	uint8_t p[2048];
	uint16_t before = peer_port;

	peer_port = 7777;
	(void)setsockopt(host[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	for (unsigned i = 0; i < 20; i++) {
		size_t len = put_init(p);
		ssize_t n;

		if (send(host[0], p, len, 0) > 0 && (n = recv(host[0], p, sizeof(p), 0)) > 0 &&
		    take_cookie(p, (size_t)n)) {
			peer_port = before;
			return;
		}
	}
	fprintf(stderr, "flooder: no INIT ACK\n");
	exit(1);
}

/* ---- the flood ---- */

static uint64_t flood(const struct kind *k, double until)
{
	static uint8_t data[BATCH][MOST];
	struct mmsghdr m[BATCH];
	struct iovec v[BATCH];
	uint64_t sent = 0, turn = 0;

	memset(m, 0, sizeof(m));
	while (seconds() < until) {
		/* Cookies are of one host. */
		int fd = host[k->n == 1 && k->put[0] == put_cookie ? 0 : turn % HOSTS];
		int n;

		for (unsigned i = 0; i < BATCH; i++) {
			put_fn *put = k->put[(turn + i) % k->n];

			v[i] = (struct iovec){data[i], put(data[i])};
			m[i].msg_hdr.msg_iov = &v[i];
			m[i].msg_hdr.msg_iovlen = 1;
		}
		turn++;
		n = sendmmsg(fd, m, BATCH, 0);
		sent += n > 0 ? (uint64_t)n : 0;
	}
	return sent;
}

/* ---- half handshakes ---- */

enum { ASK = 44, RANDOM = 27, COOKIE = 16, COOKIE_AT = RANDOM + 32 + 1 };

static uint8_t hello[HOSTS][MOST];
static size_t hello_len[HOSTS];

/* The hello of this client again, with the cookie that it got. */
static void show_cookie(unsigned i, const uint8_t *ask)
{
	uint8_t p[MOST], *rest = p + COOKIE_AT + 1 + COOKIE;
	size_t len = hello_len[i] - (COOKIE_AT + 1);

	memcpy(p, hello[i], COOKIE_AT);
	p[COOKIE_AT] = COOKIE;
	memcpy(p + COOKIE_AT + 1, ask + ASK - COOKIE, COOKIE);
	memcpy(rest, hello[i] + COOKIE_AT + 1, len);
	len = (size_t)(rest - p) + len;
	memcpy(p + 13, hello[i] + 13, 12);
	be_put16(p + 15, (uint16_t)(len - 25));
	p[18] = 1; /* the second message */
	be_put16(p + 23, (uint16_t)(len - 25));
	be_put16(p + 11, (uint16_t)(len - 13));
	(void)send(host[i], p, len, MSG_DONTWAIT);
}

/* One turn of a client. Counts handshakes that it has begun. */
static unsigned half(unsigned i)
{
	uint8_t p[2048];
	unsigned begun = 0;

	while (recv(host[i], p, sizeof(p), MSG_DONTWAIT) > 0)
		if (p[13] == 3 && hello_len[i]) { /* HelloVerifyRequest */
			show_cookie(i, p);
			hello_len[i] = 0;
			begun++;
		}
	hello_len[i] = put_hello(hello[i]);
	(void)send(host[i], hello[i], hello_len[i], MSG_DONTWAIT);
	return begun;
}

static uint64_t flood_by_halves(double until)
{
	uint64_t begun = 0;

	while (seconds() < until)
		for (unsigned i = 0; i < HOSTS; i++)
			begun += half(i);
	return begun;
}

/* What keeps a core as busy without a packet. */
static uint64_t spin(double until)
{
	while (seconds() < until)
		for (unsigned i = 0; i < 10000; i++)
			sink += draw();
	return 0;
}

static bool sends_cookies(const struct kind *k)
{
	for (unsigned i = 0; i < k->n; i++)
		if (k->put[i] == put_cookie)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const struct kind *k = kinds;
	double until;
	uint64_t n;

	if (argc != 6 && argc != 8) {
		fprintf(stderr, "usage: flooder KIND ADDRESS UDP-PORT SCTP-PORT SECONDS [PEER "
				"PEER-SCTP-PORT]\n");
		return 2;
	}
	while (strcmp(k->name, argv[1]) != 0)
		if (++k == kinds + sizeof(kinds) / sizeof(kinds[0]))
			return 2;
	to = address(argv[2], (uint16_t)atoi(argv[3]));
	sctp_port = (uint16_t)atoi(argv[4]);
	if (argc == 8) {
		peer = argv[6];
		peer_port = (uint16_t)atoi(argv[7]);
	}
	open_hosts();
	if (!peer && sends_cookies(k))
		get_cookie();
	until = seconds() + atof(argv[5]);
	if (k->n)
		n = flood(k, until);
	else
		n = strcmp(k->name, "half") == 0 ? flood_by_halves(until) : spin(until);
	printf("%s: %llu packets in %s s\n", k->name, (unsigned long long)n, argv[5]);
	return 0;
}
