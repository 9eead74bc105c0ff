/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared memory of a queue's rings. Small rings of a client share memfds of RINGS_SLAB_BYTES,
 * because the kernel allows only vm.max_map_count maps. The client can write to a whole memfd, so
 * the whole memfd is charged.
 */
#ifndef DAEMON_OBJECTS_RINGS_H
#define DAEMON_OBJECTS_RINGS_H

#include <stdint.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "ipc/slab.h"

struct client;

#define RINGS_NAME "ddp-rings" /* of the memfds */

enum { RINGS_SLAB_BYTES = 512 << 10 };

/* The memfds that the small rings of a client share. */
struct rings_slabs {
	struct slabs slabs;
	struct acct_charge memory, maps, fds;
};

struct rings {
	struct client *client;
	uint8_t *mem;    /* NULL: none */
	uint64_t offset; /* in the memfd */
	uint64_t bytes;
	struct slab_range range;         /* shared memfd, or ... */
	struct acct_charge memory, maps; /* ... of its own */
};

/*
 * Makes rings of so many bytes, charges the client, and adds the memfd to the reply. The memory is
 * zeroed unless the client has written to it. Returns 0, or a refusal with *ret all zero.
 */
int rings_make(struct client *c, uint64_t bytes, struct rings *ret, struct reply *rep);

/* Frees, releases the charges and zeroes *r. An all-zero *r is allowed. */
void rings_free(struct rings *r);

#endif
