/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/crc32c.h"

#include <endian.h>
#include <string.h>

#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#endif

enum {
	POLY = 0x82f63b78u, /* reflected */
	FIELD = 8,          /* offset of the checksum in the common header */
};

static uint32_t table[8][256];

/* ---- eight tables, eight bytes a step ---- */

static void fill_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ (uint32_t)POLY : c >> 1;
		table[0][i] = c;
	}
	for (int t = 1; t < 8; t++)
		for (int i = 0; i < 256; i++)
			table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 0xff];
}

static uint32_t by_table(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t c = UINT32_MAX;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t w;

		memcpy(&w, p, 8);
		w = le64toh(w) ^ c;
		c = 0;
		for (int i = 0; i < 8; i++)
			c ^= table[7 - i][w >> 8 * i & 0xff];
	}
	while (len--)
		c = c >> 8 ^ table[0][(c ^ *p++) & 0xff];
	return ~c;
}

static bool always(void)
{
	return true;
}

/* ---- the instruction of SSE 4.2 ---- */

#ifdef __x86_64__
static bool has_sse42(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t by_sse42(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t c = UINT32_MAX;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t w;

		memcpy(&w, p, 8);
		c = __builtin_ia32_crc32di(c, w);
	}
	while (len--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return ~(uint32_t)c;
}
#endif

/* ---- ISA-L, which folds with carry-less multiplication ---- */

#ifdef HAVE_ISAL
static uint32_t by_isal(const void *data, size_t len)
{
	/* The length fits: packets are short. The library does not write. */
	return ~crc32_iscsi((unsigned char *)(uintptr_t)data, (int)len, UINT32_MAX);
}
#endif

static const struct crc32c_impl impls[] = {
#ifdef HAVE_ISAL
	{"isa-l", always, by_isal},
#endif
#ifdef __x86_64__
	{"sse4.2", has_sse42, by_sse42},
#endif
	{"table", always, by_table},
};

static uint32_t (*best)(const void *p, size_t len) = by_table;

/* Before main(), so that no call has to check. */
__attribute__((constructor)) static void choose(void)
{
	const struct crc32c_impl *i = impls;

	fill_table();
#ifdef __x86_64__
	__builtin_cpu_init();
#endif
	while (!i->usable())
		i++;
	best = i->crc;
}

const struct crc32c_impl *crc32c_impls(unsigned *ret_n)
{
	*ret_n = sizeof(impls) / sizeof(impls[0]);
	return impls;
}

uint32_t crc32c(const void *p, size_t len)
{
	return best(p, len);
}

void crc32c_seal(uint8_t *pkt, size_t len)
{
	uint32_t c;

	memset(pkt + FIELD, 0, 4);
	c = htole32(best(pkt, len));
	memcpy(pkt + FIELD, &c, 4);
}

bool crc32c_check(uint8_t *pkt, size_t len)
{
	uint32_t c;

	memcpy(&c, pkt + FIELD, 4);
	memset(pkt + FIELD, 0, 4);
	return le32toh(c) == best(pkt, len);
}
