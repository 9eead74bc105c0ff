/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Big-endian integers at any address. Every multi-byte field on the wire is in network byte order;
 * no other file swaps bytes.
 */
#ifndef UTIL_BE_H
#define UTIL_BE_H

#include <stdint.h>

static inline uint16_t be_get16(const uint8_t *p)
{
	return (uint16_t)((unsigned)p[0] << 8 | p[1]);
}

static inline uint32_t be_get32(const uint8_t *p)
{
	return (uint32_t)be_get16(p) << 16 | be_get16(p + 2);
}

static inline uint64_t be_get64(const uint8_t *p)
{
	return (uint64_t)be_get32(p) << 32 | be_get32(p + 4);
}

static inline void be_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void be_put32(uint8_t *p, uint32_t v)
{
	be_put16(p, (uint16_t)(v >> 16));
	be_put16(p + 2, (uint16_t)v);
}

static inline void be_put64(uint8_t *p, uint64_t v)
{
	be_put32(p, (uint32_t)(v >> 32));
	be_put32(p + 4, (uint32_t)v);
}

#endif
