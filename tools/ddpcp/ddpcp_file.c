/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/common/tool.h"
#include "tools/ddpcp/ddpcp_name.h"

static int bad_kind(mode_t mode)
{
	return S_ISDIR(mode) ? -EISDIR : -EINVAL;
}

const char *ddpcp_file_fault(int r)
{
	switch (r) {
	case -EINVAL:
		return "not a regular file";
	case -EBUSY:
		return "another copy is writing this file";
	case -EEXIST:
		return "the file " DDPCP_NAME_TEMP "NAME in its directory is not a part of a copy "
		       "by this user: remove it";
	default:
		return message_strerror(r);
	}
}

/* The files of /proc have bytes and claim to have none. */
static int claims_to_be_empty(int fd, const struct stat *st)
{
	char byte;

	return st->st_size == 0 && pread(fd, &byte, 1, 0) > 0;
}

int ddpcp_file_open(int dir, const char *name, int follow, int *ret_fd, struct ddpcp_meta *ret_meta)
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
	*ret_meta = (struct ddpcp_meta){
		.size = (uint64_t)st.st_size,
		.mode = st.st_mode & 0777,
		.mtime = st.st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st.st_mtim.tv_nsec,
		.sparse = (uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size,
	};
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

/* .ddpcp-NAME; the end of a name that is too long for that becomes a sum of it. */
static void name_part(struct ddpcp_file *f, const char *base)
{
	enum { PREFIX = sizeof(DDPCP_NAME_TEMP) - 1, SUM = 17 };
	uint64_t sum = 14695981039346656037u; /* FNV-1a */

	strcpy(f->base, base);
	if (PREFIX + strlen(base) <= NAME_MAX) {
		snprintf(f->temp, sizeof(f->temp), DDPCP_NAME_TEMP "%.*s", NAME_MAX - PREFIX, base);
		return;
	}
	for (const char *c = base; *c; c++)
		sum = (sum ^ (unsigned char)*c) * 1099511628211u;
	snprintf(f->temp, sizeof(f->temp), DDPCP_NAME_TEMP "%.*s-%016llx", NAME_MAX - PREFIX - SUM,
		 base, (unsigned long long)sum);
}

/* Other users of the directory may have put something else there: a link to a file of this user. */
static int check_part(const struct ddpcp_file *f, const struct stat *st)
{
	struct stat named;

	if (!S_ISREG(st->st_mode) || st->st_uid != geteuid() || st->st_nlink > 1)
		return -EEXIST;
	/* Between open and lock the other copy may have ended. */
	if (fstatat(f->dir, f->temp, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	return named.st_ino == st->st_ino && named.st_dev == st->st_dev ? 0 : -EAGAIN;
}

/* Opens and locks it. -EAGAIN: another copy has renamed or removed it. */
static int open_part(struct ddpcp_file *f)
{
	const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	struct stat st;
	int r;

	f->fd = openat(f->dir, f->temp, flags, 0600);
	if (f->fd < 0)
		return errno == ELOOP || errno == EISDIR || errno == ENXIO ? -EEXIST : -errno;
	if (fstat(f->fd, &st) < 0)
		r = -errno;
	else if (flock(f->fd, LOCK_EX | LOCK_NB) < 0)
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
	else
		r = fstat(f->fd, &st) < 0 ? -errno : check_part(f, &st);
	if (r == 0) {
		f->made = true;
		f->have = (uint64_t)st.st_size;
		return 0;
	}
	close(f->fd);
	f->fd = -1;
	return r;
}

int ddpcp_file_create(struct ddpcp_file *f, int dir, const char *base)
{
	enum { TRIES = 16 };
	int r;

	*f = (struct ddpcp_file){.dir = dir, .fd = -1};
	if (strlen(base) >= sizeof(f->base))
		return -ENAMETOOLONG;
	name_part(f, base);
	r = check_replaced(dir, base);
	if (r < 0)
		return r;
	r = -EAGAIN;
	for (int i = 0; r == -EAGAIN && i < TRIES; i++)
		r = open_part(f);
	return r == -EAGAIN ? -EBUSY : r;
}

static int set_time(int fd, const struct ddpcp_meta *meta)
{
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = meta->mtime, .tv_nsec = meta->mtime_ns},
	};

	return futimens(fd, times) < 0 ? -errno : 0;
}

int ddpcp_file_dress(const struct ddpcp_file *f, const struct ddpcp_meta *meta, bool preserve,
		     uint32_t mask)
{
	if (fchmod(f->fd, preserve ? meta->mode : meta->mode & ~mask) < 0)
		return -errno;
	return preserve ? set_time(f->fd, meta) : 0;
}

int ddpcp_file_rename(struct ddpcp_file *f)
{
	if (renameat(f->dir, f->temp, f->dir, f->base) < 0)
		return -errno;
	f->made = false;
	return 0;
}

int ddpcp_file_commit(struct ddpcp_file *f, const struct ddpcp_meta *meta, bool preserve,
		      uint32_t mask)
{
	int r = ddpcp_file_dress(f, meta, preserve, mask);

	if (r == 0 && fsync(f->fd) < 0)
		r = -errno;
	if (r == 0)
		r = ddpcp_file_rename(f);
	if (r < 0)
		return r;
	return fsync(f->dir) < 0 ? -errno : 0;
}

void ddpcp_file_close(struct ddpcp_file *f, bool keep)
{
	if (f->made && !keep)
		unlinkat(f->dir, f->temp, 0);
	if (f->fd >= 0)
		close(f->fd);
	if (f->dir >= 0)
		close(f->dir);
	*f = (struct ddpcp_file){.dir = -1, .fd = -1};
}

int ddpcp_file_mkdir(int dir, const char *base, uint32_t mode)
{
	struct stat st;

	if (mkdirat(dir, base, mode | S_IRWXU) == 0)
		return 0;
	if (errno != EEXIST || fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int ddpcp_file_set_dir(int dir, const char *base, const struct ddpcp_meta *meta)
{
	int fd = openat(dir, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = fchmod(fd, meta->mode) < 0 ? -errno : set_time(fd, meta);
	close(fd);
	return r;
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

static bool is_zero(const uint8_t *p, size_t len)
{
	return len == 0 || (p[0] == 0 && !memcmp(p, p + 1, len - 1));
}

int ddpcp_file_pwrite_sparse(int fd, const void *buf, size_t len, uint64_t off)
{
	enum { BLOCK = 4096 };
	const uint8_t *p = buf;
	int r = 0;

	while (r == 0 && len) {
		size_t n = 0, last;

		do {
			last = len - n < BLOCK ? len - n : BLOCK;
			n += last;
		} while (!is_zero(p + n - last, last) && n < len);
		if (is_zero(p + n - last, last))
			r = ddpcp_file_pwrite(fd, p, n - last, off);
		else
			r = ddpcp_file_pwrite(fd, p, n, off);
		p += n;
		off += n;
		len -= n;
	}
	return r;
}

bool ddpcp_file_is_hole(int fd, uint64_t off, size_t len)
{
	off_t data = lseek(fd, (off_t)off, SEEK_DATA);

	return data < 0 ? errno == ENXIO : (uint64_t)data >= off + len;
}

int ddpcp_file_read(int fd, void *buf, size_t len, size_t *ret_len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, (char *)buf + done, len - done);

		if (n < 0 && (errno != EINTR || tool_stopped()))
			return -errno;
		if (n == 0)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	*ret_len = done;
	return 0;
}

int ddpcp_file_write(int fd, const void *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && (errno != EINTR || tool_stopped()))
			return -errno;
		n = n < 0 ? 0 : n;
		buf = (const char *)buf + n;
		len -= (size_t)n;
	}
	return 0;
}
