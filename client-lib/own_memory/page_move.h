/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves pages of this process between private memory and the sparse file, at the same address and
 * with the same bytes. A page moves as a whole or not at all, so the program keeps its bytes also
 * on failure.
 *
 * The calling thread must not write to the pages meanwhile: they hold neither its stack nor its
 * errno, and its signals are blocked.
 */
#ifndef DDP_PAGE_MOVE_H
#define DDP_PAGE_MOVE_H

#include <stdint.h>

#include "client-lib/base/maps.h"
#include "client-lib/own_memory/freeze.h"
#include "client-lib/own_memory/sparse.h"

struct page_move {
	const struct sparse *file;
	struct freeze *freeze; /* NULL: no other thread runs */
	int pagemap;           /* /proc/self/pagemap; -1: every page is copied */
};

/* Moves private pages to `offset` of the file, where the file has a hole. With `freeze` the pages
 * must not belong to a file. Untouched pages stay untouched. Returns 0, or a negative errno value
 * after which the first pages may have moved. */
int page_move_in(const struct page_move *m, const struct maps_area *area, uint64_t offset);

/*
 * Moves pages of the file back to private memory, and frees them in the file. With `freeze`, spare
 * points to untouched private pages of the same length, which are moved to the address; on failure
 * the remaining ones are unmapped. Without `freeze` it is NULL. Returns 0, or a negative errno
 * value after which the last pages may have moved.
 */
int page_move_out(const struct page_move *m, const struct maps_area *area, void *spare);

#endif
