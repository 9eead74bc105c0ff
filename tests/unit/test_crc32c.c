/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "util/crc32c.h"

enum { MAX = 70000 };

static uint8_t buf[MAX + 16];

static void fill(void)
{
	srand(1);
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)rand();
}

/* RFC 3720 appendix B.4 prints the values in memory order, least significant byte first. */
static void expect(const char *what, const void *p, size_t len, uint32_t want)
{
	unsigned n;
	const struct crc32c_impl *impls = crc32c_impls(&n);

	cr_assert_eq(crc32c(p, len), want, "%s: %08x", what, crc32c(p, len));
	for (unsigned i = 0; i < n; i++)
		if (impls[i].usable())
			cr_assert_eq(impls[i].extend(0, p, len), want, "%s by %s: %08x", what,
				     impls[i].name, impls[i].extend(0, p, len));
}

Test(crc32c, has_the_known_values)
{
	uint8_t a[32];

	expect("check value", "123456789", 9, 0xe3069283);
	expect("nothing", "", 0, 0);
	memset(a, 0, sizeof(a));
	expect("32 bytes of 00", a, sizeof(a), 0x8a9136aa);
	memset(a, 0xff, sizeof(a));
	expect("32 bytes of ff", a, sizeof(a), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		a[i] = (uint8_t)i;
	expect("00 to 1f", a, sizeof(a), 0x46dd794e);
	for (int i = 0; i < 32; i++)
		a[i] = (uint8_t)(31 - i);
	expect("1f to 00", a, sizeof(a), 0x113fdb5c);
}

Test(crc32c, has_the_known_value_of_an_iscsi_read_command)
{
	uint8_t pdu[48] = {[0] = 0x01,  [1] = 0xc0,  [16] = 0x14, [22] = 0x04,
			   [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02};

	expect("iSCSI read", pdu, sizeof(pdu), 0xd9963a56);
}

Test(crc32c, is_the_same_in_every_implementation_at_any_length_and_alignment)
{
	unsigned n;
	const struct crc32c_impl *impls = crc32c_impls(&n);
	const struct crc32c_impl *table = &impls[n - 1];

	fill();
	for (int round = 0; round < 2000; round++) {
		size_t len = (size_t)rand() % (round % 10 ? 300 : MAX);
		const uint8_t *p = buf + rand() % 16;
		uint32_t want = table->extend(0, p, len);

		for (unsigned i = 0; i + 1 < n; i++)
			if (impls[i].usable())
				cr_assert_eq(impls[i].extend(0, p, len), want, "%s, %zu bytes",
					     impls[i].name, len);
	}
}

#ifdef __x86_64__
/* Registers whose upper half is not 0. The caller has AVX. */
__attribute__((target("avx"), noinline)) static unsigned upper_halves_in_use(void)
{
	static uint8_t ymm[8][16];
	static const uint8_t zero[16];
	unsigned n = 0;

#define STORE(i) __asm__ volatile("vextractf128 $1, %%ymm" #i ", %0" : "=m"(ymm[i]))
	STORE(0);
	STORE(1);
	STORE(2);
	STORE(3);
	STORE(4);
	STORE(5);
	STORE(6);
	STORE(7);
#undef STORE
	for (unsigned i = 0; i < 8; i++)
		n += memcmp(ymm[i], zero, sizeof(zero)) != 0;
	return n;
}

Test(crc32c, leaves_no_upper_half_of_a_vector_register_in_use)
{
	uint32_t sum = 0;

	if (!__builtin_cpu_supports("avx"))
		cr_skip_test("no AVX");
	fill();
	for (size_t len = 1; len < 20000; len += len / 3 + 1) {
		sum ^= crc32c(buf, len);
		cr_assert_eq(upper_halves_in_use(), 0, "after %zu bytes", len);
	}
	cr_assert_neq(sum, 0);
}
#endif

Test(crc32c, lists_the_portable_implementation_last)
{
	unsigned n;
	const struct crc32c_impl *impls = crc32c_impls(&n);

	cr_assert_str_eq(impls[n - 1].name, "table");
	cr_assert(impls[n - 1].usable());
}

Test(crc32c, of_two_parts_is_that_of_the_whole_in_every_implementation)
{
	unsigned n;
	const struct crc32c_impl *impls = crc32c_impls(&n);

	fill();
	for (int round = 0; round < 2000; round++) {
		size_t len = (size_t)rand() % (round % 10 ? 300 : MAX),
		       at = (size_t)rand() % (len + 1);
		uint32_t want = crc32c(buf, len), a = crc32c(buf, at);
		uint32_t b = crc32c(buf + at, len - at);

		for (unsigned i = 0; i < n; i++) {
			if (!impls[i].usable())
				continue;
			cr_assert_eq(impls[i].extend(a, buf + at, len - at), want, "%s: %zu + %zu",
				     impls[i].name, at, len - at);
			cr_assert_eq(impls[i].combine(a, b, len - at), want, "%s: %zu + %zu",
				     impls[i].name, at, len - at);
		}
		cr_assert_eq(crc32c_extend(a, buf + at, len - at), want);
		cr_assert_eq(crc32c_combine(a, b, len - at), want);
	}
}

/* Three parts of 2^k bytes of zeros each: (A||B)||C is A||(B||C), far beyond what fits in memory.
 */
Test(crc32c, of_very_long_parts_is_combined_in_any_order)
{
	uint32_t zeros = crc32c("", 1), a = crc32c("123456789", 9);

	for (unsigned k = 0; k < 8 * sizeof(size_t) - 1; k++) {
		size_t len = (size_t)1 << k;
		uint32_t twice = crc32c_combine(zeros, zeros, len);

		cr_assert_eq(crc32c_combine(crc32c_combine(a, zeros, len), zeros, len),
			     crc32c_combine(a, twice, 2 * len), "2^%u bytes", k);
		zeros = twice;
	}
}

Test(crc32c, of_a_part_and_nothing_is_that_of_the_part)
{
	cr_assert_eq(crc32c_combine(0xe3069283, 0, 0), 0xe3069283);
	cr_assert_eq(crc32c_combine(0, 0xe3069283, 9), 0xe3069283);
	cr_assert_eq(crc32c_extend(0xe3069283, "", 0), 0xe3069283);
	cr_assert_eq(crc32c_copy(0xe3069283, buf, "", 0), 0xe3069283);
}

Test(crc32c, copy_copies_everything_and_nothing_more)
{
	static const size_t lens[] = {1, 7, 8, 63, 4095, 4096, 4097, 8192, 65519, MAX / 2};
	static uint8_t to[MAX];

	fill();
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i];

		memset(to, 0xa5, sizeof(to));
		cr_assert_eq(crc32c_copy(crc32c("head", 4), to + 1, buf + 3, len),
			     crc32c_extend(crc32c("head", 4), buf + 3, len), "%zu bytes", len);
		cr_assert_arr_eq(to + 1, buf + 3, len);
		cr_assert_eq(to[0], 0xa5);
		cr_assert_eq(to[len + 1], 0xa5, "%zu bytes", len);
	}
}

