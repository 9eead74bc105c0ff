/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the tree holds exactly what was inserted, in order, and stays flat. */
#include <criterion/criterion.h>

#include "sctp/memory/tree.h"
#include "tests/sctp/memory.h"

enum { KEYS = 1000 };

static struct sctp_tree tree;
static struct sctp_tree_node item[KEYS];
static bool in[KEYS];

static unsigned depth(const struct sctp_tree_node *n)
{
	unsigned l, r;

	if (!n)
		return 0;
	l = depth(n->left);
	r = depth(n->right);
	return 1 + (l > r ? l : r);
}

static unsigned count(const struct sctp_tree_node *n)
{
	return n ? 1 + count(n->left) + count(n->right) : 0;
}

static void put(unsigned i)
{
	item[i].key = i * UINT64_C(3);
	sctp_tree_insert(&tree, &item[i]);
	in[i] = true;
}

static void take_out(unsigned i)
{
	sctp_tree_remove(&tree, &item[i]);
	in[i] = false;
}

/* All questions for one key, against the array. */
static void compare(unsigned i)
{
	unsigned least = 0, most = i + 1;

	while (most > 0 && !in[most - 1])
		most--;
	while (least < KEYS && !in[least])
		least++;
	cr_assert_eq(sctp_tree_at_most(&tree, i * UINT64_C(3) + 1),
		     most == 0 ? NULL : &item[most - 1]);
	cr_assert_eq(sctp_tree_find(&tree, i * UINT64_C(3)), in[i] ? &item[i] : NULL);
	cr_assert_null(sctp_tree_find(&tree, i * UINT64_C(3) + 1));
	cr_assert_eq(sctp_tree_first(&tree), least == KEYS ? NULL : &item[least]);
}

Test(sctp_tree, ascending_and_descending_keys_make_no_list)
{
	for (unsigned i = 0; i < KEYS; i++)
		put(i);
	cr_assert_leq(depth(tree.root), 20);
	for (unsigned i = 0; i < KEYS; i++)
		take_out(i);
	cr_assert_null(tree.root);
	for (unsigned i = KEYS; i-- > 0;)
		put(i);
	cr_assert_leq(depth(tree.root), 20);
	for (unsigned i = KEYS; i-- > 0;)
		take_out(i);
	cr_assert_null(tree.root);
}

Test(sctp_tree, random_use)
{
	uint64_t seed = 1;
	unsigned n = 0;

	for (unsigned step = 0; step < 100000; step++) {
		unsigned i = next_random(&seed) % KEYS;

		n += in[i] ? 0u - 1 : 1;
		if (in[i])
			take_out(i);
		else
			put(i);
		compare(next_random(&seed) % KEYS);
		if (step % 1000)
			continue;
		cr_assert_eq(count(tree.root), n);
		cr_assert_leq(depth(tree.root), 20);
	}
}
