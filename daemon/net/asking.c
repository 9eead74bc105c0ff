/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/net/asking.h"

void asking_init(struct asking *a)
{
	*a = (struct asking){.most = ASKING_MOST};
	list_init(&a->refused);
}

bool asking_has_room(const struct asking *a)
{
	return a->unanswered < a->most;
}

void asking_begin(struct asking *a)
{
	a->unanswered++;
}

static void try_again(struct asking *a, struct list *waiting)
{
	list_splice_tail(&a->refused, waiting);
	list_splice_tail(waiting, &a->refused);
}

void asking_answered(struct asking *a, struct list *waiting)
{
	if (a->most < ASKING_MOST)
		a->most++;
	try_again(a, waiting);
}

void asking_end(struct asking *a, struct list *waiting)
{
	if (--a->unanswered == 0)
		try_again(a, waiting);
}

bool asking_refused(struct asking *a, struct list *waiter)
{
	if (--a->unanswered == 0) {
		a->most = ASKING_MOST;
		return false;
	}
	if (a->unanswered < a->most)
		a->most = a->unanswered;
	list_add_tail(&a->refused, waiter);
	return true;
}
