/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for messages of programs: core dumps leave it out, as they do the memory of programs.
 */
#ifndef UTIL_UNDUMPED_H
#define UTIL_UNDUMPED_H

#include <stddef.h>
#include <sys/mman.h>

/* Maps len bytes of zeros, or returns NULL and sets errno. more: further flags of mmap(). The
 * caller frees with undumped_unmap(). */
static inline void *undumped_map(size_t len, int more)
{
	void *mem =
		mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);

	if (mem == MAP_FAILED)
		return NULL;
	/* A kernel that cannot do that makes no dumps. */
	madvise(mem, len, MADV_DONTDUMP);
	return mem;
}

/* mem may be NULL. */
static inline void undumped_unmap(void *mem, size_t len)
{
	if (mem)
		munmap(mem, len);
}

#endif
