/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An intrusive ordered tree: a peer that chooses the keys cannot make an operation cost more than
 * O(log n).
 */
#ifndef SCTP_TREE_H
#define SCTP_TREE_H

#include <stdint.h>

/* Lives in the object. The key is set before it is inserted, and unique. */
struct sctp_tree_node {
	struct sctp_tree_node *left, *right;
	uint64_t key;
	unsigned level;
};

struct sctp_tree {
	struct sctp_tree_node *root; /* NULL: empty */
};

/* The key must not be in the tree. */
void sctp_tree_insert(struct sctp_tree *t, struct sctp_tree_node *n);

/* The node must be in the tree. */
void sctp_tree_remove(struct sctp_tree *t, struct sctp_tree_node *n);

/* The node with the greatest key up to `key`, with exactly that key, or with the least key. NULL:
 * there is none. */
struct sctp_tree_node *sctp_tree_at_most(const struct sctp_tree *t, uint64_t key);
struct sctp_tree_node *sctp_tree_find(const struct sctp_tree *t, uint64_t key);
struct sctp_tree_node *sctp_tree_first(const struct sctp_tree *t);

#endif
