/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote UDP addresses, and what becomes of packets that come from them. A stranger gets a
 * place only by a packet that can start an association with a listener; the place is
 * given up when no association follows soon, or when too many others want one.
 */
#include "llp/user.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "llp/crc32c.h"
#include "llp/route.h"
#include "util/addr.h"
#include "util/be.h"

enum {
	HEADER = 12,    /* common header: ports, verification tag, checksum */
	CHUNK = HEADER, /* type, flags, length */
	MIN_PACKET = HEADER + 4,
	INIT_TAG = CHUNK + 4,
	MIN_INIT = 20, /* length of the chunk without options */
	PARAMETER = 4, /* shortest option: type, length */
	FLAG_T = 1,    /* the tag is the one of the packet that is answered */
};

/* ---- table ---- */

/* Keyed, so that nobody can choose addresses that share a bucket. */
static unsigned hash(const struct user *t, const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *a6 = (const void *)a;
	const struct sockaddr_in *a4 = (const void *)a;
	uint64_t w[2] = {0};
	uint64_t h = (uint64_t)addr_port(a) * (t->hash_key[0] | 1);

	if (a->ss_family == AF_INET6)
		memcpy(w, &a6->sin6_addr, sizeof(w));
	else
		memcpy(w, &a4->sin_addr, sizeof(a4->sin_addr));
	h = (h ^ h >> 32 ^ w[0]) * (t->hash_key[1] | 1);
	h = (h ^ h >> 32 ^ w[1]) * (t->hash_key[2] | 1);
	return (unsigned)((h ^ h >> 32) * (t->hash_key[3] | 1) >> 40) % USER_BUCKETS;
}

static bool same(const struct user_peer *p, const struct udp *sock,
		 const struct sockaddr_storage *to)
{
	return p->sock == sock && addr_port(&p->flow.to) == addr_port(to) &&
	       addr_same_host(&p->flow.to, to);
}

struct user_peer *llp_user_peer_find(struct user *t, const struct udp *sock,
				     const struct sockaddr_storage *to)
{
	const struct list *head;

	if (t->last && same(t->last, sock, to))
		return t->last;
	head = &t->bucket[hash(t, to)];
	list_foreach (it, head) {
		struct user_peer *p = list_entry(it, struct user_peer, bucket);

		if (same(p, sock, to))
			return t->last = p;
	}
	return NULL;
}

static void free_peer(struct user *t, struct user_peer *p)
{
	uint32_t i = p->token - 1;

	udp_forget(p->sock, &p->flow);
	if (list_linked(&p->embryo)) {
		list_del(&p->embryo);
		t->nembryos--;
	}
	list_del(&p->bucket);
	t->peer[i] = NULL;
	if (i < t->free_low)
		t->free_low = i;
	if (t->last == p)
		t->last = NULL;
	free(p);
}

static int take_token(struct user *t, struct user_peer *p)
{
	uint32_t i = t->free_low;

	while (i < USER_MAX_PEERS && t->peer[i])
		i++;
	t->free_low = i;
	if (i == USER_MAX_PEERS)
		return -ENOSPC;
	t->peer[i] = p;
	t->free_low = i + 1;
	if (i >= t->npeers)
		t->npeers = i + 1;
	p->token = i + 1;
	return 0;
}

int llp_user_peer_get(struct user *t, struct udp *sock, const struct sockaddr_storage *to,
		      struct user_peer **ret)
{
	struct user_peer *p = llp_user_peer_find(t, sock, to);
	int r;

	if (p) {
		*ret = p;
		return 0;
	}
	if (t->nembryos >= USER_MAX_EMBRYOS)
		free_peer(t, list_entry(t->embryos.next, struct user_peer, embryo));
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	r = take_token(t, p);
	if (r < 0) {
		free(p);
		return r;
	}
	p->sock = sock;
	p->flow.to = *to;
	p->flow.tolen = addr_len(to);
	p->born_ms = t->now_ms;
	list_init(&p->embryo);
	list_init(&p->bucket);
	list_add_tail(&t->bucket[hash(t, to)], &p->bucket);
	list_add_tail(&t->embryos, &p->embryo);
	t->nembryos++;
	*ret = p;
	return 0;
}

/* ---- life ---- */

static int look_up(struct user *t, struct user_peer *p)
{
	struct route way;
	int r;

	r = route_find(udp_local(p->sock), &p->flow.to, &way);
	if (r < 0)
		return r;
	p->mtu = way.mtu;
	if (t->cfg.mtu && t->cfg.mtu < p->mtu)
		p->mtu = t->cfg.mtu;
	if (p->mtu < USER_MIN_MTU)
		p->mtu = USER_MIN_MTU;
	p->flow.gso = udp_can_gso(p->sock) &&
		      (t->cfg.gso == LLP_GSO_ON || (t->cfg.gso == LLP_GSO_AUTO && way.gso_safe));
	return 0;
}

int llp_user_peer_ref(struct user *t, struct user_peer *p)
{
	if (p->conns == 0) {
		int r = look_up(t, p);

		if (r < 0)
			return r;
	}
	if (!t->known[p->token - 1]) {
		usrsctp_register_address(llp_user_peer_token(p));
		t->known[p->token - 1] = true;
	}
	if (p->conns++ == 0) {
		list_del(&p->embryo);
		t->nembryos--;
	}
	return 0;
}

