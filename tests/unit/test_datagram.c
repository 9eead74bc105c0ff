/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of datagram queue pairs, and the header before a datagram. The rest needs a client:
 * tests/system/datagrams.c. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/base/state.h"
#include "daemon/base/worker.h"
#include "daemon/objects/datagrams/datagram.h"
#include "daemon/objects/datagrams/flight.h"
#include "daemon/objects/datagrams/grh.h"
#include "daemon/objects/datagrams/numbers.h"
#include "daemon/objects/datagrams/wire_datagram.h"
#include "ipc/msg.h"

static struct worker w;

static void setup(void)
{
	for (unsigned i = 0; i < WORKER_BUCKETS; i++)
		list_init(&w.datagrams[i]);
	w.last_datagram = 0;
}

TestSuite(numbers, .init = setup);

static void add(struct datagram *d)
{
	list_init(&d->number.link);
	list_init(&d->first.link);
	d->number.value = numbers_next(&w);
	numbers_add(&w, d);
}

Test(numbers, are_in_their_range_and_in_a_circle)
{
	struct datagram first, last, again;

	w.last_datagram = NUMBERS_LAST - 1;
	add(&last);
	cr_expect_eq(last.number.value, NUMBERS_LAST);
	add(&first);
	cr_expect_eq(first.number.value, NUMBERS_FIRST);
	w.last_datagram = NUMBERS_LAST - 1;
	add(&again);
	cr_expect_eq(again.number.value, NUMBERS_FIRST + 1, "those in use are left out");
	cr_expect_eq(numbers_find(&w, NUMBERS_LAST), &last);
	cr_expect_eq(numbers_find(&w, NUMBERS_FIRST), &first);
	numbers_del(&first);
	cr_expect_null(numbers_find(&w, NUMBERS_FIRST));
	cr_expect_null(numbers_find(&w, NUMBERS_FIRST + WORKER_BUCKETS), "the same bucket");
}

Test(numbers, are_taken_from_another_one)
{
	struct datagram old, next, later;

	w.last_datagram = NUMBERS_FIRST;
	add(&old);
	add(&next);
	cr_expect_eq(numbers_reach(&old), NUMBERS_FIRST + 1);
	cr_expect_eq(numbers_reach(&next), NUMBERS_FIRST + 2);
	old.number.to = NULL; /* it has ended */
	cr_expect_null(numbers_find(&w, old.number.value));
	cr_expect_eq(numbers_reach(&old), 0, "none reach one that has ended");
	numbers_take(&w, &next, &old);
	cr_expect_eq(numbers_reach(&next), NUMBERS_FIRST + 1);
	cr_expect_eq(numbers_reach(&old), 0, "none reach one that gave its number away");
	cr_expect_eq(next.number.value, NUMBERS_FIRST + 1);
	cr_expect_eq(numbers_find(&w, NUMBERS_FIRST + 1), &next);
	cr_expect_null(numbers_find(&w, NUMBERS_FIRST + 2), "nobody has its own");
	numbers_del(&old);
	w.last_datagram = NUMBERS_FIRST;
	add(&later);
	cr_expect_eq(later.number.value, NUMBERS_FIRST + 3, "both of its numbers are in use");
	numbers_del(&next);
	w.last_datagram = NUMBERS_FIRST;
	cr_expect_eq(numbers_next(&w), NUMBERS_FIRST + 1, "both are free");
	cr_expect_eq(numbers_next(&w), NUMBERS_FIRST + 2, "both are free");
}

Test(numbers, begin_anywhere)
{
	uint32_t n = numbers_next(&w), m;

	w.last_datagram = 0;
	m = numbers_next(&w);
	cr_expect(n >= NUMBERS_FIRST && n <= NUMBERS_LAST);
	cr_expect(m >= NUMBERS_FIRST && m <= NUMBERS_LAST);
}

Test(grh, has_both_addresses)
{
	const struct msg_addr v4 = {.family = AF_INET, .bytes = {10, 1, 2, 3}};
	const struct msg_addr v6 = {.family = AF_INET6, .bytes = {0xfd, [15] = 9}};
	static const uint8_t want[WQE_GRH] = {
		0x60, 0, 0, 0, 0x10, 0x02, 0x1b, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
		10,   1, 2, 3, 0xfd, 0,    0,    0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    9};
	uint8_t grh[WQE_GRH];

	memset(grh, 0x5a, sizeof(grh));
	grh_put(grh, &v4, &v6, 0x1002);
	cr_assert_arr_eq(grh, want, sizeof(want));
}

Test(numbers, of_sessions_leave_theirs_out)
{
	static struct daemon d;

	d.last_qp = NUMBERS_FIRST - 2;
	cr_expect_eq(numbers_of_session(&d), NUMBERS_FIRST - 1);
	cr_expect_eq(numbers_of_session(&d), NUMBERS_ABOVE);
	cr_expect_eq(numbers_of_session(&d), NUMBERS_ABOVE + 1);
}

/* ---- between daemons: the table of wire_datagram.h, in bytes ---- */

static uint8_t message[] = {1, 3, 0, 2, 0, 0x12, 0x34, 0x56, 0, 0x65, 0x43, 0x21, 0x80,
			    1, 2, 3, 1, 2, 3,    4,    5,    6, 7,    8,    0xaa, 0xbb};

Test(wire_datagram, is_written_as_the_table_says)
{
	const struct flight f = {.from_number = 0x123456,
				 .number = 0x654321,
				 .qkey = 0x80010203,
				 .solicited = true,
				 .immediate = true,
				 .imm = UINT64_C(0x0102030405060708),
				 .len = 2};
	uint8_t head[WIRE_DATAGRAM_HEAD];

	memset(head, 0x5a, sizeof(head));
	wire_datagram_put(head, &f);
	cr_expect_arr_eq(head, message, sizeof(head));
	cr_expect_eq(wire_datagram_len(head), sizeof(message));
}

Test(wire_datagram, is_read_as_it_was_written)
{
	struct flight f;

	cr_assert(wire_datagram_get(message, sizeof(message), &f));
	cr_expect_eq(f.from_number, 0x123456);
	cr_expect_eq(f.number, 0x654321);
	cr_expect_eq(f.qkey, 0x80010203);
	cr_expect(f.solicited && f.immediate);
	cr_expect_eq(f.imm, UINT64_C(0x0102030405060708));
	cr_expect_eq(f.len, 2);
	cr_expect_eq(f.nbytes, 1);
	cr_expect_eq(f.bytes[0].p, message + WIRE_DATAGRAM_HEAD);
	cr_expect_eq(f.bytes[0].len, 2);
}

/* Byte `at` has this value: the message is none. */
static void spoiled(size_t at, uint8_t value)
{
	uint8_t bytes[sizeof(message)];
	struct flight f;

	memcpy(bytes, message, sizeof(bytes));
	bytes[at] = value;
	cr_expect_not(wire_datagram_get(bytes, sizeof(bytes), &f), "byte %zu", at);
}

Test(wire_datagram, anything_else_is_none)
{
	struct flight f;

	for (uint32_t len = 0; len < sizeof(message); len++)
		cr_expect_not(wire_datagram_get(message, len, &f), "%u bytes", len);
	spoiled(0, 2);
	spoiled(1, 4);
	spoiled(2, 1);
	spoiled(3, 3);
	spoiled(4, 1);
	spoiled(8, 1);
}
