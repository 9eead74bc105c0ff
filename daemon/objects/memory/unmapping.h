/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mappings of clients' memory that are no longer used. To unmap pages that were touched takes some
 * 70 us for each MiB, so large mappings are unmapped in pieces, in the turns of the event loop.
 * What waits keeps its charge, and is bounded: beyond that the oldest go at once.
 */
#ifndef DAEMON_OBJECTS_UNMAPPING_H
#define DAEMON_OBJECTS_UNMAPPING_H

#include <stdbool.h>

#include "daemon/base/acct.h"
#include "ipc/memfd.h"

struct worker;

/* Takes the map and its charge over. */
void unmapping_add(struct worker *w, struct memfd_map *map, struct acct_charge *charge);

/* Unmaps pieces for some time. True if there are more. */
bool unmapping_run(struct worker *w);

/* Unmaps all. True if there was anything. */
bool unmapping_finish(struct worker *w);

#endif
