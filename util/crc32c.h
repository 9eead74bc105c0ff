/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC32c (Castagnoli), the checksum of SCTP packets. The program chooses the fastest
 * implementation that this processor supports when it starts.
 */
#ifndef UTIL_CRC32C_H
#define UTIL_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The CRC of len bytes; that of "123456789" is 0xe3069283, that of no bytes is 0. */
uint32_t crc32c(const void *p, size_t len);

/* The CRC of A||p, where crc is that of A. */
uint32_t crc32c_extend(uint32_t crc, const void *p, size_t len);

/* Copies len bytes and returns the CRC of A||copy, where crc is that of A. The sum is taken of the
 * copy, so that it is right even if someone changes the source meanwhile. No overlap. */
uint32_t crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len);

/* The CRC of A||B, where a and b are the CRCs of A and B and B has len_b bytes. Costs a
 * multiplication for each hexadecimal digit of len_b: about 4 ns each with PCLMULQDQ (15 ns up to
 * 64 KiB), else about 50 ns. */
uint32_t crc32c_combine(uint32_t a, uint32_t b, size_t len_b);

/* Computes the checksum of an SCTP packet of at least 12 bytes and stores it in its header. */
void crc32c_seal(uint8_t *pkt, size_t len);

/* True if the checksum of an SCTP packet of at least 12 bytes is correct. Clears the field. */
bool crc32c_check(uint8_t *pkt, size_t len);

struct crc32c_impl {
	const char *name;
	bool (*usable)(void); /* on this processor */
	uint32_t (*extend)(uint32_t crc, const void *p, size_t len);
	uint32_t (*combine)(uint32_t a, uint32_t b, size_t len_b);
};

/* All implementations in this build, the fastest first, the table last. */
const struct crc32c_impl *crc32c_impls(unsigned *ret_n);

#endif
