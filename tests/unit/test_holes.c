/* SPDX-License-Identifier: BSD-2-Clause */
/* Holes of memory: tests/system/holes.sh has the rest. */
#include <criterion/criterion.h>

#include <errno.h>

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
