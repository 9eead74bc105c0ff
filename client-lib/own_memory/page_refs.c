/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/page_refs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void page_refs_deinit(struct page_refs *p)
{
	free(p->steps);
	*p = (struct page_refs){0};
}

/* The number of steps at or before `at`. */
static size_t steps_until(const struct page_refs *p, uint64_t at)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->steps[mid].at <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t refs_at(const struct page_refs *p, uint64_t at)
{
	size_t i = steps_until(p, at);

	return i ? p->steps[i - 1].refs : 0;
}

/* The index of the step at `at`, which is made if there is none. There is room for it. */
static size_t split_at(struct page_refs *p, uint64_t at)
{
	size_t i = steps_until(p, at);
	struct page_step step = {at, refs_at(p, at)};

	if (i && p->steps[i - 1].at == at)
		return i - 1;
	memmove(&p->steps[i + 1], &p->steps[i], (p->count - i) * sizeof(step));
	p->steps[i] = step;
	p->count++;
	return i;
}

/* Removes the step at index i if it has no effect. */
static void join_at(struct page_refs *p, size_t i)
{
	uint32_t before = i ? p->steps[i - 1].refs : 0;

	if (p->steps[i].refs != before)
		return;
	memmove(&p->steps[i], &p->steps[i + 1], (p->count - i - 1) * sizeof(*p->steps));
	p->count--;
}

static void change(struct page_refs *p, uint64_t start, uint64_t end, uint32_t by)
{
	size_t first = split_at(p, start), last = split_at(p, end);

	for (size_t i = first; i < last; i++)
		p->steps[i].refs += by;
	join_at(p, last);
	join_at(p, first);
}

/* Dropping must not fail, so there is room for the two steps that it may split off. */
static int reserve_steps(struct page_refs *p, size_t ranges)
{
	size_t need = 2 * ranges + 2;
	struct page_step *steps;

	if (need <= p->room)
		return 0;
	steps = realloc(p->steps, 2 * need * sizeof(*steps));
	if (!steps)
		return -ENOMEM;
	p->steps = steps;
	p->room = 2 * need;
	return 0;
}

int page_refs_add(struct page_refs *p, uint64_t start, uint64_t end)
{
	int r = reserve_steps(p, p->ranges + 1);

	if (r)
		return r;
	p->ranges++;
	change(p, start, end, 1);
	return 0;
}

void page_refs_drop(struct page_refs *p, uint64_t start, uint64_t end)
{
	change(p, start, end, UINT32_MAX);
	p->ranges--;
}

bool page_refs_unused(const struct page_refs *p, uint64_t from, uint64_t end, uint64_t *ret_start,
		      uint64_t *ret_end)
{
	size_t i = steps_until(p, from);

	if (i && p->steps[i - 1].refs) {
		while (i < p->count && p->steps[i].refs)
			i++;
		from = p->steps[i++].at; /* the last step has none */
	}
	if (from >= end)
		return false;
	*ret_start = from;
	*ret_end = i < p->count && p->steps[i].at < end ? p->steps[i].at : end;
	return true;
}

bool page_refs_any(const struct page_refs *p, uint64_t start, uint64_t end)
{
	uint64_t s, e;

	return !page_refs_unused(p, start, end, &s, &e) || s != start || e != end;
}

uint64_t page_refs_before(const struct page_refs *p, uint64_t at)
{
	size_t i = at ? steps_until(p, at - 1) : 0; /* the steps before `at` */

	if (i == 0)
		return 0;
	if (p->steps[i - 1].refs)
		return at;
	return p->steps[i - 1].at; /* neighbors differ: regions use the area that ends there */
}
