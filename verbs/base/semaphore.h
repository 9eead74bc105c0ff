/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor of a queue of events: readable if and only if there are some. It counts them;
 * programs wait for it, and may set O_NONBLOCK. The owner of the queue posts and takes with the
 * lock of the queue, and waits without it. Where semaphore_take() returns false, the queue owes
 * one: the next thread that has waited pays it with the lock, instead of taking an event, and waits
 * again.
 */
#ifndef VERBS_SEMAPHORE_H
#define VERBS_SEMAPHORE_H

#include <stdbool.h>

/* Returns a new descriptor, or -1 with errno. */
int semaphore_open(void);

/* Counts an event that was queued. */
void semaphore_post(int fd);

/* Waits for an event and counts it off. Returns 0, or -1 with errno: EAGAIN with O_NONBLOCK, EINTR.
 */
int semaphore_wait(int fd);

/* Counts an event off that was deleted. False: a thread that has waited did so, or the system
 * cannot without waiting. It never waits. */
bool semaphore_take(int fd);

#endif
