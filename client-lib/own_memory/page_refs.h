/* SPDX-License-Identifier: BSD-2-Clause */
/* How many regions use each byte of a file: an interval set with a count for each interval. */
#ifndef DDP_PAGE_REFS_H
#define DDP_PAGE_REFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From `at` to the next step, `refs` regions use each byte. */
struct page_step {
	uint64_t at;
	uint32_t refs;
};

/* All zero: empty. */
struct page_refs {
	struct page_step *steps; /* by position; neighbors differ, and the last one has no refs */
	size_t count, room;
	size_t ranges; /* added and not dropped */
};

/* Frees it, and leaves it empty. */
void page_refs_deinit(struct page_refs *p);

/* Counts a region at [start, end), which is not empty. Returns 0 or -ENOMEM. */
int page_refs_add(struct page_refs *p, uint64_t start, uint64_t end);

/* Takes back one page_refs_add() of the same range. */
void page_refs_drop(struct page_refs *p, uint64_t start, uint64_t end);

/* The first interval at or behind `from` and before `end` that no region uses, clipped to both.
 * False if there is none. */
bool page_refs_unused(const struct page_refs *p, uint64_t from, uint64_t end, uint64_t *ret_start,
		      uint64_t *ret_end);

/* True if a region uses a byte of [start, end). */
bool page_refs_any(const struct page_refs *p, uint64_t start, uint64_t end);

/* The end of the last interval before or at `at` that regions use, at most `at`; 0: there is none.
 */
uint64_t page_refs_before(const struct page_refs *p, uint64_t at);

#endif
