/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/guesses.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ddp/perr.h"

enum {
	EACH_MS = 1000, /* of a guess, and between two sessions */
	FREE_MS = GUESSES_FREE * EACH_MS,
	MOST_MS = 2 * FREE_MS, /* more guesses, by sessions that existed, are forgotten as soon */
};

void guesses_init(struct guesses *g, uint64_t key)
{
	*g = (struct guesses){.key = key};
}

int guesses_new(ssize_t (*random)(void *, size_t, unsigned), struct guesses **ret)
{
	struct guesses *g = malloc(sizeof(*g));
	uint64_t key;

	if (!g)
		return -ENOMEM;
	if (random(&key, sizeof(key), 0) != (ssize_t)sizeof(key)) {
		free(g);
		return -EIO;
	}
	guesses_init(g, key);
	*ret = g;
	return 0;
}

void guesses_free(struct guesses *g)
{
	free(g);
}

bool guesses_is_one(unsigned perr)
{
	switch (perr) {
	case PERR_ACCESS_STAG:
	case PERR_ACCESS_BOUNDS:
	case PERR_ACCESS_RIGHTS:
	case PERR_ACCESS_SCOPE:
	case PERR_ACCESS_WRAP:
	case PERR_INV_SCOPE:
	case PERR_INV_STAG:
	case PERR_TAGGED_STAG:
	case PERR_TAGGED_BOUNDS:
	case PERR_TAGGED_SCOPE:
	case PERR_TAGGED_WRAP:
		return true;
	default:
		return false;
	}
}

/* Never 0, which is a free place. */
static uint64_t prefix_of(const struct sockaddr_storage *peer)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;
	uint64_t prefix = 0;

	if (peer->ss_family == AF_INET6)
		memcpy(&prefix, &in6->sin6_addr, sizeof(prefix));
	else
		prefix = (uint64_t)ntohl(in->sin_addr.s_addr) >> 8 | UINT64_C(1) << 63;
	return prefix ? prefix : 1;
}

static struct guesses_network *place_of(struct guesses *g, uint64_t prefix)
{
	uint64_t mixed = (prefix ^ g->key) * UINT64_C(0x9e3779b97f4a7c15);

	mixed ^= mixed >> 32;
	mixed *= UINT64_C(0xd6e8feb86659fd93);
	return &g->network[(mixed >> 32) % (GUESSES_NETWORKS / GUESSES_WAY) * GUESSES_WAY];
}

static struct guesses_network *find(struct guesses *g, uint64_t prefix)
{
	struct guesses_network *n = place_of(g, prefix);

	for (unsigned i = 0; i < GUESSES_WAY; i++)
		if (n[i].prefix == prefix)
			return &n[i];
	return NULL;
}

/* Instead of the network whose guesses are forgotten first. */
static struct guesses_network *add(struct guesses *g, uint64_t prefix)
{
	struct guesses_network *n = place_of(g, prefix), *first = n;

	for (unsigned i = 1; i < GUESSES_WAY; i++)
		if (n[i].forgiven_ms < first->forgiven_ms)
			first = &n[i];
	*first = (struct guesses_network){.prefix = prefix};
	return first;
}

static bool is_slow(const struct guesses_network *n, uint64_t now_ms)
{
	return n->forgiven_ms > now_ms + FREE_MS;
}

bool guesses_count(struct guesses *g, const struct sockaddr_storage *peer, uint64_t now_ms)
{
	uint64_t prefix = prefix_of(peer);
	struct guesses_network *n;

	if (!g)
		return false;
	n = find(g, prefix);
	if (!n)
		n = add(g, prefix);
	g->counted++;
	if (n->forgiven_ms < now_ms)
		n->forgiven_ms = now_ms;
	n->forgiven_ms += EACH_MS;
	if (n->forgiven_ms > now_ms + MOST_MS)
		n->forgiven_ms = now_ms + MOST_MS;
	if (!is_slow(n, now_ms) || now_ms < n->report_ms)
		return false;
	n->report_ms = now_ms + FREE_MS;
	return true;
}

uint32_t guesses_wait(struct guesses *g, const struct sockaddr_storage *peer, uint64_t now_ms)
{
	struct guesses_network *n = g ? find(g, prefix_of(peer)) : NULL;
	uint64_t at;

	if (!n || !is_slow(n, now_ms))
		return 0;
	g->slowed++;
	at = n->session_ms < now_ms ? now_ms : n->session_ms;
	if (at + EACH_MS > now_ms + GUESSES_WAIT_MAX)
		return GUESSES_NEVER;
	n->session_ms = at + EACH_MS;
	return (uint32_t)(n->session_ms - now_ms);
}
