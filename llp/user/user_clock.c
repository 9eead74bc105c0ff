/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/user/user.h"

#include <time.h>

enum { SECOND = 1000000 };

static uint64_t clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec / 1000;
}

void llp_user_read_clock(struct user *t)
{
	t->now_us = clock_us() + t->skew_us;
}
