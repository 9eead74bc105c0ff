/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_inodes.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct inode {
	dev_t dev;
	ino_t ino;
	char name[];
};

static int compare_inodes(const void *a, const void *b)
{
	const struct inode *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

const char *ddpcp_inodes_name(struct ddpcp_inodes *t, const struct stat *st, const char *name)
{
	size_t len = strlen(name) + 1;
	struct inode *n = malloc(sizeof(*n) + len), **found;

	if (!n)
		return NULL;
	n->dev = st->st_dev;
	n->ino = st->st_ino;
	memcpy(n->name, name, len);
	found = tsearch(n, &t->tree, compare_inodes);
	if (found && *found == n)
		return NULL;
	free(n);
	return found ? (*found)->name : NULL;
}

void ddpcp_inodes_free(struct ddpcp_inodes *t)
{
	while (t->tree) {
		struct inode *n = *(struct inode **)t->tree;

		tdelete(n, &t->tree, compare_inodes);
		free(n);
	}
}
