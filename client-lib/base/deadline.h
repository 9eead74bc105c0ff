/* SPDX-License-Identifier: BSD-2-Clause */
/* Time limits of calls that wait in poll(). */
#ifndef DDP_DEADLINE_H
#define DDP_DEADLINE_H

#include <stdint.h>

/* The end of a timeout of so many milliseconds from now on; UINT64_MAX if it is negative. */
uint64_t deadline_in(int timeout_ms);

/* Waits until the descriptor is readable or hangs up. Returns 0; or -EAGAIN after the deadline,
 * with the reason "CALL: no event in time". */
int deadline_poll(int fd, uint64_t deadline, const char *call);

#endif
