/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/dtls/dtls_memory.h"

#include <openssl/crypto.h>

#include "util/undumped_heap.h"

static void *alloc_hidden(size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return n > 0 ? undumped_heap_alloc(n) : NULL;
}

static void *resize_hidden(void *p, size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return undumped_heap_resize(p, n);
}

static void free_hidden(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	undumped_heap_free(p);
}

bool dtls_memory_hide(void)
{
	return CRYPTO_set_mem_functions(alloc_hidden, resize_hidden, free_hidden) == 1;
}
