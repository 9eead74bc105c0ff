/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which ranges of the sparse file hold adopted pages. The offset of a page is its address plus a
 * shift: the number of the first generation in which that offset is free.
 *
 * Regions count the ranges that they use. Other ranges may be mapped as well: those of pages that
 * stayed adopted, or that the program moved. They are known from the last time that the whole
 * memory map was read, and it is read again when that does not suffice.
 */
#ifndef DDP_ADOPTED_RANGES_H
#define DDP_ADOPTED_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/own_memory/mapped_areas.h"
#include "client-lib/own_memory/page_refs.h"
#include "client-lib/own_memory/sparse.h"

enum { ADOPTED_RANGES_SHIFT = 47 /* addresses have fewer bits; generations are the bits above */ };

struct adopted_ranges {
	struct page_refs refs; /* used by regions */
	struct page_refs kept; /* others that may be mapped */
	bool unsure;           /* kept lacks some */
};

/* Frees the ranges, and leaves *p empty. */
void adopted_ranges_deinit(struct adopted_ranges *p);

/* Notes that [start, end) may be mapped although no region uses it. */
void adopted_ranges_keep(struct adopted_ranges *p, uint64_t start, uint64_t end);

/* Replaces the notes of adopted_ranges_keep() by the areas in `ours` that no region uses. `ours`
 * lists all areas of the file in this process. */
void adopted_ranges_learn(struct adopted_ranges *p, const struct area_list *ours);

/*
 * Finds the shift for [start, end): the one that some of its pages have already, or the first one
 * that is free. *m has the areas of the range, without holes; the whole memory map is read into it
 * if that is necessary. Returns 0; -EOPNOTSUPP if the pages cannot have the same shift; or another
 * negative errno value, after which *m is incomplete.
 */
int adopted_ranges_choose(struct adopted_ranges *p, const struct sparse *file, uintptr_t start,
			  uintptr_t end, struct mapped_areas *m, uint64_t *ret_shift);

#endif
