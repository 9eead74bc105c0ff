/* SPDX-License-Identifier: BSD-2-Clause */
/* Kept messages are found by number and never overlap, whatever the order in which they leave. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rdmap/hold.h"

enum { BYTES = 4096, NUMBERS = 65536 };

static struct hold hold;
static void *memory;

static void setup(void)
{
	memory = calloc(1, hold_size(BYTES));
	cr_assert(memory);
	hold_init(&hold, memory, BYTES);
}

static void teardown(void)
{
	free(memory);
}

TestSuite(hold, .init = setup, .fini = teardown);

/* The first byte of each message tells its number, so that overlaps are seen. */
static bool add(uint16_t ssn, uint32_t len)
{
	uint8_t *p = hold_add(&hold, ssn, len);

	if (p)
		memset(p, ssn & 0xff, len);
	return p != NULL;
}

static void expect(uint16_t ssn, uint32_t len)
{
	uint32_t got = 0;
	const uint8_t *p = hold_find(&hold, ssn, &got);

	cr_assert(p, "number %u", ssn);
	cr_assert_eq(got, len);
	cr_assert(hold_has(&hold, p));
	for (uint32_t i = 0; i < len; i++)
		cr_assert_eq(p[i], ssn & 0xff, "number %u, byte %u", ssn, i);
}

Test(hold, messages_are_found_by_their_number)
{
	uint32_t len;

	cr_expect(add(65535, 100));
	cr_expect(add(0, 0));
	cr_expect(add(7, 50));
	expect(65535, 100);
	expect(0, 0);
	expect(7, 50);
	cr_expect_null(hold_find(&hold, 8, &len));
	cr_expect_null(hold_find(&hold, 71, &len), "another number of the same slot");
	hold_del(&hold, 71);
	hold_del(&hold, 0);
	cr_expect_null(hold_find(&hold, 0, &len));
	cr_expect_eq(hold.n, 2);
}

Test(hold, memory_of_others_is_not_in_it)
{
	uint8_t other;

	cr_expect_not(hold_has(&hold, memory), "it is empty");
	cr_expect(add(1, 10));
	cr_expect_not(hold_has(&hold, &other));
}

Test(hold, room_is_bounded_and_comes_back)
{
	for (unsigned round = 0; round < 10; round++) {
		uint16_t n = 0;

		while (add((uint16_t)(round * 1000 + n), 100))
			n++;
		cr_expect_eq(n, BYTES / (16 + 104), "%u messages", n);
		cr_expect_leq(hold.bytes, BYTES);
		cr_expect_not(add(40000, 100));
		while (n-- > 0)
			hold_del(&hold, (uint16_t)(round * 1000 + n));
		cr_expect_eq(hold.bytes, 0);
	}
	cr_expect_not(add(1, BYTES));
	cr_expect_not(add(1, UINT32_MAX));
	cr_expect(add(1, BYTES - 16));
}

Test(hold, without_memory_nothing_is_found)
{
	struct hold none = {0};
	uint32_t len, pos = 0;
	uint16_t ssn;
	uint8_t *p;

	cr_expect_null(hold_find(&none, 1, &len));
	hold_del(&none, 1);
	hold_clear(&none);
	cr_expect_not(hold_take(&none, &pos, &ssn, &p, &len));
}

Test(hold, everything_can_be_taken_or_cleared)
{
	uint32_t len, pos = 0, n = 0;
	uint16_t ssn;
	uint8_t *p;

	for (uint16_t i = 0; i < 20; i++)
		cr_assert(add((uint16_t)(65530 + i), i));
	while (hold_take(&hold, &pos, &ssn, &p, &len)) {
		cr_expect_eq(len, (uint16_t)(ssn - 65530));
		n++;
	}
	cr_expect_eq(n, 20);
	cr_expect(add(3, 1000));
	hold_clear(&hold);
	cr_expect_null(hold_find(&hold, 3, &len));
	cr_expect(add(3, BYTES - 16));
}

/* ---- a model: which numbers are kept, and how long they are ---- */

static uint32_t random_below(uint32_t n)
{
	static uint64_t seed = 0x9e3779b97f4a7c15;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 13) % n;
}

Test(hold, random_messages_agree_with_a_model)
{
	static uint32_t model[NUMBERS]; /* length plus 1, or 0 */
	unsigned full = 0, added = 0;

	for (unsigned i = 0; i < 200000; i++) {
		uint16_t first = (uint16_t)(i / 50), ssn = (uint16_t)(first + random_below(64));
		uint32_t len = random_below(10) ? random_below(80) : random_below(1500);

		if (model[(uint16_t)(first - 1)]) { /* its turn has passed */
			hold_del(&hold, (uint16_t)(first - 1));
			model[(uint16_t)(first - 1)] = 0;
		}
		if (model[ssn]) {
			expect(ssn, model[ssn] - 1);
			hold_del(&hold, ssn);
			model[ssn] = 0;
		} else if (add(ssn, len)) {
			model[ssn] = len + 1;
			added++;
		} else {
			full++;
		}
		cr_assert_leq(hold.bytes, BYTES);
	}
	cr_expect_gt(added, 10000, "%u", added);
	cr_expect_gt(full, 100, "room and slots run out at times");
	for (unsigned ssn = 0; ssn < NUMBERS; ssn++)
		if (model[ssn])
			expect((uint16_t)ssn, model[ssn] - 1);
}
