/* SPDX-License-Identifier: BSD-2-Clause */
/* The memfds that regions of this process use, so that memory that lies in one of them is
 * recognized by its address. Any thread may call. */
#ifndef DDP_KNOWN_MEMFD_H
#define DDP_KNOWN_MEMFD_H

#include <sys/types.h>

struct known_memfd;

/* Takes a reference to the memfd behind the descriptor, which stays the caller's. Returns 0 or a
 * negative errno value. */
int known_memfd_get(int fd, struct known_memfd **ret);

/* Takes a reference to the memfd with that inode. NULL if it is not known. */
struct known_memfd *known_memfd_find(dev_t dev, ino_t ino);

/* A descriptor of it, as long as there is the reference. */
int known_memfd_fd(const struct known_memfd *k);

/* Drops the reference. NULL is fine. */
void known_memfd_put(struct known_memfd *k);

#endif
