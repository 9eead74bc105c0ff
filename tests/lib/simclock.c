/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/simclock.h"

#include <stdlib.h>

struct entry {
	uint64_t at;
	uint64_t order;
	simclock_fn *fn;
	void *obj, *arg;
};

struct simclock {
	uint64_t now;
	uint64_t order;
	uint64_t rng;
	struct entry *heap; /* the earliest first */
	size_t n, room;
};

struct simclock *simclock_new(uint64_t seed)
{
	struct simclock *k = calloc(1, sizeof(*k));

	if (k)
		k->rng = seed;
	return k;
}

struct simclock *simclock_free(struct simclock *k)
{
	if (k)
		free(k->heap);
	free(k);
	return NULL;
}

uint64_t simclock_now(const struct simclock *k)
{
	return k->now;
}

static bool before(const struct entry *a, const struct entry *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(struct entry *a, struct entry *b)
{
	struct entry t = *a;

	*a = *b;
	*b = t;
}

void simclock_after(struct simclock *k, uint64_t us, simclock_fn *fn, void *obj, void *arg)
{
	size_t i = k->n;

	if (k->n == k->room) {
		k->room = k->room ? k->room * 2 : 64;
		k->heap = realloc(k->heap, k->room * sizeof(*k->heap));
		if (!k->heap)
			abort(); /* the run cannot continue */
	}
	k->heap[k->n++] = (struct entry){k->now + us, k->order++, fn, obj, arg};
	while (i > 0 && before(&k->heap[i], &k->heap[(i - 1) / 2])) {
		swap(&k->heap[i], &k->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
}

static void sift_down(struct simclock *k)
{
	size_t i = 0;

	for (;;) {
		size_t least = i;

		for (size_t c = 2 * i + 1; c <= 2 * i + 2 && c < k->n; c++)
			if (before(&k->heap[c], &k->heap[least]))
				least = c;
		if (least == i)
			return;
		swap(&k->heap[i], &k->heap[least]);
		i = least;
	}
}

bool simclock_step(struct simclock *k)
{
	struct entry e;

	if (k->n == 0)
		return false;
	e = k->heap[0];
	k->heap[0] = k->heap[--k->n];
	sift_down(k);
	k->now = e.at;
	e.fn(e.obj, e.arg);
	return true;
}

size_t simclock_pending(const struct simclock *k)
{
	return k->n;
}

/* SplitMix64: any seed is good, also 0. */
uint64_t simclock_random(struct simclock *k)
{
	uint64_t z = k->rng += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t simclock_below(struct simclock *k, uint64_t n)
{
	return n ? simclock_random(k) % n : 0;
}

bool simclock_chance(struct simclock *k, unsigned of_10000)
{
	return of_10000 > 0 && simclock_below(k, 10000) < of_10000;
}
