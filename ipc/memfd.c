/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipc/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/checked.h"
#include "util/cleanup.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

static const struct {
	int err;
	const char *text;
} refusals[MEMFD_E_COUNT] = {
	[MEMFD_E_OK] = {0, "it is fine"},
	[MEMFD_E_NOT_MEMFD] = {EINVAL, "it is not a memfd"},
	[MEMFD_E_HUGE] = {EINVAL, "it is on huge pages"},
	[MEMFD_E_UNSEALED] = {EPERM, "it is not sealed against shrinking"},
	[MEMFD_E_RANGE] = {EINVAL, "it ends before the range"},
	[MEMFD_E_ACCESS] = {EPERM, "it is not opened for this access"},
	[MEMFD_E_WRITE_SEALED] = {EPERM, "it is sealed against writing"},
};

static bool known(int outcome)
{
	return outcome >= 0 && outcome < MEMFD_E_COUNT;
}

int memfd_errno(int outcome)
{
	return known(outcome) ? refusals[outcome].err : EINVAL;
}

const char *memfd_reason(int outcome)
{
	return known(outcome) ? refusals[outcome].text : "?";
}

/* Where vm.memfd_noexec is 2 the flag must be there; kernels before 6.3 do not know it. */
static int create(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

int memfd_create_sealed(const char *name, uint64_t size, int *ret_fd)
{
	autoclose int fd = create(name);

	if (fd < 0)
		return fd;
	if (size > INT64_MAX)
		return -EFBIG;
	if (ftruncate(fd, (off_t)size) < 0)
		return -errno;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

int memfd_create_mapped(const char *name, uint64_t size, int *ret_fd, void **ret_map)
{
	autoclose int fd = -1;
	void *map;
	int r;

	if (size > SIZE_MAX)
		return -EFBIG;
	r = memfd_create_sealed(name, size, &fd);
	if (r)
		return r;
	map = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret_fd = take_fd(&fd);
	*ret_map = map;
	return 0;
}

/* Returns 0, MEMFD_E_* or -errno, and the seals it has. */
static int check_seals(int fd, int *ret_seals)
{
	struct statfs fs;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0)
		return errno == EINVAL ? MEMFD_E_NOT_MEMFD : -errno;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if ((unsigned long)fs.f_type != TMPFS_MAGIC)
		return MEMFD_E_HUGE;
	if (!(seals & F_SEAL_SHRINK) && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) < 0)
		return errno == EPERM ? MEMFD_E_UNSEALED : -errno;
	*ret_seals = seals;
	return 0;
}

static int check_access(int fd, int seals, bool write)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	if ((flags & O_ACCMODE) == O_WRONLY || (write && (flags & O_ACCMODE) != O_RDWR))
		return MEMFD_E_ACCESS;
	if (write && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)))
		return MEMFD_E_WRITE_SEALED;
	return 0;
}

int memfd_verify(int fd, uint64_t offset, uint64_t len, bool write)
{
	struct stat st;
	int seals = 0;
	int r;

	r = check_seals(fd, &seals);
	if (r)
		return r;
	/* Reads the size after the seal was added: from here on it cannot shrink. */
	if (fstat(fd, &st) < 0)
		return -errno;
	if (len == 0 || !checked_range(offset, len, (uint64_t)st.st_size))
		return MEMFD_E_RANGE;
	return check_access(fd, seals, write);
}

int memfd_map_client(int fd, uint64_t offset, uint64_t len, bool write, struct memfd_map *ret)
{
	uint64_t skip = offset & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	int prot = write ? PROT_READ | PROT_WRITE : PROT_READ;
	off_t start = (off_t)(offset - skip);
	bool is_private = false;
	size_t map_len;
	void *map;
	int r;

	r = memfd_verify(fd, offset, len, write);
	if (r)
		return r;
	if (len > SIZE_MAX - skip)
		return -EOVERFLOW;
	map_len = (size_t)(len + skip);
	map = mmap(NULL, map_len, prot, MAP_SHARED, fd, start);
	/* Kernels before 6.7 refuse to share a write-sealed file. Private pages that are never
	 * written are those of the file. */
	if (map == MAP_FAILED && errno == EPERM && !write) {
		map = mmap(NULL, map_len, prot, MAP_PRIVATE, fd, start);
		is_private = true;
	}
	if (map == MAP_FAILED)
		return -errno;
	/* A dump of this process must not have the data of others. A kernel that cannot do that
	 * makes no dumps. */
	madvise(map, map_len, MADV_DONTDUMP);
	*ret = (struct memfd_map){(uint8_t *)map + skip, map, map_len, is_private};
	return 0;
}

void memfd_unmap(struct memfd_map *m)
{
	if (m->map)
		munmap(m->map, m->map_len);
	*m = (struct memfd_map){0};
}
