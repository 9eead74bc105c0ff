/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of datagram queue pairs, and the header before a datagram. The rest needs a client:
 * tests/system/datagrams.c. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/base/worker.h"
#include "daemon/objects/datagrams/datagram.h"
#include "daemon/objects/datagrams/grh.h"
#include "daemon/objects/datagrams/numbers.h"
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
	list_init(&d->by_number);
	d->number = numbers_next(&w);
	numbers_add(&w, d);
}

Test(numbers, are_in_their_range_and_in_a_circle)
{
	struct datagram first, last, again;

	w.last_datagram = NUMBERS_LAST - 1;
	add(&last);
	cr_expect_eq(last.number, NUMBERS_LAST);
	add(&first);
	cr_expect_eq(first.number, NUMBERS_FIRST);
	w.last_datagram = NUMBERS_LAST - 1;
	add(&again);
	cr_expect_eq(again.number, NUMBERS_FIRST + 1, "those in use are left out");
	cr_expect_eq(numbers_find(&w, NUMBERS_LAST), &last);
	cr_expect_eq(numbers_find(&w, NUMBERS_FIRST), &first);
	numbers_del(&first);
	cr_expect_null(numbers_find(&w, NUMBERS_FIRST));
	cr_expect_null(numbers_find(&w, NUMBERS_FIRST + WORKER_BUCKETS), "the same bucket");
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
