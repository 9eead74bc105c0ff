/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/populate.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/checked.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* A read makes a page of a memfd, too. Kernels before 5.14 need one for each page. */
static void read_pages(const uint8_t *p, size_t len, size_t page)
{
	for (size_t i = 0; i < len; i += page)
		(void)*(const volatile uint8_t *)(p + i);
}

static int populate_map(uint8_t *p, size_t len, size_t page)
{
	while (madvise(p, len, MADV_POPULATE_READ) < 0) {
		if (errno == EINVAL)
			read_pages(p, len, page);
		if (errno != EINTR && errno != EAGAIN)
			return errno == EINVAL ? 0 : -errno;
	}
	return 0;
}

int populate(int fd, uint64_t offset, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = offset % page;
	void *map;
	int r;

	len = checked_round_up(len + skip, page);
	map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, (off_t)(offset - skip));
	if (map == MAP_FAILED)
		return -errno;
	r = populate_map(map, len, page);
	munmap(map, len);
	return r;
}
