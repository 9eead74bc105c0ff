/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/base/lookup.h"

#include <string.h>

#include "util/siphash.h"

static unsigned path_bucket(const struct sctp *s, const struct sctp_addr *peer, uint16_t own_port,
			    uint16_t peer_port)
{
	uint8_t key[24];

	memcpy(key, peer->ip, 16);
	memcpy(key + 16, &peer->scope, 4);
	memcpy(key + 20, &own_port, 2);
	memcpy(key + 22, &peer_port, 2);
	return (unsigned)(siphash64(s->hash_key, key, sizeof(key)) % SCTP_BUCKETS);
}

static bool same(const struct sctp_path *p, const struct sctp_flow *from, uint16_t own_port,
		 uint16_t peer_port)
{
	const struct sctp_assoc *a = p->assoc;

	return a->id.own_port == own_port && a->id.peer_port == peer_port &&
	       p->flow.covered == from->covered && sctp_addr_equal(&p->flow.peer, &from->peer) &&
	       sctp_assoc_has_local(a, from->local);
}

struct sctp_path *sctp_lookup(struct sctp *s, const struct sctp_flow *from, uint16_t own_port,
			      uint16_t peer_port)
{
	struct sctp_path *p = s->last;

	if (p && same(p, from, own_port, peer_port))
		return p;
	for (p = s->bucket[path_bucket(s, &from->peer, own_port, peer_port)]; p; p = p->hash_next)
		if (same(p, from, own_port, peer_port))
			return s->last = p;
	return NULL;
}

static struct sctp_path **bucket_head(struct sctp_path *p)
{
	struct sctp_assoc *a = p->assoc;

	return &a->s->bucket[path_bucket(a->s, &p->flow.peer, a->id.own_port, a->id.peer_port)];
}

void sctp_lookup_add(struct sctp_path *p)
{
	struct sctp_path **h = bucket_head(p);

	p->hash_next = *h;
	*h = p;
	p->hashed = true;
}

void sctp_lookup_del(struct sctp_path *p)
{
	struct sctp_path **h;

	if (!p->hashed)
		return;
	for (h = bucket_head(p); *h != p; h = &(*h)->hash_next)
		;
	*h = p->hash_next;
	p->hashed = false;
	if (p->assoc->s->last == p)
		p->assoc->s->last = NULL;
}

/* RFC 6951 5.4: packets go to the source of the peer's last valid packet. */
void sctp_learn(struct sctp_path *p, const struct sctp_flow *from)
{
	if (!sctp_addr_equal(&p->flow.peer, &from->peer))
		return;
	p->flow.udp_port = from->udp_port;
	p->flow.local = from->local;
}

/* ---- listeners are few ---- */

static bool listener_has_local(const struct sctp_listener *l, uint8_t local)
{
	if (l->s->dropped[local])
		return false;
	for (unsigned i = 0; i < l->n; i++)
		if (l->local[i] == local)
			return true;
	return l->n == 0;
}

struct sctp_listener *sctp_lookup_listener(struct sctp *s, uint16_t port, uint8_t local)
{
	list_foreach (it, &s->listeners) {
		struct sctp_listener *l = list_entry(it, struct sctp_listener, all);

		if (l->port == port && listener_has_local(l, local))
			return l;
	}
	return NULL;
}
