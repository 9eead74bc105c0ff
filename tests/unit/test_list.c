/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "util/list.h"

struct item {
	int n;
	struct list link;
};

static struct list head = LIST_INIT(head);

static void fill(struct item *items, int n)
{
	list_init(&head);
	for (int i = 0; i < n; i++) {
		items[i].n = i;
		list_init(&items[i].link);
		list_add_tail(&head, &items[i].link);
	}
}

/* The members in order, as digits: items 0, 2 give 102. Both directions must agree. */
static int members(void)
{
	int ahead = 1, back = 0, unit = 1;

	list_foreach (it, &head)
		ahead = ahead * 10 + list_entry(it, struct item, link)->n;
	for (struct list *it = head.prev; it != &head; it = it->prev) {
		back += unit * list_entry(it, struct item, link)->n;
		unit *= 10;
	}
	cr_expect_eq(ahead, unit + back, "forward and backward links differ");
	return ahead;
}

Test(list, initialized_list_is_empty)
{
	static struct list fixed = LIST_INIT(fixed);
	struct list l;

	list_init(&l);
	cr_expect(list_empty(&l));
	cr_expect(list_empty(&fixed));
	cr_expect_null(list_pop(&l));
	list_foreach (it, &l)
		cr_expect(false, "an empty list has no members");
}

Test(list, members_keep_the_order_in_which_they_were_added)
{
	struct item items[4];

	fill(items, 4);
	cr_expect_eq(members(), 10123);
	cr_expect_not(list_empty(&head));
}

Test(list, link_reports_whether_it_is_in_a_list)
{
	struct item items[1];

	fill(items, 1);
	cr_expect(list_linked(&items[0].link));
	list_del(&items[0].link);
	cr_expect_not(list_linked(&items[0].link));
	cr_expect(list_empty(&head));
}

Test(list, any_member_can_be_removed)
{
	struct item items[5];

	fill(items, 5);
	list_del(&items[2].link);
	cr_expect_eq(members(), 10134);
	list_del(&items[0].link);
	cr_expect_eq(members(), 1134);
	list_del(&items[4].link);
	cr_expect_eq(members(), 113);
}

Test(list, removing_twice_does_nothing_the_second_time)
{
	struct item items[3];

	fill(items, 3);
	list_del(&items[1].link);
	list_del(&items[1].link);
	cr_expect_eq(members(), 102);
}

Test(list, pop_hands_out_the_oldest_and_unlinks_it)
{
	struct item items[2];

	fill(items, 2);
	cr_expect_eq(list_pop(&head), &items[0].link);
	cr_expect_not(list_linked(&items[0].link));
	cr_expect_eq(list_pop(&head), &items[1].link);
	cr_expect_null(list_pop(&head));
	cr_expect(list_empty(&head));
}

Test(list, splicing_appends_all_members)
{
	struct item items[5];
	struct list from;

	fill(items, 5);
	list_init(&from);
	for (int i = 0; i < 3; i++)
		list_add_tail(&from, list_pop(&head));
	list_splice_tail(&head, &from);
	cr_expect_eq(members(), 134012);
	cr_expect(list_empty(&from));
	list_splice_tail(&head, &from);
	cr_expect_eq(members(), 134012, "an empty list adds nothing");
	list_splice_tail(&from, &head);
	cr_expect(list_empty(&head));
	cr_expect_eq(list_pop(&from), &items[3].link);
}

Test(list, removed_member_can_be_added_again)
{
	struct item items[3];

	fill(items, 3);
	list_del(&items[0].link);
	list_add_tail(&head, &items[0].link);
	cr_expect_eq(members(), 1120);
}

Test(list, safe_walk_may_free_the_current_member)
{
	int sum = 0;

	list_init(&head);
	for (int i = 1; i <= 4; i++) {
		struct item *it = malloc(sizeof(*it));

		cr_assert_not_null(it);
		it->n = i;
		list_add_tail(&head, &it->link);
	}
	list_foreach_safe (it, &head) {
		sum = sum * 10 + list_entry(it, struct item, link)->n;
		list_del(it);
		free(list_entry(it, struct item, link));
	}
	cr_expect_eq(sum, 1234);
	cr_expect(list_empty(&head));
}
