/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Touches memory before the daemon does: the kernel charges a page to the program that
 * touches it first.
 */
#ifndef DDP_POPULATE_H
#define DDP_POPULATE_H

#include <stddef.h>
#include <stdint.h>

/* Makes all pages of the memfd that hold these bytes, and changes none. Returns 0 or a negative
 * errno value: -ENOMEM or -EFAULT if the system has no more memory. */
int populate(int fd, uint64_t offset, size_t len);

#endif
