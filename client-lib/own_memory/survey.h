/* SPDX-License-Identifier: BSD-2-Clause */
/* What lies in a range of memory, and where the pages of the sparse file are mapped. */
#ifndef DDP_SURVEY_H
#define DDP_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/base/maps.h"
#include "client-lib/own_memory/sparse.h"

struct areas {
	struct maps_area *at; /* in the order of addresses */
	size_t count, room;
};

struct survey {
	struct areas range; /* the areas of the range, clipped to it */
	struct areas ours;  /* areas of the sparse file */
	uintptr_t hole;     /* the first address of the range that is not mapped, or its end */
	bool all;           /* ours has all of them, wherever they are */
};

/*
 * Reads the memory map. [start, end): whole pages, perhaps none. Returns 0 or a negative errno
 * value; free the survey in either case.
 */
int survey_read(const struct sparse *file, uintptr_t start, uintptr_t end, struct survey *ret);

/* The same, but of the sparse file only areas that are at most `margin` bytes away from the range.
 * This is quick, however many areas the process has, if the kernel can be asked for one. */
int survey_near(const struct sparse *file, uintptr_t start, uintptr_t end, uintptr_t margin,
		struct survey *ret);

/* Whether the area belongs to the sparse file and is shared. */
bool survey_is_ours(const struct sparse *file, const struct maps_area *area);

/* An all-zero survey is fine. */
void survey_free(struct survey *s);

#endif
