/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC32c (Castagnoli), the checksum of SCTP packets. The program chooses the fastest
 * implementation that this processor supports when it starts.
 */
#ifndef LLP_CRC32C_H
#define LLP_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The CRC of len bytes; that of "123456789" is 0xe3069283. */
uint32_t crc32c(const void *p, size_t len);

/* Computes the checksum of an SCTP packet of at least 12 bytes and stores it in its header. */
void crc32c_seal(uint8_t *pkt, size_t len);

/* True if the checksum of an SCTP packet of at least 12 bytes is correct. Clears the field. */
bool crc32c_check(uint8_t *pkt, size_t len);

struct crc32c_impl {
	const char *name;
	bool (*usable)(void); /* on this processor */
	uint32_t (*crc)(const void *p, size_t len);
};

/* All implementations in this build, the fastest first, the table last. */
const struct crc32c_impl *crc32c_impls(unsigned *ret_n);

#endif