/* It stays as an embryo for a while: usrsctp may still have to answer the peer's last packets. */
void llp_user_peer_unref(struct user *t, struct user_peer *p)
{
	if (--p->conns)
		return;
	if (t->nembryos >= USER_MAX_EMBRYOS)
		free_peer(t, list_entry(t->embryos.next, struct user_peer, embryo));
	p->born_ms = t->now_ms;
	list_add_tail(&t->embryos, &p->embryo);
	t->nembryos++;
}

void llp_user_peer_expire(struct user *t)
{
	while (!list_empty(&t->embryos)) {
		struct user_peer *p = list_entry(t->embryos.next, struct user_peer, embryo);

		if (t->now_ms - p->born_ms < USER_EMBRYO_MS)
			break;
		free_peer(t, p);
	}
}

void llp_user_peer_free_all(struct user *t)
{
	for (uint32_t i = 0; i < t->npeers; i++)
		if (t->peer[i])
			free_peer(t, t->peer[i]);
}

uint32_t llp_user_peer_packet(const struct user_peer *p)
{
	uint32_t ip = p->flow.to.ss_family == AF_INET6 ? 40 : 20;
	uint32_t n = p->mtu - ip - 8;

	if (n > UDP_MAX_PACKET)
		n = UDP_MAX_PACKET;
	return n & ~3u;
}

/* ---- packets ---- */

/* An answer of one chunk without a body, to a packet that belongs to nothing. */
static void answer(struct user *t, struct udp *sock, const struct sockaddr_storage *to,
		   const uint8_t *pkt, uint32_t tag, uint8_t type, uint8_t flags)
{
	struct udp_flow f = {.to = *to, .tolen = addr_len(to)};
	uint8_t out[MIN_PACKET] = {0};

	if (!t->refusals)
		return;
	t->refusals--;
	memcpy(out, pkt + 2, 2);
	memcpy(out + 2, pkt, 2);
	be_put32(out + 4, tag);
	out[CHUNK] = type;
	out[CHUNK + 1] = flags;
	be_put16(out + CHUNK + 2, 4);
	crc32c_seal(out, sizeof(out));
	udp_send(sock, &f, out, sizeof(out));
	udp_forget(sock, &f);
}

/* RFC 9260 section 8.4: a peer of an earlier life of ours must learn that it is alone. */
static void out_of_the_blue(struct user *t, struct udp *sock, const struct sockaddr_storage *from,
			    const uint8_t *p)
{
	uint32_t tag = be_get32(p + 4);

	switch (p[CHUNK]) {
	case SCTP_ABORT_ASSOCIATION:
	case SCTP_SHUTDOWN_COMPLETE:
	case SCTP_COOKIE_ECHO: /* its time is over: the peer has to begin anew */
	case SCTP_COOKIE_ACK:
	case SCTP_OPERATION_ERROR:
		return;
	case SCTP_SHUTDOWN_ACK:
		answer(t, sock, from, p, tag, SCTP_SHUTDOWN_COMPLETE, FLAG_T);
		return;
	default:
		answer(t, sock, from, p, tag, SCTP_ABORT_ASSOCIATION, FLAG_T);
	}
}

static size_t padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

/* usrsctp walks over the parameters of a second INIT for ever if one has length 0. */
static bool parameters_are_whole(const uint8_t *p, size_t len)
{
	while (len >= PARAMETER) {
		size_t n = be_get16(p + 2);

		if (n < PARAMETER || n > len)
			return false;
		if (padded(n) >= len)
			return true;
		p += padded(n);
		len -= padded(n);
	}
	return len == 0;
}

static bool is_init(const uint8_t *p, size_t len)
{
	size_t chunk = be_get16(p + CHUNK + 2);

	/* An INIT travels alone, with tag 0 in the header and another one within. */
	return p[CHUNK] == SCTP_INITIATION && be_get32(p + 4) == 0 && chunk >= MIN_INIT &&
	       chunk <= len - HEADER && padded(chunk) >= len - HEADER &&
	       be_get32(p + INIT_TAG) != 0 &&
	       parameters_are_whole(p + CHUNK + MIN_INIT, chunk - MIN_INIT);
}

/* The peer that a good packet came from, or NULL if the packet has been dealt with. */
static struct user_peer *sender(struct user_rx *rx, const struct sockaddr_storage *from,
				const uint8_t *p, size_t len)
{
	struct user *t = rx->user;
	struct user_peer *peer = llp_user_peer_find(t, rx->sock, from);

	if (p[CHUNK] == SCTP_INITIATION) {
		if (!is_init(p, len)) {
			t->bad_packets++;
			return NULL;
		}
		if (!llp_user_listener_find(t, rx->sock, be_get16(p + 2))) {
			answer(t, rx->sock, from, p, be_get32(p + INIT_TAG), SCTP_ABORT_ASSOCIATION,
			       0);
			return NULL;
		}
		if (!peer && llp_user_peer_get(t, rx->sock, from, &peer) < 0)
			return NULL;
		return peer;
	}
	if (!peer)
		out_of_the_blue(t, rx->sock, from, p);
	return peer;
}

void llp_user_packet(void *arg, const struct sockaddr_storage *from, uint8_t *p, size_t len)
{
	struct user_rx *rx = arg;
	struct user *t = rx->user;
	struct user_peer *peer;

	if (len < MIN_PACKET || be_get16(p) == 0 || be_get16(p + 2) == 0) {
		t->bad_packets++;
		return;
	}
	if (!crc32c_check(p, len)) {
		t->bad_crc++;
		return;
	}
	peer = sender(rx, from, p, len);
	if (!peer)
		return;
	usrsctp_conninput(llp_user_peer_token(peer), p, len, 0);
	/* Before the next packet, which may be the association's first data. */
	if (t->accepting)
		llp_user_accept(t);
}
