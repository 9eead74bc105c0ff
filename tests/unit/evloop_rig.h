/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An event loop whose hooks and callbacks record the order of their calls: t turn, s sleep, a
 * awake, and a letter for each callback. Its system calls are counted.
 */
#ifndef TESTS_UNIT_EVLOOP_RIG_H
#define TESTS_UNIT_EVLOOP_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/event_loop.h"

extern struct event_loop *l;
extern char trace[256];
extern uint64_t now, expiry_us, awake_ms;
extern unsigned turns, sleeps, awakes;
extern unsigned stop_after;    /* turns */
extern bool busy;              /* every turn finds work */
extern bool patient;           /* which can wait */
extern bool pausing;           /* every sleep is a pause */
extern bool (*on_sleep)(void); /* refuses to sleep */
extern void (*on_turn)(void);
extern int fd, fd2;
extern struct event_loop_watch *w, *w2;
extern unsigned calls;
extern unsigned waits, timers, reads; /* system calls of the loop */
extern uint64_t timer_ns;             /* of the last timer, from its setting on */
extern uint64_t clock_us, step_us;

/* Of each test: its descriptors fd and fd2; afterwards loop and watches are freed. */
void evloop_setup(void);
void evloop_teardown(void);

/* Creates the loop. */
void begin(uint32_t poll_us);
/* The same with the clock of the test, which moves on by `step` microseconds when it is read. Skips
 * the test where this process has one CPU and does not poll. */
void begin_fake(uint32_t poll_us, uint64_t step);

void note(char c);
void ring(int to);
void drain(int from);
bool ring_and_sleep(void);

/* Callbacks. */
void count_and_drain(void *user, unsigned what);
void count_and_stop(void *user, unsigned what);

#endif
