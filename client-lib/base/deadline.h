/* SPDX-License-Identifier: BSD-2-Clause */
/* Deadlines of calls that wait, in milliseconds of CLOCK_MONOTONIC. UINT64_MAX is no limit. */
#ifndef DDP_DEADLINE_H
#define DDP_DEADLINE_H

#include <stdint.h>

/* The deadline of a call that begins now. A negative timeout_ms is no limit. */
uint64_t deadline_in(int timeout_ms);

/* Milliseconds until the deadline, as poll() takes them: 0 if it has passed, -1 without limit. */
int deadline_left(uint64_t deadline);

/* Waits until the descriptor is readable or hangs up. Returns 0, or -EAGAIN after the deadline with
 * the reason "CALL: no event in time". */
int deadline_poll(int fd, uint64_t deadline, const char *call);

#endif
