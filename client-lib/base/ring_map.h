/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's rings, mapped here. Rings in one memfd share a mapping, so that thousands of them
 * need few memory maps. Any thread may call.
 */
#ifndef CLIENT_LIB_RING_MAP_H
#define CLIENT_LIB_RING_MAP_H

#include <pthread.h>
#include <stdint.h>

#include "ipc/memfd.h"
#include "util/list.h"

struct ring_map;

struct ring_maps {
	pthread_mutex_t lock;
	struct list list;
};

/* Initializes an empty list of mappings. */
void ring_maps_init(struct ring_maps *s);

/* Frees it. All references were dropped. */
void ring_maps_deinit(struct ring_maps *s);

/* Maps len bytes of a memfd of a reply; the caller closes the fd. Returns 0, -EPROTO if it cannot
 * be mapped safely, or another negative errno value, with the reason set. */
int ring_map_memfd(const char *call, int fd, uint64_t len, struct memfd_map *ret);

/*
 * Maps the memfd that the daemon sent, unless it is mapped already. The fd stays the caller's.
 * call: name of the public function, for the reason. Returns 0 with a reference and the address of
 * len valid bytes at offset; or a negative errno value with the reason set.
 */
int ring_map_get(struct ring_maps *s, const char *call, int fd, uint64_t offset, uint64_t len,
		 struct ring_map **ret, uint8_t **ret_addr);

/* Drops a reference. The last one unmaps. NULL is fine. */
void ring_map_put(struct ring_maps *s, struct ring_map *m);

#endif
