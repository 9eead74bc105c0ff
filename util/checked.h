/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds by subtraction. Offsets and lengths come from peers and clients: a sum of two of them may
 * wrap, a difference of two checked ones cannot.
 */
#ifndef UTIL_CHECKED_H
#define UTIL_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/* True if [off, off + len) is within [0, size). */
static inline bool checked_range(uint64_t off, uint64_t len, uint64_t size)
{
	return len <= size && off <= size - len;
}

/* True if a + b is 2^64 or more. */
static inline bool checked_add_wraps(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a;
}

/* True if n is a power of two. */
static inline bool checked_pow2(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* n rounded up to a multiple of `to`, a power of two. The result must fit 64 bits. */
static inline uint64_t checked_round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

#endif
