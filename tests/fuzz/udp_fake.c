/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/udp_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "llp/route.h"
#include "tests/fuzz/fuzz.h"
#include "util/addr.h"

enum { QUEUE = 8, PACKET = 4096 };

struct udp {
	struct sockaddr_storage local;
	struct {
		struct sockaddr_storage from;
		size_t len;
		uint8_t b[PACKET];
	} in[QUEUE];
	unsigned nin;
	struct sockaddr_storage error_of;
	int error;
	uint32_t mtu;
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

void udp_fake_error(const struct sockaddr_storage *to, int err, uint32_t mtu)
{
	udp_fake->error_of = *to;
	udp_fake->error = err;
	udp_fake->mtu = mtu;
}

/* ---- llp/udp.h ---- */

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

void udp_send(struct udp *u, struct udp_flow *f, const void *pkt, size_t len)
{
	must(u == udp_fake && f->tolen == addr_len(&f->to) && len > 0 && len <= UDP_MAX_PACKET);
	udp_fake_sent(&f->to, pkt, len);
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

void udp_forget(struct udp *u, struct udp_flow *f)
{
	must(u == udp_fake && !f->open);
}

/* Each in memory of exactly its size, so that sanitizers detect reads after its end. */
unsigned udp_recv(struct udp *u, unsigned budget, udp_packet_fn *fn, void *arg)
{
	unsigned n = u->nin;

	must(budget > 0);
	for (unsigned i = 0; i < n; i++) {
		uint8_t *exact = malloc(u->in[i].len + !u->in[i].len);

		must(exact);
		memcpy(exact, u->in[i].b, u->in[i].len);
		fn(arg, &u->in[i].from, exact, u->in[i].len);
		free(exact);
	}
	u->nin = 0;
	return n;
}

void udp_errors(struct udp *u, udp_error_fn *fn, void *arg)
{
	int err = u->error;

	u->error = 0;
	if (err)
		fn(arg, &u->error_of, err, u->mtu);
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
