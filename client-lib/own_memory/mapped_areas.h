/* SPDX-License-Identifier: BSD-2-Clause */
/* The areas of memory that are mapped in a range, and those that map the sparse file. */
#ifndef DDP_MAPPED_AREAS_H
#define DDP_MAPPED_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/base/maps.h"
#include "client-lib/own_memory/sparse.h"

struct area_list {
	struct maps_area *at; /* in the order of addresses */
	size_t count, room;
};

struct mapped_areas {
	struct area_list range; /* the areas of the range, clipped to it */
	struct area_list ours;  /* areas of the sparse file */
	uintptr_t hole;         /* the first unmapped address of the range, or its end */
	bool all;               /* `ours` lists all areas of the file in this process */
};

/*
 * Reads the whole memory map of this process. [start, end): whole pages, perhaps none. Returns 0 or
 * a negative errno value; call mapped_areas_free() in either case.
 */
int mapped_areas_read(const struct sparse *file, uintptr_t start, uintptr_t end,
		      struct mapped_areas *ret);

/* The same, but lists only those areas of the sparse file that are at most `margin` bytes away from
 * the range. Fast even in a process with many areas if the kernel has PROCMAP_QUERY. */
int mapped_areas_near(const struct sparse *file, uintptr_t start, uintptr_t end, uintptr_t margin,
		      struct mapped_areas *ret);

/* Whether the area is a shared mapping of the sparse file. */
bool mapped_area_is_ours(const struct sparse *file, const struct maps_area *area);

/* Frees the lists. *m may be all zero. */
void mapped_areas_free(struct mapped_areas *m);

#endif
