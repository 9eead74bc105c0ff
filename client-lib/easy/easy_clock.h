/* SPDX-License-Identifier: BSD-2-Clause */
/* Time limits of the easy calls. */
#ifndef DDP_EASY_CLOCK_H
#define DDP_EASY_CLOCK_H

#include <stdint.h>

/* The end of so many milliseconds from now on; UINT64_MAX if they are negative. */
uint64_t easy_clock_end(int timeout_ms);

/* Milliseconds until then, 0 if it is over, -1 for UINT64_MAX. */
int easy_clock_left(uint64_t end);

#endif
