/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For plain programs: what has to succeed, or the program ends with a message. A program that ends
 * in a way of its own defines MUST_FAIL(format, ...) before it includes this.
 */
#ifndef TESTS_LIB_MUST_H
#define TESTS_LIB_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ddp/ddp.h>

#ifndef MUST_FAIL
#define MUST_FAIL(...)                                                                             \
	do {                                                                                       \
		fprintf(stderr, "%s: ", program_invocation_short_name);                            \
		fprintf(stderr, __VA_ARGS__);                                                      \
		fputc('\n', stderr);                                                               \
		exit(1);                                                                           \
	} while (0)
#endif

static inline int must(const char *what, int r)
{
	if (r < 0)
		MUST_FAIL("%s: %d: %s", what, r, ddp_last_reason());
	return r;
}

/* A call of the library that must not fail; its result. */
#define MUST(call) must(#call, (call))

/* A condition that must be true; errno says why it is not. */
#define HOLDS(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			MUST_FAIL("%s: %s", #cond, strerror(errno));                               \
	} while (0)

#endif
