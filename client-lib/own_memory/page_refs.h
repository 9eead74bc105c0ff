/* SPDX-License-Identifier: BSD-2-Clause */
/* How many regions use each byte of a file: an interval set with a count for each interval. */
#ifndef DDP_PAGE_REFS_H
#define DDP_PAGE_REFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `refs` regions use each byte from `at` to the next step. */
struct page_step {
	uint64_t at;
	uint32_t refs;
};

/* All zero: empty. */
struct page_refs {
	struct page_step *steps; /* by position; neighbors differ; refs of the last one are 0 */
	size_t count, room;
	size_t ranges; /* added and not dropped */
};

/* Frees it, and leaves it empty. */
void page_refs_deinit(struct page_refs *p);

/* Counts a region at [start, end), which is not empty. Returns 0 or -ENOMEM. */
int page_refs_add(struct page_refs *p, uint64_t start, uint64_t end);

/* Undoes one page_refs_add() of the same range. */
void page_refs_drop(struct page_refs *p, uint64_t start, uint64_t end);

/* Finds the first interval of [from, end) that no region uses. False if there is none. */
bool page_refs_unused(const struct page_refs *p, uint64_t from, uint64_t end, uint64_t *ret_start,
		      uint64_t *ret_end);

/* True if a region uses a byte of [start, end). */
bool page_refs_any(const struct page_refs *p, uint64_t start, uint64_t end);

/* Returns the end of the last interval in use that begins before `at`, clipped to `at`; 0 if there
 * is none. */
uint64_t page_refs_before(const struct page_refs *p, uint64_t at);

#endif
