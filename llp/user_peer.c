/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote UDP addresses. An address without an association is removed after a while, or when there
 * are too many of them.
 */
#include "llp/user.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "llp/route.h"
#include "util/addr.h"

/* ---- table ---- */

/* Keyed, so that an attacker cannot choose addresses that share a bucket. */
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
	if (list_linked(&p->idle)) {
		list_del(&p->idle);
		t->nidle--;
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
	if (t->nidle >= USER_MAX_IDLE)
		free_peer(t, list_entry(t->idle.next, struct user_peer, idle));
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
	p->idle_since_ms = t->sctp.now_ms;
	list_init(&p->idle);
	list_init(&p->bucket);
	list_add_tail(&t->bucket[hash(t, to)], &p->bucket);
	list_add_tail(&t->idle, &p->idle);
	t->nidle++;
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
	if (t->sctp.cfg.mtu && t->sctp.cfg.mtu < p->mtu)
		p->mtu = t->sctp.cfg.mtu;
	if (p->mtu < USER_MIN_MTU)
		p->mtu = USER_MIN_MTU;
	p->flow.gso = udp_can_gso(p->sock) && (t->sctp.cfg.gso == LLP_GSO_ON ||
					       (t->sctp.cfg.gso == LLP_GSO_AUTO && way.gso_safe));
	return 0;
}

int llp_user_peer_ref(struct user *t, struct user_peer *p)
{
	if (p->conns == 0) {
		int r = look_up(t, p);

		if (r < 0)
			return r;
	}
	if (!t->registered[p->token - 1]) {
		usrsctp_register_address(llp_user_peer_token(p));
		t->registered[p->token - 1] = true;
	}
	if (p->conns++ == 0) {
		list_del(&p->idle);
		t->nidle--;
	}
	return 0;
}

/* It is kept for a while: usrsctp may still have to answer the peer's last packets. */
void llp_user_peer_unref(struct user *t, struct user_peer *p)
{
	if (--p->conns)
		return;
	if (t->nidle >= USER_MAX_IDLE)
		free_peer(t, list_entry(t->idle.next, struct user_peer, idle));
	p->idle_since_ms = t->sctp.now_ms;
	list_add_tail(&t->idle, &p->idle);
	t->nidle++;
}

void llp_user_peer_expire(struct user *t)
{
	while (!list_empty(&t->idle)) {
		struct user_peer *p = list_entry(t->idle.next, struct user_peer, idle);

		if (t->sctp.now_ms - p->idle_since_ms < USER_IDLE_MS)
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
