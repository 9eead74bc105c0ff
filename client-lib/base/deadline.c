/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/deadline.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "client-lib/base/reason.h"

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t deadline_in(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : now_ms() + (uint64_t)timeout_ms;
}

int deadline_poll(int fd, uint64_t deadline, const char *call)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t now = now_ms();
	int left = -1;

	if (deadline != UINT64_MAX)
		left = now >= deadline ? 0 : (int)(deadline - now);
	if (poll(&p, 1, left) == 0 || left == 0)
		return reason_fail(-EAGAIN, "%s: no event in time", call);
	return 0;
}
