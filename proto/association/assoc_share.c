/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose streams may send. Those of one owner are a share; the shares of an owner in several
 * associations, and owners, take turns in a tree that the owner of the associations keeps. There
 * are at most as many shares as endpoints. An association has memory for one, and takes blocks for
 * more; without a block an owner has its turns with messages of no endpoint.
 */
#include "proto/association/assoc_impl.h"

enum { SHARES = (BLOCKS_SIZE - sizeof(void *)) / sizeof(struct assoc_share) };

struct assoc_shares {
	struct assoc_shares *next;
	struct assoc_share h[SHARES];
};

static_assert(sizeof(struct assoc_shares) <= BLOCKS_SIZE, "they are in a block");

static struct assoc_share **shares_of(struct assoc *a, const struct drr *owner)
{
	return &a->shares[(uintptr_t)owner / 64 % ASSOC_OWNERS];
}

static void init_share(struct assoc *a, struct assoc_share *h, struct drr *owner)
{
	drr_init(&h->turn, owner);
	list_init(&h->held);
	h->assoc = a;
	h->endpoints = 0;
}

void assoc_shares_init(struct assoc *a)
{
	a->free_shares = &a->first;
	list_init(&a->held);
	drr_init(&a->root, NULL);
	init_share(a, &a->own, a->cfg.others ? a->cfg.others : &a->root);
}

void assoc_shares_clear(struct assoc *a)
{
	struct assoc_shares *b;

	a->free_shares = NULL;
	while ((b = a->share_blocks)) {
		a->share_blocks = b->next;
		blocks_give(a->cfg.pool, b);
	}
}

static void take_shares(struct assoc *a)
{
	struct assoc_shares *b = blocks_take(a->cfg.pool);

	if (!b)
		return;
	b->next = a->share_blocks;
	a->share_blocks = b;
	for (unsigned i = 0; i < SHARES; i++) {
		b->h[i].next = a->free_shares;
		a->free_shares = &b->h[i];
	}
}

/* NULL: there is no memory for it. */
static struct assoc_share *new_share(struct assoc *a, struct drr *owner)
{
	struct assoc_share **at = shares_of(a, owner), *h;

	if (!a->free_shares)
		take_shares(a);
	h = a->free_shares;
	if (!h)
		return NULL;
	a->free_shares = h->next;
	init_share(a, h, owner);
	h->next = *at;
	*at = h;
	return h;
}

static struct assoc_share *find_share(struct assoc *a, struct drr *owner)
{
	for (struct assoc_share *h = *shares_of(a, owner); h; h = h->next)
		if (h->turn.parent == owner)
			return h;
	return NULL;
}

static void free_share(struct assoc *a, struct assoc_share *h)
{
	struct assoc_share **at = shares_of(a, h->turn.parent);

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	h->next = a->free_shares;
	a->free_shares = h;
	list_del(&h->held);
	drr_assert_out(&h->turn);
}

/* A stream that is ready stays so. */
static void move(struct assoc *a, struct assoc_stream *s, struct assoc_share *to)
{
	bool ready = list_linked(&s->turn.link);

	if (ready)
		assoc_not_ready(a, s);
	s->share = to;
	s->turn.parent = &to->turn;
	if (ready)
		assoc_ready(a, s);
}

void assoc_share_join(struct assoc *a, struct assoc_stream *s)
{
	struct drr *owner = s->ep->owner;
	struct assoc_share *h = owner ? find_share(a, owner) : &a->own;

	if (!h)
		h = new_share(a, owner);
	if (!h)
		h = &a->own;
	h->endpoints++;
	move(a, s, h);
}

void assoc_share_part(struct assoc *a, struct assoc_stream *s)
{
	struct assoc_share *h = s->share;

	move(a, s, &a->own);
	if (--h->endpoints == 0 && h != &a->own)
		free_share(a, h);
}

struct assoc_share *assoc_share_of(const struct drr *leaf)
{
	return list_entry(leaf->parent, struct assoc_share, turn);
}

void *assoc_share_user(const struct assoc_share *h)
{
	return h->assoc->cfg.user;
}

void assoc_share_hold(struct assoc_share *h)
{
	drr_hold(&h->turn);
	if (!list_linked(&h->held))
		list_add_tail(&h->assoc->held, &h->held);
}

void assoc_share_release_all(struct assoc *a)
{
	struct list *l;

	while ((l = list_pop(&a->held)))
		drr_release(&list_entry(l, struct assoc_share, held)->turn);
}
