/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deficit round robin: who is next, where several owners have work and each shall get the same. The
 * owners form a tree: users, their programs, the sessions of these. Siblings with work take turns.
 * A turn ends when the charges exceed the rest of it; that debt counts against the next turn.
 * So siblings that always have work get the same amounts, up to the largest charge.
 *
 * Each call costs the same, whatever the number of owners. No I/O and no clock: the caller asks for
 * the leaf that is next, does some of its work, and charges it.
 */
#ifndef UTIL_DRR_H
#define UTIL_DRR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/list.h"

/* A node of the tree. Its owner embeds it, and reads no member. */
struct drr {
	struct list link;   /* in `ready` of its parent */
	struct list ready;  /* children with work, in the order of their turns */
	struct drr *parent; /* NULL: the root */
	int64_t left;       /* of its turn; at least 1 between two calls */
	uint32_t quantum;   /* a turn of its children: their largest charge since it had no work */
	bool held;
};

/* Parent NULL: a root. */
static inline void drr_init(struct drr *n, struct drr *parent)
{
	list_init(&n->link);
	list_init(&n->ready);
	n->parent = parent;
	n->left = 1;
	n->quantum = 1;
	n->held = false;
}

/* Before a node goes: it has no work, nor has any node below it. */
static inline void drr_assert_out(const struct drr *n)
{
	list_assert_out(&n->link);
	list_assert_out(&n->ready);
}

/* A node with work: it waits for its turn, or is held. */
static inline bool drr_has_work(const struct drr *n)
{
	return list_linked(&n->link) || !list_empty(&n->ready);
}

/* Private: its turn is after those of all its siblings, and so are those of nodes above it that had
 * no work. The rest of an old turn cannot exceed a turn of today. */
static inline void drr_enter(struct drr *n)
{
	for (struct drr *p; (p = n->parent) && !n->held && !list_linked(&n->link); n = p) {
		if (n->left > p->quantum)
			n->left = p->quantum;
		list_add_tail(&p->ready, &n->link);
	}
}

/* Private: it has no turns, nor have nodes above it that have no other work. */
static inline void drr_leave(struct drr *n)
{
	for (struct drr *p; (p = n->parent) && list_linked(&n->link); n = p) {
		list_del(&n->link);
		if (!list_empty(&p->ready))
			return;
		p->quantum = 1;
	}
}

/* A leaf has work. No effect if it had. */
static inline void drr_add(struct drr *leaf)
{
	drr_enter(leaf);
}

/* A leaf has no work any more. No effect if it had none. */
static inline void drr_del(struct drr *leaf)
{
	drr_leave(leaf);
}

/* The node and all below it have no turns until drr_release(), whatever work they have. */
static inline void drr_hold(struct drr *n)
{
	drr_leave(n);
	n->held = true;
}

/* No effect if it is not held. For a node that is no leaf. */
static inline void drr_release(struct drr *n)
{
	if (!n->held)
		return;
	n->held = false;
	if (!list_empty(&n->ready))
		drr_enter(n);
}

/* The leaf below this node whose turn it is; NULL: none has work. */
static inline struct drr *drr_next(struct drr *n)
{
	struct drr *leaf = NULL;

	for (; !list_empty(&n->ready); n = leaf)
		leaf = list_entry(n->ready.next, struct drr, link);
	return leaf;
}

/* True if the next leaf of the whole tree is below this node, or is this node. */
static inline bool drr_has_turn(const struct drr *n)
{
	for (; n->parent; n = n->parent)
		if (n->parent->ready.next != &n->link)
			return false;
	return true;
}

/* Private: no sibling has work. */
static inline bool drr_is_alone(const struct drr *n)
{
	return n->parent->ready.next == &n->link && n->parent->ready.prev == &n->link;
}

/* Private: its next turn begins with its debt, and is after those of its siblings. */
static inline void drr_end_turn(struct drr *n)
{
	struct drr *p = n->parent;

	n->left += p->quantum;
	if (n->left < 1)
		n->left = 1; /* a debt of larger charges, before the others had no work */
	if (!list_linked(&n->link) || p->ready.prev == &n->link)
		return;
	list_del(&n->link);
	list_add_tail(&p->ready, &n->link);
}

/* Work of the leaf was done: this much. It may have none by now. Who is alone has no debt. Returns
 * true if that ended a turn of a node above the leaf. */
static inline bool drr_charge(struct drr *leaf, uint32_t cost)
{
	bool over = false;
	struct drr *p;

	for (struct drr *n = leaf; (p = n->parent); n = p) {
		if (drr_is_alone(n))
			continue;
		if (cost > p->quantum)
			p->quantum = cost;
		n->left -= cost;
		if (n->left > 0)
			continue;
		drr_end_turn(n);
		over |= n != leaf;
	}
	return over;
}

#endif
