/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks: every byte that was marked is found once, and no other, whatever lies beside them. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/shadow.h"

enum { SPAN = 3 * 64 * SHADOW_PAGE + 100, STEPS = 3000 };

static struct shadow_layout layout;
static struct shadow shadow;
static void *marks;
static uint8_t model[SPAN + SHADOW_PAGE], found[SPAN + SHADOW_PAGE];
static unsigned ranges;
static uint64_t last_end;

static void start(void)
{
	layout = shadow_layout(SPAN);
	marks = calloc(1, layout.total - 2 * layout.size);
	shadow = shadow_at(marks, &layout);
}

static void stop(void)
{
	free(marks);
}

TestSuite(shadow, .init = start, .fini = stop, .timeout = 60);

static void note(void *arg, uint64_t at, uint64_t len)
{
	(void)arg;
	cr_assert(len > 0 && len <= layout.size && at <= layout.size - len);
	cr_assert(ranges == 0 || at > last_end, "ranges are in order and do not touch");
	for (uint64_t i = at; i < at + len; i++)
		found[i]++;
	ranges++;
	last_end = at + len;
}

static void mark(uint64_t at, uint64_t len)
{
	shadow_mark(&shadow, at, len);
	memset(model + at, 1, len);
}

static void take(void)
{
	ranges = 0;
	memset(found, 0, sizeof(found));
	shadow_take(&shadow, note, NULL);
}

static void compare(void)
{
	take();
	for (size_t i = 0; i < sizeof(model); i++)
		if (model[i] != found[i])
			cr_assert_eq(found[i], model[i], "byte %zu", i);
	memset(model, 0, sizeof(model));
}

Test(shadow, has_two_parts_and_marks_of_whole_pages)
{
	cr_expect_eq(layout.size, 193 * SHADOW_PAGE);
	cr_expect_eq(layout.total % SHADOW_PAGE, 0);
	cr_expect(layout.total >= 2 * layout.size + layout.size / 8);
	cr_expect_eq(shadow_layout(1).size, SHADOW_PAGE);
	cr_expect_eq(shadow_layout(SHADOW_PAGE).size, SHADOW_PAGE);
	cr_expect_eq(shadow_layout(SHADOW_PAGE + 1).size, 2 * SHADOW_PAGE);
}

Test(shadow, ranges_of_any_place_and_length_are_found)
{
	static const uint64_t lens[] = {1, 7, 8, 63, 64, 65, 128, 4095, 4096, 4097, 300000};

	for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
		for (uint64_t at = 0; at < 130; at++) {
			mark(at, lens[l]);
			compare();
			mark(layout.size - at - lens[l], lens[l]);
			compare();
			cr_assert_eq(ranges, 1);
		}
	}
	mark(0, layout.size);
	compare();
	cr_assert_eq(ranges, 1, "all bytes are one range");
}

Test(shadow, nothing_is_found_twice)
{
	mark(100, 10);
	compare();
	take();
	cr_expect_eq(ranges, 0);
	shadow_mark(&shadow, 100, 0);
	take();
	cr_expect_eq(ranges, 0, "no bytes");
}

Test(shadow, random_ranges_are_as_a_flag_for_each_byte)
{
	unsigned seed = 1;

	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t len = 1 + (uint64_t)rand_r(&seed) % (rand_r(&seed) % 4 ? 200 : 20000);

		mark((uint64_t)rand_r(&seed) % (SPAN - len), len);
		if (rand_r(&seed) % 8 == 0)
			compare();
	}
}

/* What the program writes into the marks leads to no byte outside. */
Test(shadow, foreign_marks_stay_inside)
{
	memset(marks, 0xff, layout.total - 2 * layout.size);
	take();
	cr_expect_eq(ranges, 1);
	cr_expect_eq(last_end, layout.size);
}

static void *mark_each(void *arg)
{
	(void)arg;
	for (uint64_t at = 0; at < SPAN; at += 3)
		shadow_mark(&shadow, at, 2);
	return NULL;
}

static void count(void *arg, uint64_t at, uint64_t len)
{
	(void)arg;
	for (uint64_t i = at; i < at + len; i++)
		found[i]++;
}

Test(shadow, nothing_is_lost_while_another_thread_takes)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, mark_each, NULL), 0);
	for (unsigned i = 0; i < 200; i++)
		shadow_take(&shadow, count, NULL);
	pthread_join(thread, NULL);
	shadow_take(&shadow, count, NULL);
	for (uint64_t at = 0; at < SPAN; at++)
		if (found[at] != (at % 3 != 2))
			cr_assert_eq(found[at], at % 3 != 2, "byte %llu", (unsigned long long)at);
}