Test(crc32c, is_stored_least_significant_byte_first)
{
	uint8_t pkt[16] = {0x13, 0xb3, 0x13, 0xb3, 1, 2, 3, 4, 0xde, 0xad, 0xbe, 0xef, 11, 0, 0, 4};
	uint8_t zeroed[16];
	uint32_t c;

	memcpy(zeroed, pkt, sizeof(pkt));
	memset(zeroed + 8, 0, 4);
	c = crc32c(zeroed, sizeof(zeroed));
	crc32c_seal(pkt, sizeof(pkt));
	cr_assert_eq(pkt[8], (uint8_t)c);
	cr_assert_eq(pkt[9], (uint8_t)(c >> 8));
	cr_assert_eq(pkt[10], (uint8_t)(c >> 16));
	cr_assert_eq(pkt[11], (uint8_t)(c >> 24));
}

Test(crc32c, detects_every_single_flipped_bit)
{
	uint8_t good[40], pkt[40];

	for (size_t i = 0; i < sizeof(good); i++)
		good[i] = (uint8_t)(i * 7);
	crc32c_seal(good, sizeof(good));
	memcpy(pkt, good, sizeof(pkt));
	cr_assert(crc32c_check(pkt, sizeof(pkt)));
	for (unsigned bit = 0; bit < 8 * sizeof(good); bit++) {
		memcpy(pkt, good, sizeof(pkt));
		pkt[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_not(crc32c_check(pkt, sizeof(pkt)), "bit %u", bit);
	}
}
