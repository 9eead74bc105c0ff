/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into a daemon: counts the blocks of its heap in the file of BLOCKS_FILE, 8 bytes, for
 * tests that ask whether something is left. Knows the allocator of glibc.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* The C library's allocator under the names that nobody replaces. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

static _Atomic int64_t before; /* the file is open */
static _Atomic int64_t *blocks = &before;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("BLOCKS_FILE");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *p = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(*blocks)) == 0)
		p = mmap(NULL, sizeof(*blocks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return;
	atomic_store((_Atomic int64_t *)p, before);
	blocks = p;
}

static void *counted(void *p)
{
	if (p)
		atomic_fetch_add(blocks, 1);
	return p;
}

EXPORT void *malloc(size_t n)
{
	return counted(__libc_malloc(n));
}

EXPORT void *calloc(size_t n, size_t size)
{
	return counted(__libc_calloc(n, size));
}

EXPORT void *realloc(void *old, size_t n)
{
	void *p = __libc_realloc(old, n);

	return old ? p : counted(p);
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	return counted(__libc_memalign(align, n));
}

EXPORT int posix_memalign(void **ret, size_t align, size_t n)
{
	*ret = counted(__libc_memalign(align, n));
	return *ret ? 0 : 12;
}

EXPORT void free(void *p)
{
	if (p)
		atomic_fetch_sub(blocks, 1);
	__libc_free(p);
}
