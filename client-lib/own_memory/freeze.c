/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static struct uffdio_range range_of(void *addr, size_t len)
{
	return (struct uffdio_range){.start = (uintptr_t)addr, .len = len};
}

int freeze_open(struct freeze *ret, bool shared)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = shared ? UFFD_FEATURE_WP_HUGETLBFS_SHMEM : 0,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, UFFDIO_API, &api) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	ret->fd = fd;
	return 0;
}

void freeze_close(struct freeze *f)
{
	cleanup_close(&f->fd);
	f->fd = -1;
}

static int watch_pages(struct freeze *f, void *addr, size_t len, unsigned mode)
{
	struct uffdio_register req = {.range = range_of(addr, len), .mode = mode};

	return ioctl(f->fd, UFFDIO_REGISTER, &req) < 0 ? -errno : 0;
}

static void unwatch_pages(struct freeze *f, void *addr, size_t len)
{
	struct uffdio_range range = range_of(addr, len);

	ioctl(f->fd, UFFDIO_UNREGISTER, &range);
}

/* The system call itself, here and below: libraries that watch memory (UCX, libfabric) replace the
 * C library's mremap() by one that does not know this flag, and that looks into tables of theirs,
 * which may lie on the frozen pages. */
static void *move_pages_only(void *addr, size_t len)
{
	return (void *)syscall(SYS_mremap, addr, len, len, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
}

int freeze_take(struct freeze *f, void *addr, size_t len, void **ret_pages)
{
	void *pages;
	int r = watch_pages(f, addr, len, UFFDIO_REGISTER_MODE_MISSING);

	if (r)
		return r;
	pages = move_pages_only(addr, len);
	if (pages == MAP_FAILED) {
		r = -errno;
		unwatch_pages(f, addr, len);
		return r;
	}
	*ret_pages = pages;
	return 0;
}

int freeze_return(void *pages, void *addr, size_t len)
{
	return syscall(SYS_mremap, pages, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, addr) < 0
		       ? -errno
		       : 0;
}

static int protect(struct freeze *f, void *addr, size_t len, bool on)
{
	struct uffdio_writeprotect req = {
		.range = range_of(addr, len),
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(f->fd, UFFDIO_WRITEPROTECT, &req) < 0 ? -errno : 0;
}

int freeze_writes(struct freeze *f, void *addr, size_t len)
{
	int r = watch_pages(f, addr, len, UFFDIO_REGISTER_MODE_WP);

	if (r)
		return r;
	r = protect(f, addr, len, true);
	if (r)
		unwatch_pages(f, addr, len);
	return r;
}

void freeze_allow(struct freeze *f, void *addr, size_t len)
{
	protect(f, addr, len, false);
	unwatch_pages(f, addr, len);
}

void freeze_wake(struct freeze *f, void *addr, size_t len)
{
	struct uffdio_range range = range_of(addr, len);

	ioctl(f->fd, UFFDIO_WAKE, &range);
}
