/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/network.h"

#include <stdlib.h>
#include <string.h>

#include "util/be.h"
#include "util/checked.h"
#include "util/minmax.h"

enum {
	MOST_KNOWN = 65535,
	SECOND_US = 1000000,
};

static const uint8_t v4_head[12] = {[10] = 0xff, [11] = 0xff};

/* ---- prefixes ---- */

bool network_ip_is_v4(const uint8_t ip[16])
{
	return memcmp(ip, v4_head, sizeof(v4_head)) == 0;
}

void network_ip_v4(const void *v4, uint8_t ret[16])
{
	memcpy(ret, v4_head, sizeof(v4_head));
	memcpy(ret + sizeof(v4_head), v4, 4);
}

bool network_is_v4(const struct network *n)
{
	return network_ip_is_v4(n->ip);
}

static void first_address(const uint8_t ip[16], uint8_t ret[16])
{
	unsigned bytes =
		(network_ip_is_v4(ip) ? NETWORK_V4_AT + NETWORK_V4_BITS : NETWORK_V6_BITS) / 8;

	memset(ret, 0, 16);
	memcpy(ret, ip, bytes);
}

static struct list *bucket_of(struct network_table *t, const uint8_t ip[16])
{
	uint64_t mixed = (be_get64(ip) ^ t->key) * UINT64_C(0x9e3779b97f4a7c15);

	mixed ^= mixed >> 32;
	mixed = (mixed ^ be_get64(ip + 8)) * UINT64_C(0xd6e8feb86659fd93);
	return &t->bucket[(mixed >> 32) % NETWORK_BUCKETS];
}

static struct network *find_network(struct network_table *t, const uint8_t first[16])
{
	list_foreach (it, bucket_of(t, first)) {
		struct network *n = list_entry(it, struct network, link);

		if (memcmp(n->ip, first, sizeof(n->ip)) == 0)
			return n;
	}
	return NULL;
}

/* ---- limits ---- */

static bool in_prefix(const struct network_rule *r, const uint8_t ip[16])
{
	if (r->bits < NETWORK_V4_AT && network_ip_is_v4(ip))
		return false;
	for (unsigned i = 0; i < r->bits; i++)
		if ((r->ip[i / 8] ^ ip[i / 8]) & 0x80 >> i % 8)
			return false;
	return true;
}

static uint64_t most_of(const struct network_limits *l, const uint8_t ip[16],
			enum network_kind kind)
{
	uint64_t most = l->most[kind];
	int bits = -1;

	for (unsigned i = 0; i < l->nrules; i++) {
		const struct network_rule *r = &l->rule[i];

		if (!r->has[kind] || (int)r->bits <= bits || !in_prefix(r, ip))
			continue;
		bits = r->bits;
		most = r->most[kind];
	}
	return most;
}

static void set_most(struct network *n)
{
	for (unsigned kind = 0; kind < NETWORK_KINDS; kind++)
		n->most[kind] = most_of(&n->table->limits, n->ip, kind);
}

/* of a network that uses that, and has this maximum of its own. */
static uint64_t limit_at(const struct network_table *t, enum network_kind kind, uint64_t used,
			 uint64_t most)
{
	uint64_t all = t->limits.all[kind], others = t->used[kind] - used;
	uint64_t left = others < all ? all - others : 0;

	return min_u64(most, left - left / 4);
}

uint64_t network_limit(const struct network *n, enum network_kind kind)
{
	return limit_at(n->table, kind, n->used[kind], n->most[kind]);
}

void network_table_set_limits(struct network_table *t, const struct network_limits *limits)
{
	struct network *n;
	uint32_t pos = 0;

	t->limits = *limits;
	while ((n = idtab_next(&t->all, &pos)))
		set_most(n);
}

/* ---- the table ---- */

void network_table_init(struct network_table *t, uint64_t key, const struct network_limits *limits)
{
	*t = (struct network_table){.key = key, .limits = *limits};
	idtab_init(&t->all, MOST_KNOWN);
	for (unsigned i = 0; i < NETWORK_BUCKETS; i++)
		list_init(&t->bucket[i]);
}

static void forget_network(struct network *n)
{
	list_del(&n->link);
	idtab_del(&n->table->all, n->id);
	free(n);
}

