/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A contiguous range of memory, and copies between lists of ranges. Same layout as struct iovec;
 * the protocol core includes no system header.
 */
#ifndef UTIL_SPAN_H
#define UTIL_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "util/words.h"

struct span {
	uint8_t *p;
	size_t len;
};

/* Sum of the lengths of n spans. */
static inline size_t span_total(const struct span *s, unsigned n)
{
	size_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += s[i].len;
	return sum;
}

/* Copies a list of n spans, not their bytes. Most were made just now. */
static inline void span_copy_list(struct span *to, const struct span *from, unsigned n)
{
	words_copy(to, from, n * sizeof(*to));
}

/*
 * Copies len bytes from offset `skip` of the sources to the destinations. Returns the number of
 * bytes copied: less than len only if either side is too short. The two sides may overlap, because
 * clients and peers choose them; the overlapping bytes are then unspecified.
 */
size_t span_copy(const struct span *dst, unsigned ndst, const struct span *src, unsigned nsrc,
		 size_t skip, size_t len);

#endif
