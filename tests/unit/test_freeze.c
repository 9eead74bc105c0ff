/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages that could not be taken are as they were: nobody waits for them. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client-lib/own_memory/freeze.h"

/* An access that waits for pages would wait without end. */
TestSuite(freeze, .timeout = 60);

/* The kernel watches both areas, but moves one area in a call. */
Test(freeze, pages_that_do_not_move_are_not_watched)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct freeze f;
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *pages;
	int r = freeze_open(&f, false);

	if (r)
		cr_skip_test("userfaultfd: %s", strerror(-r));
	cr_assert_neq(p, MAP_FAILED);
	cr_assert_eq(mprotect(p, page, PROT_READ), 0);
	cr_assert_lt(freeze_take(&f, p, 2 * page, &pages), 0);
	cr_assert_eq(p[0], 0);
	p[page] = 1;
	cr_assert_eq(p[page], 1);
	freeze_close(&f);
	munmap(p, 2 * page);
}
