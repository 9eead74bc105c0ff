/* SPDX-License-Identifier: BSD-2-Clause */
/* Holes of memory: tests/system/holes.sh has the rest. */
#include <criterion/criterion.h>

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "daemon/objects/memory/holes.h"

static ssize_t no_random(void *p, size_t len, unsigned flags)
{
	(void)p, (void)len, (void)flags;
	return -1;
}

Test(holes, without_random_numbers_there_are_none)
{
	struct holes *h = NULL;
	int r = holes_new(no_random, &h);

	if (r == HOLES_E_UNSEEN)
		cr_skip_test("mincore() does not tell holes here");
	cr_assert_eq(r, -EIO);
	cr_assert_null(h);
}

static ssize_t ones(void *p, size_t len, unsigned flags)
{
	(void)flags;
	memset(p, 1, len);
	return (ssize_t)len;
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

Test(holes, all_memory_goes_back)
{
	size_t before = allocated();
	struct holes *h = NULL;
	int r = holes_new(ones, &h);

	if (r == HOLES_E_UNSEEN)
		cr_skip_test("mincore() does not tell holes here");
	cr_assert_eq(r, 0);
	holes_free(h);
	cr_assert_eq(allocated(), before);
}
