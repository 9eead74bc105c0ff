/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that poll give their processor to those they poll for. sched_yield() does that, unless
 * the thread has a real-time policy and one processor: then it runs only threads of its own
 * priority, and a daemon with an ordinary policy on that processor would never run.
 */
#ifndef UTIL_YIELD_H
#define UTIL_YIELD_H

#include <stdbool.h>

/* True if the calling thread may run on one processor only. */
bool yield_has_one_cpu(void);

/* True if the calling thread, while it polls, keeps threads with ordinary policies from running: it
 * has a real-time policy and may run on one processor only. A system call or two. */
bool yield_is_vain(void);

/* Gives the processor away: with sched_yield(), or, if that is vain, by a sleep of 50 us. */
void yield_cpu(bool vain);

#endif
