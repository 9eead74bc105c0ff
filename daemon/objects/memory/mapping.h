/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of a client's memfds, mapped here. Regions of one client that lie close together in one
 * memfd share a mapping, because the kernel allows only vm.max_map_count of them.
 */
#ifndef DAEMON_OBJECTS_MAPPING_H
#define DAEMON_OBJECTS_MAPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "daemon/objects/memory/holes.h"
#include "ipc/memfd.h"

struct client;

enum {
	/* Mappings begin and end at multiples of it, or at the end of the memfd. It is the most
	   address space that a small region takes. */
	MAPPING_WINDOW = 64 << 20,
};

/* A page of a memfd that is always a hole. All mappings of a client of the same memfd have one, but
 * those up to the end of a memfd that cannot grow have the page after it instead. */
struct mapping_witness {
	uint8_t *page; /* not readable */
	uint32_t users;
	struct acct_charge charge;
};

struct mapping {
	/* The key: mappings of a client with the same key are one. */
	dev_t dev;
	ino_t ino;
	uint64_t start, end; /* bytes of the memfd */
	bool may_write;      /* the descriptor allowed writing */
	bool write;          /* mapped for writing */
	bool to_end;         /* it ends with the memfd, which cannot grow */

	struct client *client;
	uint32_t users; /* references */
	struct memfd_map map;
	struct acct_charge charge;
	struct mapping_witness *witness; /* NULL: there is no map, or to_end */
	uint8_t *hole;                   /* the page that is always one */
	struct holes_filled holes;
};

/*
 * Verifies the memfd, then finds or makes a mapping that covers [offset, offset + len). A new one
 * is charged to the client. The fd stays the caller's. Returns 0 and a reference, or a refusal.
 */
int mapping_get(struct client *c, int fd, uint64_t offset, uint64_t len, bool write,
		struct mapping **ret, struct reply *rep);

/* Another reference to the same memory: to m, or if `write` is set and m is mapped for reading
 * only, to a mapping for writing. Returns 0 or a refusal, -EACCES if the descriptor did not allow
 * it. */
int mapping_share(struct mapping *m, bool write, struct mapping **ret, struct reply *rep);

/* Where the byte at `offset` of the memfd is mapped; the mapping must cover it. */
uint8_t *mapping_at(const struct mapping *m, uint64_t offset);

/* Drops a reference. The last one unmaps and releases the charge. NULL is fine. */
void mapping_put(struct mapping *m);

#endif
