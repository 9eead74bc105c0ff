/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the fuzz targets. A target is one function, called by libFuzzer (scripts/fuzz) or by
 * replay.c, which passes the inputs of the corpus.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs one input, and ends the program if a promise is broken. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like assert(), but in every build. */
#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #cond);   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The unused bytes of the input. Zeros follow the last one. Numbers are big-endian. */
struct input {
	const uint8_t *p;
	size_t left;
};

static inline uint8_t in_8(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->p++;
}

static inline uint16_t in_16(struct input *in)
{
	uint16_t high = in_8(in);

	return (uint16_t)(high << 8 | in_8(in));
}

static inline uint32_t in_32(struct input *in)
{
	uint32_t high = in_16(in);

	return high << 16 | in_16(in);
}

static inline uint64_t in_64(struct input *in)
{
	uint64_t high = in_32(in);

	return high << 32 | in_32(in);
}

/* Copies n bytes, or as many as there are. Returns how many. */
static inline size_t in_copy(struct input *in, void *dst, size_t n)
{
	if (n > in->left)
		n = in->left;
	if (n > 0)
		memcpy(dst, in->p, n);
	in->p += n;
	in->left -= n;
	return n;
}

/* Fills all n bytes, the rest with zeros. */
static inline void in_fill(struct input *in, void *dst, size_t n)
{
	size_t have = in_copy(in, dst, n);

	memset((uint8_t *)dst + have, 0, n - have);
}

#endif
