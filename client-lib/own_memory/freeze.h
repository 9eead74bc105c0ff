/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stops the other threads of this process at their next access to some pages, until these pages
 * have been replaced (userfaultfd). So each of their accesses happens before or after that.
 *
 * Without privilege (vm.unprivileged_userfaultfd = 0, no CAP_SYS_PTRACE) only accesses of the
 * program itself wait. A system call that accesses the pages at that time fails with EFAULT, or
 * transfers fewer bytes. With privilege it waits, too.
 *
 * Between freezing and waking, a thread must not touch the pages itself, not even its stack or
 * errno.
 */
#ifndef DDP_FREEZE_H
#define DDP_FREEZE_H

#include <stdbool.h>
#include <stddef.h>

struct freeze {
	int fd;
};

/* Opens it for private pages or, with `shared`, for pages of a memfd. Returns 0, or a negative
 * errno value if this system does not support that: -EPERM, -ENOSYS, -EINVAL and others. */
int freeze_open(struct freeze *ret, bool shared);

/* Wakes all threads, and closes it. */
void freeze_close(struct freeze *f);

/*
 * Moves private pages without a file to another address, which only the caller knows, and stops
 * every access to the old one. Returns 0, or a negative errno value without any change. After that
 * the caller puts other pages at the old address, or these by freeze_return(), and wakes.
 */
int freeze_take(struct freeze *f, void *addr, size_t len, void **ret_pages);

/* Moves the pages back to their old address. */
int freeze_return(void *pages, void *addr, size_t len);

/* Stops writes to shared pages of a memfd. Returns 0 or a negative errno value. After that the
 * caller puts other pages there, or calls freeze_allow(), and wakes. */
int freeze_writes(struct freeze *f, void *addr, size_t len);

/* Allows writes to the same pages again. */
void freeze_allow(struct freeze *f, void *addr, size_t len);

/* Wakes the threads that wait for one of these pages. */
void freeze_wake(struct freeze *f, void *addr, size_t len);

#endif
