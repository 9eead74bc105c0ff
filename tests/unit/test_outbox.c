/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams that wait for a session: order, room, and the part that one queue pair leaves others.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/objects/datagrams/outbox.h"

static struct outbox box;
static uint8_t *mem;

static void setup(void)
{
	mem = malloc(outbox_memory());
	cr_assert_not_null(mem);
	outbox_init(&box, mem);
}

static void teardown(void)
{
	free(mem);
}

TestSuite(outbox, .init = setup, .fini = teardown);

static unsigned fill(uint32_t from, uint32_t len)
{
	unsigned n = 0;

	while (outbox_add(&box, from, len))
		n++;
	return n;
}

static void empty(void)
{
	while (outbox_take(&box))
		outbox_done(&box);
}

Test(outbox, one_queue_pair_leaves_a_quarter_of_the_entries)
{
	cr_expect_eq(fill(1, 30), OUTBOX_ENTRIES * 3 / 4);
	for (uint32_t from = 2; from < 2 + OUTBOX_ENTRIES / 4; from++)
		cr_expect_eq(fill(from, 30), 1, "queue pair %u", from);
	cr_expect_eq(fill(1000, 30), 0, "all are in use");
}

Test(outbox, one_queue_pair_leaves_a_quarter_of_the_bytes)
{
	enum { LEN = 4096 };

	cr_expect_eq(fill(1, LEN), OUTBOX_BYTES * 3 / 4 / LEN);
	for (uint32_t from = 2; from < 2 + OUTBOX_BYTES / 4 / LEN; from++)
		cr_expect_eq(fill(from, LEN), 1, "queue pair %u", from);
	cr_expect_eq(fill(1000, LEN), 0, "all are in use");
}

Test(outbox, what_was_taken_has_its_place_until_it_is_done)
{
	unsigned n = fill(1, 100);

	while (outbox_take(&box))
		;
	cr_expect_eq(outbox_waiting(&box), 0);
	cr_expect_null(outbox_add(&box, 1, 100));
	cr_expect_eq(outbox_done(&box), 1);
	cr_expect_not_null(outbox_add(&box, 1, 100));
	cr_expect_null(outbox_add(&box, 1, 100), "%u", n);
}

/* The bytes of a datagram depend on its number. */
static void write_one(uint8_t *p, uint32_t len, uint32_t number)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(number * 7 + i);
}

static uint32_t len_of(uint32_t number)
{
	return 1 + number * 2654435761U % 4120;
}

static void check_one(const struct outbox_entry *e, uint32_t number)
{
	cr_assert_eq(e->from, number);
	cr_assert_eq(e->len, len_of(number));
	cr_assert(e->at <= OUTBOX_BYTES - e->len, "in one piece");
	for (uint32_t i = 0; i < e->len; i++)
		cr_assert_eq(mem[e->at + i], (uint8_t)(number * 7 + i), "datagram %u", number);
}

Test(outbox, keeps_bytes_and_order_of_any_lengths)
{
	uint32_t added = 1, taken = 1, done = 1;
	unsigned full = 0;

	srand(1);
	while (added < 50000) {
		const struct outbox_entry *e;
		uint8_t *p = rand() % 3 ? outbox_add(&box, added, len_of(added)) : NULL;

		if (p)
			write_one(p, len_of(added), added);
		full += !p;
		added += p != NULL;
		e = rand() % 2 || added - taken > 40 ? outbox_take(&box) : NULL;
		if (e)
			check_one(e, taken++);
		cr_assert_eq(outbox_waiting(&box), added - taken);
		if (done < taken && rand() % 2)
			cr_assert_eq(outbox_done(&box), done++);
	}
	cr_expect_gt(full, 0);
	empty();
}

/* Later ones do not fail for the place where an earlier one ended. */
Test(outbox, an_empty_one_takes_as_much_as_at_first)
{
	unsigned first = fill(1, 4120);

	for (unsigned i = 0; i < 100; i++) {
		empty();
		cr_assert_not_null(outbox_add(&box, 2, 1 + 37 * i));
		empty();
		cr_assert_eq(fill(1, 4120), first, "round %u", i);
	}
}
