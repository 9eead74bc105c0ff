/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/crc32c.h"

#include <endian.h>
#include <string.h>

#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#endif
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum {
	POLY = 0x82f63b78u,          /* reflected: the highest bit is the coefficient of x^0 */
	FIELD = 8,                   /* offset of the checksum in the common header */
	PIECE = 4096,                /* copied and summed in turn: it is still in the first cache */
	SHORT = 128,                 /* ISA-L needs longer to begin */
	DIGITS = 2 * sizeof(size_t), /* hexadecimal, of a length */
};

static uint32_t table[8][256];

/* power[k][d] is x^(8 * d * 16^k - 33): the factor for d * 16^k bytes. See multiply(). */
static uint32_t power[DIGITS][16];

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

/* The polynomial of 64 bits times x^32, modulo POLY. */
static uint32_t reduce_by_table(uint64_t w)
{
	uint32_t c = 0;

	for (int i = 0; i < 8; i++)
		c ^= table[7 - i][w >> 8 * i & 0xff];
	return c;
}

static uint32_t extend_by_table(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t c = ~crc;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t w;

		memcpy(&w, p, 8);
		c = reduce_by_table(le64toh(w) ^ c);
	}
	while (len--)
		c = c >> 8 ^ table[0][(c ^ *p++) & 0xff];
	return ~c;
}

/* a * b * x^33 modulo POLY: a product of reflected numbers is a bit short of 64 bits (x^1), and
 * reduce_by_table() adds x^32. The factors in power[] make up for it. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint64_t product = 0;

	for (unsigned i = 0; i < 32; i++)
		product ^= (uint64_t)a << i & -(uint64_t)(b >> i & 1);
	return reduce_by_table(product);
}

static void fill_power(void)
{
	uint32_t c = 1u << 31; /* x^0 */

	for (int exponent = 0; exponent > -33; exponent--) {
		if (exponent == 8 - 33)
			power[0][1] = c;
		c = c >> 31 ? (c ^ (uint32_t)POLY) << 1 | 1 : c << 1; /* divide by x */
	}
	for (unsigned k = 0; k < DIGITS; k++) {
		if (k > 0)
			power[k][1] = multiply(power[k - 1][15], power[k - 1][1]);
		power[k][0] = c;
		for (unsigned d = 2; d < 16; d++)
			power[k][d] = multiply(power[k][d - 1], power[k][1]);
	}
}

/* The bytes of B after A multiply the sum of A by x^(8 * len_b). */
static uint32_t combine_by_table(uint32_t a, uint32_t b, size_t len_b)
{
	for (const uint32_t(*digit)[16] = power; len_b; digit++, len_b >>= 4)
		a = multiply(a, (*digit)[len_b & 15]);
	return a ^ b;
}

/* ---- the instructions of SSE 4.2 and PCLMULQDQ ---- */

#ifdef __x86_64__
static bool has_sse42(void)
{
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

__attribute__((target("sse4.2"))) static uint32_t extend_by_sse42(uint32_t crc, const void *data,
								  size_t len)
{
	const uint8_t *p = data;
	uint64_t c = ~crc;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t w;

		memcpy(&w, p, 8);
		c = _mm_crc32_u64(c, w);
	}
	while (len--)
		c = _mm_crc32_u8((uint32_t)c, *p++);
	return ~(uint32_t)c;
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t combine_by_sse42(uint32_t a, uint32_t b,
									  size_t len_b)
{
	for (const uint32_t(*digit)[16] = power; len_b; digit++, len_b >>= 4) {
		__m128i x = _mm_cvtsi32_si128((int)a);
		__m128i y = _mm_cvtsi32_si128((int)(*digit)[len_b & 15]);
		__m128i product = _mm_clmulepi64_si128(x, y, 0);

		a = (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
	}
	return a ^ b;
}
#endif

/* ---- ISA-L, which folds with carry-less multiplication ---- */

#ifdef HAVE_ISAL
#ifdef __x86_64__
/* The library leaves the upper halves of the vector registers in use. Until they are cleared,
 * processors of several generations take some 100 ns for each change between the instructions of
 * SSE and of AVX, and there is one in every memcpy(). */
__attribute__((target("avx"))) static void clear_upper_halves(void)
{
	_mm256_zeroupper();
}
#endif

static uint32_t extend_by_isal(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (len < SHORT)
		return extend_by_sse42(crc, data, len);
#endif
	/* The length fits: packets are short. The library does not write. */
	crc = ~crc32_iscsi((unsigned char *)(uintptr_t)data, (int)len, ~crc);
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx"))
		clear_upper_halves();
#endif
	return crc;
}
#endif

static bool always(void)
{
	return true;
}

static const struct crc32c_impl impls[] = {
#ifdef __x86_64__
#ifdef HAVE_ISAL
	{"isa-l", has_sse42, extend_by_isal, combine_by_sse42},
#endif
	{"sse4.2", has_sse42, extend_by_sse42, combine_by_sse42},
#elif defined(HAVE_ISAL)
	{"isa-l", always, extend_by_isal, combine_by_table},
#endif
	{"table", always, extend_by_table, combine_by_table},
};

static const struct crc32c_impl *best = &impls[sizeof(impls) / sizeof(impls[0]) - 1];

/* Before main(), so that no call has to check. */
__attribute__((constructor)) static void choose_impl(void)
{
	const struct crc32c_impl *i = impls;

	fill_table();
	fill_power();
#ifdef __x86_64__
	__builtin_cpu_init();
#endif
	while (!i->usable())
		i++;
	best = i;
}

const struct crc32c_impl *crc32c_impls(unsigned *ret_n)
{
	*ret_n = sizeof(impls) / sizeof(impls[0]);
	return impls;
}

/* ---- */

uint32_t crc32c(const void *p, size_t len)
{
	return best->extend(0, p, len);
}

uint32_t crc32c_extend(uint32_t crc, const void *p, size_t len)
{
	return best->extend(crc, p, len);
}

uint32_t crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	const uint8_t *from = src;
	uint8_t *to = dst;

	while (len > 0) {
		size_t n = len < PIECE ? len : PIECE;

		memcpy(to, from, n);
		crc = best->extend(crc, to, n);
		to += n;
		from += n;
		len -= n;
	}
	return crc;
}

uint32_t crc32c_combine(uint32_t a, uint32_t b, size_t len_b)
{
	return best->combine(a, b, len_b);
}

void crc32c_seal(uint8_t *pkt, size_t len)
{
	uint32_t c;

	memset(pkt + FIELD, 0, 4);
	c = htole32(crc32c(pkt, len));
	memcpy(pkt + FIELD, &c, 4);
}

bool crc32c_check(uint8_t *pkt, size_t len)
{
	uint32_t c;

	memcpy(&c, pkt + FIELD, 4);
	memset(pkt + FIELD, 0, 4);
	return le32toh(c) == crc32c(pkt, len);
}
