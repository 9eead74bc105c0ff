/* SPDX-License-Identifier: BSD-2-Clause */
/* Private copies of adopted pages for a child that fork() makes. */
#ifndef DDP_FORK_COPY_H
#define DDP_FORK_COPY_H

#include <stddef.h>

#include "client-lib/own_memory/mapped_areas.h"
#include "client-lib/own_memory/sparse.h"

struct fork_copy {
	/* Where the pages are mapped; in a mapping of its own, for the heap may be among them, and
	 * the parent goes on before the child reads this. NULL: nowhere. */
	struct maps_area *areas;
	size_t count;
	void *pages; /* a copy of all of them, in that order; NULL: none */
	size_t len;
};

/* Before the fork: copies the pages. Without memory for that, the child shares those pages with
 * its parent that it does not write to. */
void fork_copy_make(const struct sparse *file, struct fork_copy *ret);

/* In the child: replaces the shared pages by the copy. */
void fork_copy_use(const struct sparse *file, struct fork_copy *c);

/* In the parent: frees the copy. */
void fork_copy_free(struct fork_copy *c);

#endif
