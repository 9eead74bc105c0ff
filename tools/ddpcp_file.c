/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common.h"
#include "tools/ddpcp_name.h"

static int bad_kind(mode_t mode)
{
	return S_ISDIR(mode) ? -EISDIR : -EINVAL;
}

const char *ddpcp_file_fault(int r)
{
	return r == -EINVAL ? "not a regular file" : common_strerror(r);
}

/* The files of /proc have bytes and claim to have none. */
static int claims_to_be_empty(int fd, const struct stat *st)
{
	char byte;

	return st->st_size == 0 && pread(fd, &byte, 1, 0) > 0;
}

int ddpcp_file_open(int dir, const char *name, int follow, int *ret_fd, uint64_t *ret_size,
		    uint32_t *ret_mode)
{
	/* Not blocking: opening a FIFO must not wait for its writer. */
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW);
	int fd = openat(dir, name, flags), r = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode) || claims_to_be_empty(fd, &st))
		r = bad_kind(st.st_mode);
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret_fd = fd;
	*ret_size = (uint64_t)st.st_size;
	*ret_mode = st.st_mode & 0777;
	return 0;
}

/* Before the transfer, for rename() replaces devices and FIFOs. */
static int check_replaced(int dir, const char *base)
{
	struct stat st;

	if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? 0 : bad_kind(st.st_mode);
}

int ddpcp_file_create(struct ddpcp_file *f, int dir, const char *base)
{
	uint64_t random;
	int r;

	*f = (struct ddpcp_file){.dir = dir, .fd = -1};
	if (strlen(base) >= sizeof(f->base))
		return -ENAMETOOLONG;
	strcpy(f->base, base);
	r = check_replaced(dir, base);
	if (r < 0)
		return r;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	snprintf(f->temp, sizeof(f->temp), DDPCP_NAME_TEMP "%016llx", (unsigned long long)random);
	f->fd = openat(dir, f->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (f->fd < 0)
		return -errno;
	f->made = 1;
	return 0;
}

int ddpcp_file_commit(struct ddpcp_file *f, uint32_t mode)
{
	if (fchmod(f->fd, mode) < 0 || fsync(f->fd) < 0)
		return -errno;
	if (renameat(f->dir, f->temp, f->dir, f->base) < 0)
		return -errno;
	f->made = 0;
	return fsync(f->dir) < 0 ? -errno : 0;
}

void ddpcp_file_close(struct ddpcp_file *f)
{
	if (f->made)
		unlinkat(f->dir, f->temp, 0);
	if (f->fd >= 0)
		close(f->fd);
	if (f->dir >= 0)
		close(f->dir);
	*f = (struct ddpcp_file){.dir = -1, .fd = -1};
}

int ddpcp_file_pread(int fd, void *buf, size_t len, uint64_t off)
{
	while (len) {
		ssize_t n = pread(fd, buf, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		buf = (char *)buf + n;
		len -= (size_t)n;
		off += (uint64_t)n;
	}
	return 0;
}

int ddpcp_file_pwrite(int fd, const void *buf, size_t len, uint64_t off)
{
	while (len) {
		ssize_t n = pwrite(fd, buf, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		buf = (const char *)buf + n;
		len -= (size_t)n;
		off += (uint64_t)n;
	}
	return 0;
}