void network_table_deinit(struct network_table *t)
{
	struct network *n;
	uint32_t pos = 0;

	while ((n = idtab_next(&t->all, &pos)))
		forget_network(n);
	idtab_deinit(&t->all);
}

static struct network *add_network(struct network_table *t, const uint8_t first[16])
{
	struct network *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->table = t;
	memcpy(n->ip, first, sizeof(n->ip));
	set_most(n);
	list_init(&n->link);
	if (idtab_add(&t->all, n, &n->id)) {
		free(n);
		return NULL;
	}
	list_add_tail(bucket_of(t, first), &n->link);
	return n;
}

struct network *network_hold(struct network_table *t, const uint8_t ip[16])
{
	uint8_t first[16];
	struct network *n;

	first_address(ip, first);
	n = find_network(t, first);
	if (!n)
		n = add_network(t, first);
	if (n)
		n->holders++;
	return n;
}

/* The network that is forgotten first, if more than the table keeps are not held. */
static struct network *find_surplus(struct list *bucket)
{
	struct network *first = NULL;
	unsigned idle = 0;

	list_foreach (it, bucket) {
		struct network *n = list_entry(it, struct network, link);

		if (n->holders)
			continue;
		idle++;
		if (!first || n->keep_ms < first->keep_ms)
			first = n;
	}
	return idle > NETWORK_WAY ? first : NULL;
}

void network_drop(struct network *n)
{
	struct network *surplus;

	if (!n || --n->holders > 0)
		return;
	surplus = find_surplus(bucket_of(n->table, n->ip));
	if (surplus)
		forget_network(surplus);
}

const struct network *network_table_next(const struct network_table *t, uint32_t *pos)
{
	return idtab_next(&t->all, pos);
}

/* ---- charges ---- */

static bool refuse_more(struct network *n, enum network_kind kind)
{
	struct network_table *t = n->table;

	n->refused[kind]++;
	t->refused[kind]++;
	if (t->on_refusal)
		t->on_refusal(t->user, n, kind);
	return false;
}

bool network_table_may(struct network_table *t, const uint8_t ip[16], enum network_kind kind)
{
	uint8_t first[16];
	struct network *n;

	first_address(ip, first);
	n = find_network(t, first);
	if (n)
		return network_may(n, kind, 1);
	if (limit_at(t, kind, 0, most_of(&t->limits, first, kind)) > 0)
		return true;
	t->refused[kind]++;
	return false;
}

bool network_may(struct network *n, enum network_kind kind, uint64_t amount)
{
	if (!n || checked_range(n->used[kind], amount, network_limit(n, kind)))
		return true;
	return refuse_more(n, kind);
}

bool network_charge(struct network *n, enum network_kind kind, uint64_t amount)
{
	if (!network_may(n, kind, amount))
		return false;
	if (n) {
		n->used[kind] += amount;
		n->table->used[kind] += amount;
	}
	return true;
}

uint64_t network_take(struct network *n, enum network_kind kind, uint64_t most)
{
	uint64_t limit, got;

	if (!n)
		return most;
	limit = network_limit(n, kind);
	got = n->used[kind] < limit ? min_u64(most, limit - n->used[kind]) : 0;
	n->used[kind] += got;
	n->table->used[kind] += got;
	return got;
}

void network_release(struct network *n, enum network_kind kind, uint64_t amount)
{
	if (!n)
		return;
	n->used[kind] -= amount;
	n->table->used[kind] -= amount;
}

void network_lost_datagram(struct network *n)
{
	if (!n)
		return;
	n->lost_datagrams++;
	n->table->lost_datagrams++;
}

void network_set(struct network *n, enum network_kind kind, uint64_t *has, uint64_t now)
{
	if (n) {
		n->used[kind] += now - *has;
		n->table->used[kind] += now - *has;
	}
	*has = now;
}

bool network_request(struct network *n, uint64_t now_ms)
{
	uint64_t now = now_ms * 1000, cost;

	if (!n)
		return true;
	if (n->most[NETWORK_RATE] == 0)
		return refuse_more(n, NETWORK_RATE);
	cost = SECOND_US / min_u64(n->most[NETWORK_RATE], SECOND_US);
	if (n->spent_us < now)
		n->spent_us = now;
	if (n->spent_us + cost > now + SECOND_US)
		return refuse_more(n, NETWORK_RATE);
	n->spent_us += cost;
	return true;
}
