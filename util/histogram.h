/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of values by magnitude. Bucket i has the values up to 2 to the power of i that are in no
 * earlier bucket; the last bucket has all others. Zeroed memory is an empty histogram. */
#ifndef UTIL_HISTOGRAM_H
#define UTIL_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 21, HISTOGRAM_LAST = HISTOGRAM_BUCKETS - 1 };

struct histogram {
	struct histogram_bucket {
		uint64_t n, sum; /* values, and their sum */
	} bucket[HISTOGRAM_BUCKETS];
};

static inline unsigned histogram_bucket_of(uint64_t value)
{
	unsigned i = value <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(value - 1);

	return i < HISTOGRAM_LAST ? i : HISTOGRAM_LAST;
}

static inline void histogram_add(struct histogram *h, uint64_t value)
{
	struct histogram_bucket *b = &h->bucket[histogram_bucket_of(value)];

	b->n++;
	b->sum += value;
}

/* The largest value of the bucket; 0: the last one, which has no bound. */
static inline uint64_t histogram_bound(unsigned i)
{
	return i < HISTOGRAM_LAST ? UINT64_C(1) << i : 0;
}

#endif
