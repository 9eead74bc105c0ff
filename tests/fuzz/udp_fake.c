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

enum { QUEUE = 8, PACKET = 4096, QUOTE = 64 };

struct udp {
	struct sockaddr_storage local;
	struct {
		struct sockaddr_storage from;
		size_t len;
		uint8_t b[PACKET];
	} in[QUEUE];
	unsigned nin;
	bool failed;
	struct udp_error error;
	uint8_t quoted[QUOTE];
};

struct udp *udp_fake;

bool udp_fake_arrive(const struct sockaddr_storage *from, const uint8_t *p, size_t len)
{
	struct udp *u = udp_fake;

	if (!u || u->nin == QUEUE || len > PACKET)
		return false;
	u->in[u->nin].from = *from;
	u->in[u->nin].len = len;
	memcpy(u->in[u->nin++].b, p, len);
	return true;
}

void udp_fake_error(const struct udp_error *e)
{
	udp_fake->error = *e;
	udp_fake->error.len = e->len < QUOTE ? e->len : QUOTE;
	memcpy(udp_fake->quoted, e->quoted, udp_fake->error.len);
	udp_fake->failed = true;
}

/* ---- llp/user/udp.h ---- */

int udp_open(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer, struct udp **ret)
{
	struct udp *u = calloc(1, sizeof(*u));

	(void)buffer;
	must(u && !udp_fake);
	u->local = *addr;
	addr_set_port(&u->local, port);
	*ret = udp_fake = u;
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
	if (u)
		udp_fake = NULL;
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
	return false;
}

int udp_send(struct udp *u, struct udp_batch *b)
{
	static uint8_t packet[UDP_MAX_PACKET];
	const struct span *s = b->span, *end = b->span + b->nspans;
	uint32_t left = b->len, len;

	must(u == udp_fake && b->len > 0 && b->segment > 0 && b->segment <= UDP_MAX_PACKET);
	for (; left > 0; left -= len) {
		uint32_t at = 0;

		len = left < b->segment ? left : b->segment;
		for (; at < len; at += (uint32_t)s->len, s++) {
			must(s < end && s->len <= len - at);
			memcpy(packet + at, s->p, s->len);
		}
		udp_fake_sent(&b->to, packet, len);
	}
	must(s == end);
	return 0;
}

void udp_flush(struct udp *u)
{
	(void)u;
}

bool udp_blocked(const struct udp *u)
{
	(void)u;
	return false;
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
			fn(arg, &u->in[i].from, exact, u->in[i].len, u->in[i].len);
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
	return false;
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
	*ret = (struct route){.mtu = 1500};
	if (local)
		ret->src = *local;
	else if (udp_fake)
		ret->src = udp_fake->local;
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
