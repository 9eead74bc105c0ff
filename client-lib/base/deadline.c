/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/deadline.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>

#include "client-lib/base/reason.h"

static uint64_t monotonic_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t deadline_in(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : monotonic_ms() + (uint64_t)timeout_ms;
}

int deadline_left(uint64_t deadline)
{
	uint64_t now = monotonic_ms();

	if (deadline == UINT64_MAX)
		return -1;
	if (deadline <= now)
		return 0;
	return deadline - now < INT_MAX ? (int)(deadline - now) : INT_MAX;
}

int deadline_poll(int fd, uint64_t deadline, const char *call)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int left = deadline_left(deadline);

	if (poll(&p, 1, left) == 0 || left == 0)
		return reason_fail(-EAGAIN, "%s: no event in time", call);
	return 0;
}
