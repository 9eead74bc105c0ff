/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that depend on who sent them, for programs of several ranks. */
#ifndef TESTS_PROGRAMS_RANK_BYTES_H
#define TESTS_PROGRAMS_RANK_BYTES_H

#include <stdint.h>

static inline uint8_t rank_byte(int seed, int i)
{
	return (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

static inline void fill(uint8_t *to, int n, int seed)
{
	for (int i = 0; i < n; i++)
		to[i] = rank_byte(seed, i);
}

static inline int same(const uint8_t *came, int n, int seed)
{
	for (int i = 0; i < n; i++)
		if (came[i] != rank_byte(seed, i))
			return 0;
	return 1;
}

#endif
