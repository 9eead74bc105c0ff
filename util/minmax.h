/* SPDX-License-Identifier: BSD-2-Clause */
/* The smaller and the larger of two numbers, one function for each type that needs it: arguments
 * are evaluated once, and the compiler reports those that do not fit. */
#ifndef UTIL_MINMAX_H
#define UTIL_MINMAX_H

#include <stddef.h>
#include <stdint.h>

static inline uint16_t min_u16(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
