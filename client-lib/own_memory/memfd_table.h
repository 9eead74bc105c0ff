/* SPDX-License-Identifier: BSD-2-Clause */
/* The memfds that regions of this process use, by inode: memory that maps one of them is
 * recognized. Any thread may call. */
#ifndef DDP_MEMFD_TABLE_H
#define DDP_MEMFD_TABLE_H

#include <sys/types.h>

struct memfd_entry;

/* Takes a reference to the entry of the memfd, which is added if there is none. The entry has a
 * descriptor of its own; fd stays the caller's. Returns 0 or a negative errno value. */
int memfd_table_get(int fd, struct memfd_entry **ret);

/* Takes a reference to the entry with that inode. NULL if there is none. */
struct memfd_entry *memfd_table_find(dev_t dev, ino_t ino);

/* The entry's descriptor, valid while the caller has its reference. */
int memfd_table_fd(const struct memfd_entry *m);

/* Drops a reference. m may be NULL. */
void memfd_table_put(struct memfd_entry *m);

#endif
