/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/timer.h"

#include <assert.h>
#include <stddef.h>

void timer_init(struct timer *t, void (*fire)(struct timer *t))
{
	*t = (struct timer){.at = UINT64_MAX, .fire = fire};
}

/* The earlier of two roots becomes the parent of the other. Either may be NULL. */
static struct timer *meld(struct timer *a, struct timer *b)
{
	if (!a || !b)
		return a ? a : b;
	if (b->at < a->at) {
		struct timer *swap = a;

		a = b;
		b = swap;
	}
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	b->prev = a;
	a->child = b;
	a->next = a->prev = NULL;
	return a;
}

/* Melds a list of siblings into one root: neighbors from left to right, then the pairs from right
 * to left. Until then the pairs form a list through next. */
static struct timer *meld_siblings(struct timer *t)
{
	struct timer *pairs = NULL, *root = NULL;

	while (t) {
		struct timer *a = t, *b = a->next, *pair;

		t = b ? b->next : NULL;
		a->next = a->prev = NULL;
		if (b)
			b->next = b->prev = NULL;
		pair = meld(a, b);
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs) {
		struct timer *rest = pairs->next;

		pairs->next = NULL;
		root = meld(root, pairs);
		pairs = rest;
	}
	return root;
}

static bool is_set(const struct timer *t)
{
	return t->at != UINT64_MAX;
}

void timer_assert_out(const struct timer *t)
{
	assert(!is_set(t));
	(void)t;
}

void timer_cancel(struct timers *ts, struct timer *t)
{
	struct timer *below;

	if (!is_set(t))
		return;
	below = meld_siblings(t->child);
	if (t == ts->first) {
		ts->first = below;
	} else {
		if (t->prev->child == t)
			t->prev->child = t->next;
		else
			t->prev->next = t->next;
		if (t->next)
			t->next->prev = t->prev;
		ts->first = meld(ts->first, below);
	}
	t->child = t->next = t->prev = NULL;
	t->at = UINT64_MAX;
}

void timer_set(struct timers *ts, struct timer *t, uint64_t at)
{
	if (ts->running && at <= ts->now)
		at = ts->now + 1;
	if (at == t->at)
		return;
	timer_cancel(ts, t);
	if (at == UINT64_MAX)
		return;
	t->at = at;
	ts->first = meld(ts->first, t);
}

uint64_t timer_expiry(const struct timers *ts)
{
	return ts->first ? ts->first->at : UINT64_MAX;
}

bool timer_run(struct timers *ts, uint64_t now)
{
	bool any = false;

	ts->running = true;
	ts->now = now;
	while (ts->first && ts->first->at <= now) {
		struct timer *t = ts->first;

		timer_cancel(ts, t);
		t->fire(t);
		any = true;
	}
	ts->running = false;
	return any;
}
