/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Short copies of memory that was written a moment ago, one word at a time.
 *
 * A processor hands a store on to a later load only if the load lies within it. A wider load waits
 * until the stores before it have left for the cache, and those to memory that another processor
 * reads leave slowly. Compilers join the members of a struct into wide loads; words_apart() keeps
 * two words apart. It also keeps a loop from becoming `rep movs`, which begins slowly. The gain is
 * small: with memcpy() 0.95 of the Writes of 64 bytes, 0.91 to 1.03, and as many Sends.
 */
#ifndef UTIL_WORDS_H
#define UTIL_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The value is in a register of its own. */
#define words_apart(value) __asm__("" : "+r"(value))

/* Copies len bytes, a multiple of 8. The two do not overlap. */
static inline void words_copy(void *to, const void *from, size_t len)
{
	for (size_t i = 0; i < len; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, (const char *)from + i, sizeof(word));
		words_apart(word);
		memcpy((char *)to + i, &word, sizeof(word));
	}
}

#endif
