/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/peers.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/peer_limits.h"
#include "daemon/base/state.h"
#include "util/addr.h"
#include "util/minmax.h"

enum {
	REPORT_MS = 100000,  /* a limit of a network is reported once in that time */
	ASSOCS_MOST = 16384, /* of a transport */
};

/* ---- addresses ---- */

void peers_ip(const struct sockaddr_storage *a, uint8_t ret[16])
{
	if (a->ss_family == AF_INET6)
		memcpy(ret, &((const struct sockaddr_in6 *)a)->sin6_addr, 16);
	else
		network_ip_v4(&((const struct sockaddr_in *)a)->sin_addr, ret);
}

void peers_addr(const struct network *n, struct sockaddr_storage *ret, unsigned *ret_bits)
{
	memset(ret, 0, sizeof(*ret));
	if (network_is_v4(n)) {
		ret->ss_family = AF_INET;
		memcpy(&((struct sockaddr_in *)ret)->sin_addr, n->ip + NETWORK_V4_AT / 8, 4);
		*ret_bits = NETWORK_V4_BITS;
	} else {
		ret->ss_family = AF_INET6;
		memcpy(&((struct sockaddr_in6 *)ret)->sin6_addr, n->ip, 16);
		*ret_bits = NETWORK_V6_BITS;
	}
}

/* ---- refusals ---- */

static void report_refusal(void *user, struct network *n, enum network_kind kind)
{
	const struct peer_limits_row *row = peer_limits_row(kind);
	struct peers *p = user;
	struct worker *w = p->worker;
	struct ctl_event ev = {0};
	char addr[ADDR_TEXT_MAX];
	unsigned bits;

	if (w->now_ms < n->reported_ms[kind])
		return;
	n->reported_ms[kind] = w->now_ms + REPORT_MS;
	peers_addr(n, &ev.remote, &bits);
	snprintf(ev.reason, sizeof(ev.reason), "%s/%u has %" PRIu64 " of %" PRIu64 " %s%s%s%s",
		 addr_host_text(&ev.remote, addr), bits,
		 kind == NETWORK_RATE ? n->most[kind] : n->used[kind], network_limit(n, kind),
		 row->what, row->key ? " (peers." : "", row->key ? row->key : "",
		 row->key ? ")" : "");
	journal_add(&w->journal, w->now_ms, CTL_EVENT_PEER_LIMIT, &ev);
}

/* ---- the table ---- */

int peers_new(struct worker *w, ssize_t (*random)(void *, size_t, unsigned))
{
	struct peers *p = malloc(sizeof(*p));
	struct network_limits limits;
	uint64_t key;

	if (!p)
		return -ENOMEM;
	if (random(&key, sizeof(key), 0) != (ssize_t)sizeof(key)) {
		free(p);
		return -EIO;
	}
	*p = (struct peers){.worker = w};
	peer_limits_get(&w->daemon->cfg.peers, &limits);
	network_table_init(&p->table, key, &limits);
	network_table_init(&p->visited, key, &(struct network_limits){0});
	p->table.on_refusal = report_refusal;
	p->table.user = p;
	w->peers = p;
	return 0;
}

void peers_free(struct worker *w)
{
	if (w->peers) {
		network_table_deinit(&w->peers->table);
		network_table_deinit(&w->peers->visited);
	}
	free(w->peers);
	w->peers = NULL;
}

void peers_set_limits(struct worker *w)
{
	struct network_limits limits;

	if (!w->peers)
		return;
	peer_limits_get(&w->daemon->cfg.peers, &limits);
	network_table_set_limits(&w->peers->table, &limits);
}

struct network *peers_hold(struct worker *w, const struct sockaddr_storage *peer)
{
	uint8_t ip[16];

	if (!w->peers)
		return NULL;
	peers_ip(peer, ip);
	return network_hold(&w->peers->table, ip);
}

/* ---- guesses ---- */

bool peers_guessed(struct worker *w, struct network *n)
{
	return w->peers && guesses_count(&w->peers->guesses, n, w->now_ms);
}

uint32_t peers_wait(struct worker *w, struct network *n)
{
	return w->peers ? guesses_wait(&w->peers->guesses, n, w->now_ms) : 0;
}

/* ---- our own users ---- */

/* As the first 64 bits of an IPv6 address: networks of IPv6 may share a place, users do not. */
static struct network *hold_visited(struct worker *w, uid_t uid,
				    const struct sockaddr_storage *peer)
{
	uint8_t ip[16], key[16] = {peer->ss_family == AF_INET6 ? 6 : 4};
	uint32_t prefix = 0, user = uid;

	peers_ip(peer, ip);
	for (int i = 0; i < 8; i++)
		prefix = prefix * 31 + ip[i];
	if (peer->ss_family != AF_INET6)
		prefix = (uint32_t)ip[12] << 16 | (uint32_t)ip[13] << 8 | ip[14];
	memcpy(key + 1, &user, sizeof(user));
	key[5] = (uint8_t)(prefix >> 16);
	key[6] = (uint8_t)(prefix >> 8);
	key[7] = (uint8_t)prefix;
	return network_hold(&w->peers->visited, key);
}

bool peers_user_guessed(struct worker *w, uid_t uid, const struct sockaddr_storage *peer)
{
	struct network *n = w->peers ? hold_visited(w, uid, peer) : NULL;
	bool news = n && guesses_count(&w->peers->own_guesses, n, w->now_ms);

	network_drop(n);
	return news;
}

bool peers_user_may_ask(struct worker *w, uid_t uid, const struct sockaddr_storage *peer)
{
	struct network *n = w->peers ? hold_visited(w, uid, peer) : NULL;
	bool may = !n || guesses_may_ask(&w->peers->own_guesses, n, w->now_ms);

	network_drop(n);
	return may;
}

uint64_t peers_leave_associations(const struct worker *w)
{
	uint64_t most = w->max_conns ? w->max_conns : ASSOCS_MOST;
	uint64_t theirs = w->peers ? w->peers->table.used[NETWORK_ASSOCS] : 0;

	return min_u64(most - most / 4, theirs < most ? most - theirs : 0);
}
