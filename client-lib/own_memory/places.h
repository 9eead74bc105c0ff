/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which places of the sparse file are taken. A page that is adopted gets the place of its address,
 * in the first generation where that is free.
 *
 * Regions count the places that they use. Other places may be mapped as well: of pages that stayed
 * adopted, or that the program moved. Those are known from the last survey of the whole process,
 * and another one is made when that is not enough to tell.
 */
#ifndef DDP_PLACES_H
#define DDP_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/own_memory/page_refs.h"
#include "client-lib/own_memory/sparse.h"
#include "client-lib/own_memory/mapped_areas.h"

enum { PLACES_SHIFT = 47 /* addresses have fewer bits; the bits above are the generation */ };

struct places {
	struct page_refs refs; /* of regions */
	struct page_refs kept; /* others that may be mapped */
	bool unsure;           /* kept lacks some */
};

/* Frees it, and leaves it empty. */
void places_deinit(struct places *p);

/* From now on [start, end) may be mapped although no region uses it. */
void places_keep(struct places *p, uint64_t start, uint64_t end);

/* The same for what no region uses of all areas of a survey of the whole process, and for nothing
 * else. */
void places_learn(struct places *p, const struct area_list *ours);

/*
 * The place of [start, end), less its address: as some of its pages have it already, or that of a
 * generation that is free there. *m is the survey of the range, without holes; it becomes one of
 * the whole process if that is needed. Returns 0; -EOPNOTSUPP: the pages cannot have one place; or
 * another negative errno value, and the survey lacks areas.
 */
int places_choose(struct places *p, const struct sparse *file, uintptr_t start, uintptr_t end,
		  struct mapped_areas *m, uint64_t *ret);

#endif
