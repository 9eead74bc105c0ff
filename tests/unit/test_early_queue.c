/* SPDX-License-Identifier: BSD-2-Clause */
/* Early messages are kept by stream, handed out in order of arrival, and never overlap. */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/session/early_queue.h"
#include "tests/lib/early_memory.h"

enum { SIZE = 1024, LEN = 100 };

static struct early_queue early;
static uint32_t held, most; /* bytes */

static void *resize(void *user, void *p, uint32_t from, uint32_t to)
{
	cr_assert_eq(user, &held);
	cr_assert_eq(from, held);
	if (to > most)
		return NULL;
	held = to;
	return early_memory_resize(NULL, p, from, to);
}

static void setup(void)
{
	held = 0;
	most = SIZE;
	early_queue_init(&early, &(struct early_memory){resize, &held}, SIZE);
}

static void teardown(void)
{
	early_queue_clear(&early);
	cr_assert_eq(held, 0);
}

TestSuite(early, .init = setup, .fini = teardown);

static bool add(uint16_t sid, char c)
{
	uint8_t *p = early_queue_add(&early, sid, 16, LEN);

	if (p)
		memset(p, c, LEN);
	return p != NULL;
}

/* The letter of the next message, or 0. */
static char take(uint16_t *ret_sid)
{
	uint32_t ppid, len;
	uint8_t *p;

	if (!early_queue_take(&early, ret_sid, &ppid, &p, &len))
		return 0;
	cr_expect_eq(ppid, 16);
	cr_expect_eq(len, LEN);
	for (unsigned i = 0; i < LEN; i++)
		cr_assert_eq(p[i], p[0]);
	return (char)p[0];
}

static unsigned fill(uint16_t sid)
{
	unsigned n = 0;

	while (add(sid, 'x'))
		n++;
	return n;
}

Test(early, only_what_was_released_is_handed_out_and_in_order)
{
	uint16_t sid;

	add(1, 'a');
	add(2, 'b');
	add(1, 'c');
	cr_expect_eq(take(&sid), 0);
	early_queue_release(&early, 1);
	add(1, 'd'); /* came after the release */
	cr_expect_eq(take(&sid), 'a');
	cr_expect_eq(sid, 1);
	cr_expect_eq(take(&sid), 'c');
	cr_expect_eq(take(&sid), 0);
	early_queue_release(&early, 2);
	cr_expect_eq(take(&sid), 'b');
	cr_expect_eq(sid, 2);
	early_queue_release(&early, 1);
	cr_expect_eq(take(&sid), 'd');
}

Test(early, dropping_a_stream_leaves_the_others)
{
	uint16_t sid;

	add(1, 'a');
	add(2, 'b');
	add(1, 'c');
	early_queue_release(&early, 1);
	cr_expect_eq(early_queue_drop(&early, 1), 2);
	cr_expect_eq(early_queue_drop(&early, 1), 0);
	cr_expect_eq(take(&sid), 0);
	early_queue_release(&early, 2);
	cr_expect_eq(take(&sid), 'b');
	cr_expect_eq(sid, 2);
}

Test(early, room_of_released_messages_is_used_again)
{
	unsigned n = fill(1);
	uint16_t sid;

	cr_expect_eq(n, SIZE / 120);
	cr_expect_eq(early_queue_drop(&early, 1), n);
	cr_expect_eq(fill(1), n, "all of it");
	early_queue_release(&early, 1);
	cr_expect_eq(take(&sid), 'x');
	cr_expect_eq(take(&sid), 'x');
	cr_expect_eq(fill(2), 2, "in the middle");
	for (unsigned i = 2; i < n; i++)
		cr_expect_eq(take(&sid), 'x');
	cr_expect_eq(take(&sid), 0);
	early_queue_release(&early, 2);
	cr_expect_eq(take(&sid), 'x');
	cr_expect_eq(sid, 2);
}

Test(early, messages_stay_whole_when_others_before_them_go)
{
	uint16_t sid;

	for (char c = 'a'; add(c & 1, c); c++)
		;
	early_queue_drop(&early, 1); /* a, c, e, g */
	cr_expect(add(0, 'z'));
	early_queue_release(&early, 0);
	for (char c = 'b'; c < 'a' + SIZE / 120; c += 2)
		cr_expect_eq(take(&sid), c);
	cr_expect_eq(take(&sid), 'z');
	cr_expect_eq(take(&sid), 0);
}

Test(early, a_message_that_does_not_fit_is_refused)
{
	cr_expect_null(early_queue_add(&early, 1, 16, SIZE - 15));
	cr_expect_null(early_queue_add(&early, 1, 16, UINT32_MAX));
	cr_expect_not_null(early_queue_add(&early, 1, 16, SIZE - 16));
}

Test(early, memory_is_had_only_while_there_are_messages)
{
	uint16_t sid;

	cr_expect_eq(held, 0);
	add(1, 'a');
	cr_expect_gt(held, 0);
	early_queue_release(&early, 1);
	cr_expect_eq(take(&sid), 'a');
	cr_expect_eq(take(&sid), 0);
	cr_expect_eq(held, 0);
	fill(2);
	cr_expect_eq(held, SIZE);
	early_queue_drop(&early, 2);
	cr_expect_eq(take(&sid), 0);
	cr_expect_eq(held, 0);
}

Test(early, without_memory_messages_are_refused_and_others_stay)
{
	uint16_t sid;

	most = 4096;
	early_queue_clear(&early);
	early_queue_init(&early, &(struct early_memory){resize, &held}, 1 << 20);
	for (unsigned i = 0; i < 4096 / 120; i++)
		cr_assert(add(1, 'a'), "message %u", i);
	cr_expect_not(add(1, 'b'));
	cr_expect_eq(held, 4096);
	early_queue_release(&early, 1);
	for (unsigned i = 0; i < 4096 / 120; i++)
		cr_assert_eq(take(&sid), 'a');
	cr_expect_eq(take(&sid), 0);
}

Test(early, many_messages_stay_whole_while_the_memory_grows)
{
	uint16_t sid;

	most = 1 << 20;
	early_queue_clear(&early);
	early_queue_init(&early, &(struct early_memory){resize, &held}, most);
	for (unsigned i = 0; i < 5000; i++)
		cr_assert(add(1, (char)('a' + i % 26)), "message %u", i);
	early_queue_release(&early, 1);
	for (unsigned i = 0; i < 5000; i++)
		cr_assert_eq(take(&sid), 'a' + i % 26);
}
