/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A heap for secrets, such as that of a library for cryptography: core dumps leave it out, and
 * freed blocks are wiped. Any thread may call. Memory of up to 64 KiB is kept for later blocks.
 */
#ifndef UTIL_UNDUMPED_HEAP_H
#define UTIL_UNDUMPED_HEAP_H

#include <stddef.h>

/* At least n bytes, aligned for every type. NULL: no memory. */
void *undumped_heap_alloc(size_t n);

/* As realloc(). */
void *undumped_heap_resize(void *p, size_t n);

/* NULL is fine. */
void undumped_heap_free(void *p);

#endif
