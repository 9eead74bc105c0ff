/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of an association: a mapping of its own, and blocks of the pool. */
#ifndef DAEMON_NET_ASSOCIATION_MEMORY_H
#define DAEMON_NET_ASSOCIATION_MEMORY_H

#include <stdbool.h>

#include "daemon/net/association.h"

/* Reserves the blocks. Who opens an association does so first, and its program gets the reason at
 * once. False: the pool has none left. */
bool association_memory_reserve(struct association *assoc);

/* Makes assoc.ddp, with its blocks. 0 or -ENOMEM. */
int association_memory_make(struct association *assoc, const struct llp_info *info);

/* Frees both, as far as they are there. */
void association_memory_free(struct association *assoc);

#endif
