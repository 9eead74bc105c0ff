/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of the program that becomes shared with the daemon in place, if possible. Private pages
 * are adopted: they move to a sparse memfd, which is one for the whole process, and is mapped where
 * they were. The place of a page in the file follows from its address and a generation, so regions
 * that overlap share pages, and memory that is mapped later at the address of an older region has
 * another place.
 *
 * What is adopted stands in /proc/self/maps and is read from there each time, so memory that was
 * unmapped or moved meanwhile is noticed. page_refs counts the regions that use a page. When the
 * last one is gone, the page becomes private memory again.
 */
#ifndef DDP_OWN_MEMORY_H
#define DDP_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct known_memfd;

/* The shared memory behind a range of addresses. All zero: none. */
struct own_memory {
	int fd; /* as long as own_memory_put() is not called; RUNG_AGENT: -1 */
	uint64_t offset;
	uint32_t rung;   /* RUNG_; RUNG_AGENT: nothing is shared */
	uint32_t reason; /* RUNG_REASON_ */

	struct known_memfd *known; /* the memfd, if it is not the sparse one */
	uint64_t start, end;       /* pages of the sparse file that are counted; else 0 */
	unsigned epoch;            /* of the process: a forked child has none of these pages */
};

struct own_memory_how {
	bool write; /* the memory has to be writable */
	bool quiet; /* no other thread accesses the pages during the call */
	bool gaps;  /* the few private pages up to the next adopted ones may be adopted as well */
	bool agent; /* memory that can neither be shared nor adopted may be copied by an agent */
};

/*
 * Makes len bytes at addr, or as many whole pages as they need, shared memory, if they are not
 * already. call: name of the public function, for the reason.
 * Returns 0, or a failure with the reason set: -EINVAL, -EFAULT: not mapped or not readable,
 * -EACCES: not writable, -EOPNOTSUPP: of a device, or cannot be adopted and there is no agent,
 * -ENOMEM or another errno value.
 */
int own_memory_get(const char *call, const void *addr, size_t len, const struct own_memory_how *how,
		   struct own_memory *ret);

/* Ends this use. Pages without any use become private memory again, unless `keep` is set or this
 * system cannot. An all-zero *m is fine. */
void own_memory_put(struct own_memory *m, bool keep);

#endif
