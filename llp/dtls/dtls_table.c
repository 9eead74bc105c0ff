/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/siphash.h"

#define OLD_US ((uint64_t)1000000)

int dtls_table_init(struct dtls_table *t, unsigned max, const uint64_t key[2])
{
	*t = (struct dtls_table){.key = {key[0], key[1]}, .nbuckets = max + 1};
	t->bucket = calloc(t->nbuckets, sizeof(*t->bucket));
	if (!t->bucket)
		return -ENOMEM;
	for (unsigned i = 0; i < t->nbuckets; i++)
		list_init(&t->bucket[i]);
	list_init(&t->all);
	list_init(&t->writing);
	list_init(&t->waiting);
	list_init(&t->beginning);
	list_init(&t->events);
	return 0;
}

void dtls_table_deinit(struct dtls_table *t)
{
	while (!list_empty(&t->all))
		dtls_table_remove(t, list_entry(t->all.next, struct dtls_pair, all));
	free(t->bucket);
}

static struct list *flow_bucket(const struct dtls_table *t, const struct dtls_flow *flow)
{
	return &t->bucket[siphash64(t->key, flow, sizeof(*flow)) % t->nbuckets];
}

struct dtls_pair *dtls_table_find(const struct dtls_table *t, const struct dtls_flow *flow)
{
	struct list *b = flow_bucket(t, flow);

	list_foreach (it, b) {
		struct dtls_pair *p = list_entry(it, struct dtls_pair, chain);

		if (memcmp(&p->flow, flow, sizeof(*flow)) == 0)
			return p;
	}
	return NULL;
}

struct dtls_share *dtls_table_share(struct dtls_table *t, const struct dtls_flow *flow)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	size_t len = memcmp(flow->ip, mapped, sizeof(mapped)) == 0 ? sizeof(flow->ip) : 8;

	return &t->share[siphash64(t->key, flow->ip, len) % DTLS_ADDRESSES];
}

struct dtls_pair *dtls_table_add(struct dtls_table *t, const struct dtls_flow *flow, bool guest,
				 void (*fire)(struct timer *t))
{
	struct dtls_pair *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->flow = *flow;
	p->guest = guest;
	p->share = dtls_table_share(t, flow);
	p->share->links += guest;
	t->guests += guest;
	list_init(&p->writing);
	list_init(&p->waiting);
	list_init(&p->begins);
	list_init(&p->events);
	timer_init(&p->timer, fire);
	list_add_tail(flow_bucket(t, flow), &p->chain);
	list_add_tail(&t->all, &p->all);
	t->n++;
	return p;
}

void dtls_table_count(struct dtls_table *t, struct dtls_pair *p, bool counted, bool theirs,
		      uint64_t now_us)
{
	t->handshakes += counted;
	t->handshakes -= p->counted;
	t->theirs += theirs;
	t->theirs -= p->theirs;
	p->share->handshakes += theirs;
	p->share->handshakes -= p->theirs;
	if (theirs && !p->theirs)
		p->theirs_us = now_us;
	p->counted = counted;
	p->theirs = theirs;
}

static bool has_more(const struct dtls_pair *p, const struct dtls_pair *than)
{
	if (!than || p->share->handshakes > than->share->handshakes)
		return true;
	return p->share->handshakes == than->share->handshakes && than->now && !p->now;
}

/* The list begins with the oldest. */
struct dtls_pair *dtls_table_evictable(const struct dtls_table *t, unsigned others, uint64_t now_us)
{
	struct dtls_pair *v = NULL;

	list_foreach (it, &t->beginning) {
		struct dtls_pair *p = list_entry(it, struct dtls_pair, begins);

		if (p->guest && p->next->server && has_more(p, v))
			v = p;
	}
	if (!v || v->share->handshakes > others + 1)
		return v;
	return !v->now && now_us - v->theirs_us >= OLD_US ? v : NULL;
}

void dtls_pair_drop(struct dtls_link **l)
{
	dtls_link_free(*l);
	*l = NULL;
}

void dtls_table_remove(struct dtls_table *t, struct dtls_pair *p)
{
	p->share->links -= p->guest;
	t->guests -= p->guest;
	if (p->kept)
		t->dropped(t->user, p->kept);
	list_del(&p->all);
	list_del(&p->chain);
	list_del(&p->writing);
	list_del(&p->waiting);
	list_del(&p->begins);
	list_del(&p->events);
	timer_cancel(&t->timers, &p->timer);
	dtls_table_count(t, p, false, false, 0);
	dtls_pair_drop(&p->now);
	dtls_pair_drop(&p->next);
	dtls_pair_drop(&p->old);
	t->n--;
	free(p);
}
