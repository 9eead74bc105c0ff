/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/clock.h"

#include <sys/resource.h>
#include <time.h>

uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void clock_cpu(double *ret_user, double *ret_system)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	*ret_user = (double)ru.ru_utime.tv_sec + (double)ru.ru_utime.tv_usec / 1e6;
	*ret_system = (double)ru.ru_stime.tv_sec + (double)ru.ru_stime.tv_usec / 1e6;
}
