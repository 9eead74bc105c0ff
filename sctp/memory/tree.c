/* SPDX-License-Identifier: BSD-2-Clause */
/* An AA tree: a red-black tree in which only right children are red (on the level of their
 * parent). */
#include "sctp/memory/tree.h"

#include <stddef.h>

typedef struct sctp_tree_node node;

static unsigned level(const node *n)
{
	return n ? n->level : 0;
}

/* A left child of the same level becomes the parent. */
static node *skew(node *n)
{
	node *l = n->left;

	if (level(l) != n->level)
		return n;
	n->left = l->right;
	l->right = n;
	return l;
}

/* Of three nodes of the same level the middle one becomes the parent, one level up. */
static node *split_level(node *n)
{
	node *r = n->right;

	if (!r || level(r->right) != n->level)
		return n;
	n->right = r->left;
	r->left = n;
	r->level++;
	return r;
}

static node *insert_below(node *n, node *add)
{
	if (!n)
		return add;
	if (add->key < n->key)
		n->left = insert_below(n->left, add);
	else
		n->right = insert_below(n->right, add);
	return split_level(skew(n));
}

void sctp_tree_insert(struct sctp_tree *t, node *n)
{
	n->left = n->right = NULL;
	n->level = 1;
	t->root = insert_below(t->root, n);
}

/* After a child lost a node. */
static node *rebalance(node *n)
{
	unsigned l = level(n->left), r = level(n->right), lower = (l < r ? l : r) + 1;

	if (lower < n->level) {
		n->level = lower;
		if (r > lower)
			n->right->level = lower;
	}
	n = skew(n);
	if (n->right) {
		n->right = skew(n->right);
		if (n->right->right)
			n->right->right = skew(n->right->right);
	}
	n = split_level(n);
	if (n->right)
		n->right = split_level(n->right);
	return n;
}

static node *unlink_first(node *n, node **ret)
{
	if (!n->left) {
		*ret = n;
		return n->right;
	}
	n->left = unlink_first(n->left, ret);
	return rebalance(n);
}

/* A node without a left child is a leaf but for a red right child. */
static node *replace(node *n)
{
	node *next, *right;

	if (!n->left)
		return n->right;
	right = unlink_first(n->right, &next);
	next->left = n->left;
	next->right = right;
	next->level = n->level;
	return rebalance(next);
}

static node *take_out(node *n, const node *out)
{
	if (n == out)
		return replace(n);
	if (out->key < n->key)
		n->left = take_out(n->left, out);
	else
		n->right = take_out(n->right, out);
	return rebalance(n);
}

void sctp_tree_remove(struct sctp_tree *t, node *n)
{
	t->root = take_out(t->root, n);
}

node *sctp_tree_at_most(const struct sctp_tree *t, uint64_t key)
{
	node *n = t->root, *best = NULL;

	while (n) {
		if (n->key <= key)
			best = n;
		n = n->key <= key ? n->right : n->left;
	}
	return best;
}

node *sctp_tree_find(const struct sctp_tree *t, uint64_t key)
{
	node *n = sctp_tree_at_most(t, key);

	return n && n->key == key ? n : NULL;
}

node *sctp_tree_first(const struct sctp_tree *t)
{
	node *n = t->root;

	while (n && n->left)
		n = n->left;
	return n;
}
