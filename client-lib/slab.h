/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small regions of a context share memfds, so that thousands of them need few descriptors here and
 * few memory maps here and in the daemon. Each region has pages of its own. Any thread may call.
 */
#ifndef CLIENT_LIB_SLAB_H
#define CLIENT_LIB_SLAB_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "util/list.h"

enum {
	SLAB_BYTES = 4 << 20,
	SLAB_RANGE_MAX = 64 << 10, /* longer regions have a memfd of their own */
};

struct slabs {
	pthread_mutex_t lock;
	struct list list; /* those that have a range in use */
};

/* Pages of a slab. All zero: none. */
struct slab_range {
	struct slab *slab;
	int fd;          /* the slab's: it is shared with other ranges */
	uint64_t offset; /* in the fd */
	void *addr;
	size_t len;
};

/* No slab yet: the first range makes one. */
void slab_init(struct slabs *s);

/* No range is in use. */
void slab_deinit(struct slabs *s);

/* Zeroed pages for length bytes, 1 to SLAB_RANGE_MAX. Returns 0 or a negative errno value. */
int slab_alloc(struct slabs *s, size_t length, struct slab_range *ret);

/* Frees and zeroes *r. The daemon must not access the pages any more. An all-zero *r is allowed. */
void slab_free(struct slabs *s, struct slab_range *r);

#endif
