/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/sparse.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ipc/memfd.h"
#include "util/cleanup.h"

/* The longest file of whole pages, for every page size. */
static const uint64_t SIZE = INT64_MAX & ~(uint64_t)0xffff;

enum { FEW_PAGES = 16 };

int sparse_open(struct sparse *ret)
{
	struct rlimit limit;
	struct stat st;
	int fd, r;

	/* A file that passes the limit would end the program with SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < SIZE)
		return -EFBIG;
	r = memfd_create_sealed("ddp-adopted", SIZE, &fd);
	if (r)
		return r;
	if (fstat(fd, &st) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret = (struct sparse){.fd = fd, .dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

void sparse_close(struct sparse *s)
{
	cleanup_close(&s->fd);
	*s = (struct sparse){.fd = -1};
}

bool sparse_data(const struct sparse *s, uint64_t *start, uint64_t *end)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	off_t data = lseek(s->fd, (off_t)*start, SEEK_DATA), hole;

	if (data < 0 || (uint64_t)data >= *end)
		return false;
	/* The kernel looks for a hole page by page, also in those of other regions behind the end.
	 */
	if (*end - (uint64_t)data <= FEW_PAGES * page)
		hole = data + (off_t)page;
	else
		hole = lseek(s->fd, data, SEEK_HOLE);
	if (hole > 0 && (uint64_t)hole < *end)
		*end = (uint64_t)hole;
	*start = (uint64_t)data;
	return true;
}

void sparse_punch(const struct sparse *s, uint64_t start, uint64_t end)
{
	int r;

	do
		r = fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start,
			      (off_t)(end - start));
	while (r < 0 && errno == EINTR);
}

/* The system calls themselves where that is possible: sanitizers check the arguments of the
 * functions, but the pages hold objects of others. */
static ssize_t write_at(int fd, const void *p, size_t n, uint64_t offset)
{
#ifdef __LP64__
	return syscall(SYS_pwrite64, fd, p, n, offset);
#else
	return pwrite(fd, p, n, (off_t)offset);
#endif
}

static ssize_t read_at(int fd, void *p, size_t n, uint64_t offset)
{
#ifdef __LP64__
	return syscall(SYS_pread64, fd, p, n, offset);
#else
	return pread(fd, p, n, (off_t)offset);
#endif
}

int sparse_write(const struct sparse *s, uint64_t offset, const void *p, size_t n)
{
	const char *from = p;

	while (n) {
		ssize_t done = write_at(s->fd, from, n, offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		from += done;
		offset += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

int sparse_read(const struct sparse *s, uint64_t offset, void *p, size_t n)
{
	char *to = p;

	while (n) {
		ssize_t done = read_at(s->fd, to, n, offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		to += done;
		offset += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}
