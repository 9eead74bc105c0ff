/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/udp_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "llp/common/route.h"
#include "tests/fuzz/fuzz.h"
#include "util/addr.h"

enum { QUEUE = 8, PACKET = 8192, QUOTE = 64, SOCKETS = 16, UDP_V4 = 28, UDP_V6 = 48 };

struct udp {
	struct sockaddr_storage local;
	struct {
		struct sockaddr_storage from;
		size_t len, segment;
		uint8_t b[PACKET];
	} in[QUEUE];
	unsigned nin;
	bool waits; /* a batch, which the fake has lost */
	bool failed;
	struct udp_error error;
	uint8_t quoted[QUOTE];
};

struct udp_fake udp_fake;

static struct udp *sock[SOCKETS];

static struct udp *receiver(void)
{
	return udp_fake.at < SOCKETS ? sock[udp_fake.at] : NULL;
}

bool udp_fake_arrive_run(const struct sockaddr_storage *from, const uint8_t *p, size_t len,
			 size_t segment)
{
	struct udp *u = receiver();

	if (!u || u->nin == QUEUE || len > PACKET)
		return false;
	u->in[u->nin].from = *from;
	u->in[u->nin].len = len;
	u->in[u->nin].segment = segment;
	memcpy(u->in[u->nin++].b, p, len);
	return true;
}

bool udp_fake_arrive(const struct sockaddr_storage *from, const uint8_t *p, size_t len)
{
	return udp_fake_arrive_run(from, p, len, len);
}

static void put_error(struct udp *u, const struct udp_error *e)
{
	u->error = *e;
	u->error.len = e->len < QUOTE ? e->len : QUOTE;
	if (u->error.len > 0)
		memcpy(u->quoted, e->quoted, u->error.len);
	u->failed = true;
}

void udp_fake_error(const struct udp_error *e)
{
	if (receiver())
		put_error(receiver(), e);
}

/* ---- llp/user/udp.h ---- */

int udp_open(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer, struct udp **ret)
{
	unsigned i = 0;

	(void)buffer;
	while (i < SOCKETS && sock[i])
		i++;
	must(i < SOCKETS);
	sock[i] = calloc(1, sizeof(*sock[i]));
	must(sock[i]);
	sock[i]->local = *addr;
	addr_set_port(&sock[i]->local, port);
	*ret = sock[i];
	return 0;
}

int udp_adopt(int fd, const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer,
	      struct udp **ret)
{
	(void)fd; /* there is no store */
	return udp_open(addr, port, buffer, ret);
}

struct udp *udp_close(struct udp *u)
{
	for (unsigned i = 0; u && i < SOCKETS; i++)
		if (sock[i] == u)
			sock[i] = NULL;
	free(u);
	return NULL;
}

int udp_fd(const struct udp *u)
{
	(void)u;
	return -1;
}

const struct sockaddr_storage *udp_local(const struct udp *u)
{
	return &u->local;
}

uint32_t udp_rcvbuf(const struct udp *u)
{
	(void)u;
	return 1 << 20;
}

bool udp_can_gso(const struct udp *u)
{
	(void)u;
	return true;
}

/* As the kernel, which leaves the MTU in the error queue. */
static bool is_too_big(struct udp *u, const struct udp_batch *b, uint32_t len)
{
	uint32_t head = b->to.ss_family == AF_INET ? UDP_V4 : UDP_V6;

	if (!udp_fake.mtu || b->fragment || len + head <= udp_fake.mtu)
		return false;
	put_error(u,
		  &(struct udp_error){.kind = UDP_TOO_BIG_LOCAL, .to = b->to, .mtu = udp_fake.mtu});
	return true;
}

int udp_send(struct udp *u, struct udp_batch *b)
{
	static uint8_t packet[UDP_MAX_PACKET];
	const struct span *s = b->span, *end = b->span + b->nspans;
	uint32_t left = b->len, len;
	int r = 0;

	must(b->len > 0 && b->segment > 0 && b->segment <= UDP_MAX_PACKET);
	b->gso = b->gso && !udp_fake.no_gso;
	for (; left > 0; left -= len) {
		len = left < b->segment ? left : b->segment;
		for (uint32_t at = 0; at < len; at += (uint32_t)s->len, s++) {
			must(s < end && s->len <= len - at);
			memcpy(packet + at, s->p, s->len);
		}
		if (udp_fake.full)
			u->waits = true;
		else if (is_too_big(u, b, len))
			r = -EMSGSIZE;
		else
			udp_fake_sent(&b->to, packet, len);
	}
	must(s == end);
	return r;
}

void udp_flush(struct udp *u)
{
	u->waits = u->waits && udp_fake.full;
}

bool udp_blocked(const struct udp *u)
{
	return u->waits;
}

/* Each in memory of its size, so that sanitizers see more. */
unsigned udp_recv(struct udp *u, unsigned budget, udp_packets_fn *fn, void *arg)
{
	unsigned n = u->nin;

	must(budget > 0);
	for (unsigned i = 0; i < n; i++) {
		uint8_t *exact = malloc(u->in[i].len + !u->in[i].len);

		must(exact);
		memcpy(exact, u->in[i].b, u->in[i].len);
		if (u->in[i].len)
			fn(arg, &u->in[i].from, exact, u->in[i].len, u->in[i].segment);
		free(exact);
	}
	u->nin = 0;
	return n;
}

void udp_errors(struct udp *u, udp_error_fn *fn, void *arg)
{
	struct udp_error e = u->error;
	uint8_t *exact;

	if (!u->failed)
		return;
	u->failed = false;
	exact = malloc(e.len + !e.len);
	must(exact);
	memcpy(exact, u->quoted, e.len);
	e.quoted = exact;
	fn(arg, &e);
	free(exact);
}

void udp_filter(struct udp *u, const struct sock_filter *f, unsigned short n)
{
	(void)u;
	(void)f;
	(void)n;
}

bool udp_crowded(const struct udp *u)
{
	(void)u;
	return udp_fake.crowded;
}

void udp_stats(const struct udp *u, struct udp_stats *ret)
{
	(void)u;
	*ret = (struct udp_stats){0};
}

int route_find(const struct sockaddr_storage *local, const struct sockaddr_storage *to,
	       struct route *ret)
{
	(void)to;
	*ret = (struct route){.mtu = 1500, .gso_safe = true};
	if (local)
		ret->src = *local;
	else if (sock[0])
		ret->src = sock[0]->local;
	addr_set_port(&ret->src, 0);
	return 0;
}

/* ---- the clock ---- */

/* It stands still: only the owner's time passes, so that an input always does the same. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
	(void)id;
	*ret = (struct timespec){.tv_sec = 1};
	return 0;
}
