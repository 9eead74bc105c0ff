/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shares memory of the program with the daemon at its address, if possible. Private pages are
 * adopted: they move to a sparse memfd, one for the whole process, which is mapped where they were.
 * The offset of a page in the file follows from its address and a generation, so regions that
 * overlap share pages, and memory that is mapped later at the address of an older region gets
 * another offset.
 *
 * /proc/self/maps shows which pages are adopted, and is read for each registration. So memory that
 * the program has unmapped or moved meanwhile is noticed. page_refs counts the regions that use a
 * page. When the last one ends, the page becomes private memory again.
 */
#ifndef DDP_OWN_MEMORY_H
#define DDP_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memfd_entry;

/* The shared memory behind a range of addresses. All zero: none. */
struct own_memory {
	int fd; /* valid until own_memory_put(); RUNG_AGENT: -1 */
	uint64_t offset;
	uint32_t rung;   /* RUNG_; RUNG_AGENT: no memory is shared */
	uint32_t reason; /* RUNG_REASON_ */

	struct memfd_entry *memfd; /* the memfd, if it is not the sparse one */
	uint64_t start, end;       /* pages of the sparse file that are counted; else 0 */
	unsigned epoch;            /* of the process: a forked child has none of these pages */
};

struct own_memory_how {
	bool write; /* the memory must be writable */
	bool quiet; /* no other thread accesses the pages during the call */
	bool gaps;  /* up to 16 private pages between the range and adopted ones may be adopted */
	bool agent; /* an agent may copy memory that can neither be shared nor adopted */
};

/*
 * Shares the pages of len bytes at addr, unless they are shared already. call: name of the public
 * function, for the reason. Returns 0, or a negative errno value with the reason set: -EINVAL if
 * len is 0; -EFAULT if the memory is not mapped or not readable; -EACCES if it is not writable;
 * -EOPNOTSUPP if it belongs to a device, or cannot be adopted and how->agent is not set; -ENOMEM;
 * or that of a system call.
 */
int own_memory_get(const char *call, const void *addr, size_t len, const struct own_memory_how *how,
		   struct own_memory *ret);

/* Ends this use. Pages that no region uses become private memory again, unless `keep` is set or
 * this system cannot do that. *m may be all zero. */
void own_memory_put(struct own_memory *m, bool keep);

#endif
