/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small ranges of shared memory that lie together in few memfds, so that thousands of them need few
 * descriptors and few memory maps at both ends. Each range has pages of its own. Any thread may
 * call.
 */
#ifndef IPC_SLAB_H
#define IPC_SLAB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/list.h"

enum {
	SLAB_BYTES_MAX = 4 << 20,
	SLAB_RANGE_MAX = 64 << 10, /* longer ranges should have a memfd of their own */
};

struct slabs {
	pthread_mutex_t lock;
	const char *name;
	size_t bytes;     /* of each slab */
	unsigned count;   /* slabs */
	struct list list; /* those that have a range in use */
	bool final; /* freed ranges keep their bytes: the other side still reads them at the end */
};

/* Pages of a slab. All zero: none. */
struct slab_range {
	struct slab *slab;
	int fd;          /* the slab's: it is shared with other ranges */
	uint64_t offset; /* in the fd */
	void *addr;
	size_t len;
};

/* No slab yet: the first range makes one. name: kept; shows in /proc. bytes: of each slab, a
 * multiple of SLAB_RANGE_MAX up to SLAB_BYTES_MAX. */
void slab_init(struct slabs *s, const char *name, size_t bytes);

/* No range is in use. */
void slab_deinit(struct slabs *s);

/* True if slab_alloc() of this length would make no slab. */
bool slab_fits(struct slabs *s, size_t length);

/* Zeroed pages for length bytes, 1 to SLAB_RANGE_MAX. Returns 0 or a negative errno value. */
int slab_alloc(struct slabs *s, size_t length, struct slab_range *ret);

/* Frees and zeroes *r. The pages must not be accessed any more. An all-zero *r is allowed. */
void slab_free(struct slabs *s, struct slab_range *r);

#endif
