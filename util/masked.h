/* SPDX-License-Identifier: BSD-2-Clause */
/* The arithmetic of masked atomics (RFC 7306 5.1). */
#ifndef UTIL_MASKED_H
#define UTIL_MASKED_H

#include <stdint.h>

/* 5.1.1: the sum of a and b, without carry out of the bits that are set in the mask. */
static inline uint64_t masked_add(uint64_t a, uint64_t b, uint64_t mask)
{
	/* Without the top bit of each field no carry can leave it; those bits are added alone. */
	return ((a & ~mask) + (b & ~mask)) ^ ((a ^ b) & mask);
}

/* 5.1.2: the new value, or the old one if the comparison fails. */
static inline uint64_t masked_swap(uint64_t old, uint64_t data, uint64_t mask, uint64_t compare,
				   uint64_t compare_mask)
{
	if ((compare ^ old) & compare_mask)
		return old;
	return (old & ~mask) | (data & mask);
}

#endif
