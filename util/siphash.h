/* SPDX-License-Identifier: BSD-2-Clause */
/* SipHash-2-4 (Aumasson and Bernstein): a keyed hash for tables that unknown peers fill, and, with
 * 128 bits of output, a message authentication code. The key has to be random and secret. */
#ifndef UTIL_SIPHASH_H
#define UTIL_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of len bytes as a number, or as 16 bytes in the order of the reference code. */
uint64_t siphash64(const uint64_t key[2], const void *p, size_t len);
void siphash128(const uint64_t key[2], const void *p, size_t len, uint8_t ret[16]);

#endif
