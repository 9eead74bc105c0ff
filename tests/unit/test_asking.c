/* SPDX-License-Identifier: BSD-2-Clause */
/* Session requests that the peer refuses for want of room are tried again, and no others. */
#include <criterion/criterion.h>

#include "daemon/net/asking.h"

enum { N = 10, ROOM = 3 };

static struct asking asking;
static struct list waiting, waiter[N];

static void start(void)
{
	asking_init(&asking);
	list_init(&waiting);
	for (unsigned i = 0; i < N; i++)
		list_init(&waiter[i]);
}

TestSuite(asking, .init = start);

static unsigned length(const struct list *l)
{
	unsigned n = 0;

	list_foreach (it, l)
		n++;
	return n;
}

Test(asking, few_are_sent_at_once)
{
	for (unsigned i = 0; i < ASKING_MOST; i++) {
		cr_expect(asking_has_room(&asking));
		asking_begin(&asking);
	}
	cr_expect_not(asking_has_room(&asking));
	asking_end(&asking, &waiting);
	cr_expect(asking_has_room(&asking));
}

Test(asking, the_refused_wait_for_an_answer_and_come_first)
{
	struct list *first;

	for (unsigned i = 0; i < ROOM + 2; i++)
		asking_begin(&asking);
	list_add_tail(&waiting, &waiter[N - 1]);
	cr_expect(asking_refused(&asking, &waiter[0]));
	cr_expect(asking_refused(&asking, &waiter[1]));
	cr_expect_not(asking_has_room(&asking), "the peer has room for %d", ROOM);
	cr_expect_eq(length(&waiting), 1);
	asking_answered(&asking, &waiting);
	asking_end(&asking, &waiting);
	cr_expect(asking_has_room(&asking));
	cr_expect_eq(length(&waiting), 3);
	first = list_pop(&waiting);
	cr_expect_eq(first, &waiter[0]);
	cr_expect(list_empty(&asking.refused));
}

Test(asking, a_refusal_without_another_request_is_final_for_all)
{
	for (unsigned i = 0; i < N; i++)
		asking_begin(&asking);
	for (unsigned i = 0; i < N - 1; i++)
		cr_expect(asking_refused(&asking, &waiter[i]));
	cr_expect_not(asking_refused(&asking, &waiter[N - 1]));
	cr_expect_eq(length(&asking.refused), N - 1);
	cr_expect(list_empty(&waiting));
	for (unsigned i = 0; i < ASKING_MOST; i++)
		asking_begin(&asking);
	cr_expect_not(asking_has_room(&asking));
}

Test(asking, those_that_waited_for_a_request_that_was_given_up_are_tried_again)
{
	asking_begin(&asking);
	asking_begin(&asking);
	cr_expect(asking_refused(&asking, &waiter[0]));
	asking_end(&asking, &waiting);
	cr_expect_eq(length(&waiting), 1);
	cr_expect(asking_has_room(&asking));
}
