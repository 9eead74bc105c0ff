/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/easy/easy_clock.h"

#include <limits.h>
#include <time.h>

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t easy_clock_end(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : now_ms() + (uint64_t)timeout_ms;
}

int easy_clock_left(uint64_t end)
{
	uint64_t now = now_ms();

	if (end == UINT64_MAX)
		return -1;
	if (end <= now)
		return 0;
	return end - now < INT_MAX ? (int)(end - now) : INT_MAX;
}
