/* SPDX-License-Identifier: BSD-2-Clause */
/* Children of this process, and orphans of theirs, which become its children. */
#ifndef VERBS_RUN_DESCENDANTS_H
#define VERBS_RUN_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on signals are blocked, orphans are children of this process, and the parent's end is a
 * signal. parent: 0 for a process that does not depend on it. False: the parent has ended already.
 */
bool descendants_adopt(pid_t parent);

/* Undoes the blocking, for a program that a child executes. */
void descendants_unblock(void);

/* Waits for a child and passes on signals that others than the terminal send. If the parent ends,
 * the child is killed. ended: called for each other child that ends. Returns the status of the
 * child. */
int descendants_wait(pid_t child, pid_t parent, void (*ended)(void *user, pid_t pid, int status),
		     void *user);

/* Ends all children but those that keep() names: by SIGTERM and, after the time of grace, by
 * SIGKILL. */
void descendants_end(unsigned grace_ms, bool (*keep)(void *user, pid_t pid), void *user);

/* Ends this process as the child ended. */
void descendants_exit_as(int status) __attribute__((noreturn));

#endif
