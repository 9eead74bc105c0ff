/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/yield.h"

#include <sched.h>
#include <time.h>

enum { NAP_NS = 50000 };

bool yield_has_one_cpu(void)
{
	cpu_set_t set;

	/* A set too small for this machine means that there are many. */
	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1;
}

bool yield_is_vain(void)
{
	const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return (policy == SCHED_FIFO || policy == SCHED_RR) && yield_has_one_cpu();
}

void yield_cpu(bool vain)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	if (vain)
		nanosleep(&nap, NULL);
	else
		sched_yield();
}
