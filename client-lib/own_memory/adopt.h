/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves areas to the sparse file and back while the program runs, whatever other threads do. The
 * area may contain the stack of the calling thread. */
#ifndef DDP_ADOPT_H
#define DDP_ADOPT_H

#include <stdbool.h>

#include "client-lib/base/maps.h"
#include "client-lib/own_memory/sparse.h"

/* The state of several moves. */
struct adopt {
	const struct sparse *file;
	int uffd;    /* -1: no other thread accesses the pages */
	int pagemap; /* -1: cannot be read */
};

/* Prepares moves. in: to the file, otherwise back. alone: no other thread accesses the pages.
 * Returns 0, or a negative errno value if other threads do and this system cannot stop them. */
int adopt_begin(const struct sparse *file, bool in, bool alone, struct adopt *ret);

/* Moves an area of private pages to `offset` of the file. Unless alone, the pages must not belong
 * to a file. Returns 0, or a negative errno value after which a part may have moved. */
int adopt_area(const struct adopt *a, const struct maps_area *area, uint64_t offset);

/* Moves an area of the file back to private memory, likewise. */
int adopt_return(const struct adopt *a, const struct maps_area *area);

/* Closes the files of adopt_begin(). */
void adopt_end(struct adopt *a);

#endif
