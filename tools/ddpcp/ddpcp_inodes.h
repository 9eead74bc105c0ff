/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a tree that have several names, with the first of these that was sent. */
#ifndef TOOLS_DDPCP_INODES_H
#define TOOLS_DDPCP_INODES_H

#include <sys/stat.h>

struct ddpcp_inodes {
	void *tree;
};

/* The first name of that file; NULL if this is the first, which is kept then if there is memory. */
const char *ddpcp_inodes_name(struct ddpcp_inodes *t, const struct stat *st, const char *name);

/* Forgets all names. */
void ddpcp_inodes_free(struct ddpcp_inodes *t);

#endif
