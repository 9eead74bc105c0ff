/* SPDX-License-Identifier: BSD-2-Clause */
/* Elapsed time and processor time. */
#ifndef TOOLS_CLOCK_H
#define TOOLS_CLOCK_H

#include <stdint.h>

/* The monotonic clock. */
uint64_t clock_now_ns(void);

/* CPU time of this process so far, in seconds. */
void clock_cpu(double *ret_user, double *ret_system);

#endif
