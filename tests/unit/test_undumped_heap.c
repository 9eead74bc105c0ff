/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: a heap whose blocks are their owners' alone, which core dumps leave out, and which wipes
 * freed ones. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "util/undumped_heap.h"

enum { BLOCKS = 300, STEPS = 20000, THREADS = 4 };

struct block {
	uint8_t *p, fill;
	size_t n;
};

static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Small ones mostly, some of each size, some that have a mapping of their own. */
static size_t draw_size(uint32_t *seed)
{
	return draw(seed) % ((size_t)1 << (1 + draw(seed) % 18));
}

static bool is_filled(const struct block *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (b->p[i] != b->fill)
			return false;
	return true;
}

static bool refill(struct block *b, uint32_t *seed)
{
	if (b->n > 0 && b->p)
		memset(b->p, b->fill = (uint8_t)draw(seed), b->n);
	return (uintptr_t)b->p % 16 == 0;
}

static bool change(struct block *b, uint32_t *seed)
{
	size_t n = draw_size(seed);
	bool good = is_filled(b, b->p ? b->n : 0);

	if (draw(seed) % 2) {
		b->p = undumped_heap_resize(b->p, n);
		good = good && (n == 0 || (b->p && is_filled(b, n < b->n ? n : b->n)));
	} else {
		undumped_heap_free(b->p);
		b->p = undumped_heap_alloc(n);
		good = good && b->p;
	}
	b->n = b->p ? n : 0;
	return refill(b, seed) && good;
}

static void *use_heap(void *arg)
{
	struct block block[BLOCKS] = {{NULL, 0, 0}};
	uint32_t seed = (uint32_t)(uintptr_t)arg;
	uintptr_t wrong = 0;

	for (unsigned i = 0; i < STEPS; i++)
		wrong += !change(&block[draw(&seed) % BLOCKS], &seed);
	for (unsigned i = 0; i < BLOCKS; i++)
		undumped_heap_free(block[i].p);
	return (void *)wrong;
}

Test(undumped_heap, blocks_keep_their_bytes_in_several_threads)
{
	pthread_t thread[THREADS];
	void *wrong;

	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, use_heap, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_join(thread[i], &wrong), 0);
		cr_assert_null(wrong);
	}
}

/* The block that is freed is the next one of its size. */
Test(undumped_heap, what_is_freed_is_wiped)
{
	for (size_t n = 100; n < 60000; n *= 3) {
		uint8_t *p = undumped_heap_alloc(n), *again;

		memset(p, 0xa5, n);
		undumped_heap_free(p);
		again = undumped_heap_alloc(n);
		cr_assert_eq(again, p);
		for (size_t i = sizeof(p); i < n; i++) /* a pointer of the heap was there */
			cr_assert_neq(again[i], 0xa5, "byte %zu of %zu", i, n);
	}
}

Test(undumped_heap, more_than_there_is_is_refused)
{
	uint8_t *p = undumped_heap_alloc(10);

	memset(p, 7, 10);
	cr_assert_null(undumped_heap_alloc(SIZE_MAX));
	cr_assert_null(undumped_heap_alloc(SIZE_MAX - 4096));
	cr_assert_null(undumped_heap_resize(p, SIZE_MAX / 2));
	cr_assert_eq(p[9], 7);
	undumped_heap_free(p);
	undumped_heap_free(NULL);
}

/* "dd" among the VmFlags of its mapping. */
static bool is_undumped(const void *p)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long from, to, at = (unsigned long)(uintptr_t)p;
	bool here = false, found = false;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from <= at && at < to;
		if (here && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, " dd") != NULL;
	}
	if (f)
		fclose(f);
	return found;
}

Test(undumped_heap, dumps_leave_it_out)
{
	static const size_t size[] = {1, 1000, 60000, 1000000};

	cr_assert_not(is_undumped(size));
	for (unsigned i = 0; i < 4; i++) {
		uint8_t *p = undumped_heap_alloc(size[i]);

		cr_assert(is_undumped(p) && is_undumped(p + size[i] - 1), "%zu bytes", size[i]);
		undumped_heap_free(p);
	}
}
