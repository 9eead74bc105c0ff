/* SPDX-License-Identifier: BSD-2-Clause */
/* For plain programs: how a check prints the rows of tests/conformance/rows.tsv that it has shown.
 */
#ifndef TESTS_LIB_ROW_H
#define TESTS_LIB_ROW_H

#include <stdio.h>

/*
 * The check has passed. ids: separated by blanks; seen: what was observed, the same text each time.
 * Both must come to the log of the test; they count if the whole test passes.
 */
static inline void row(const char *ids, const char *seen)
{
	printf("row %s: %s\n", ids, seen);
	fflush(stdout);
}

#endif
