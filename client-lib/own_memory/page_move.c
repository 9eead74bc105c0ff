/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/own_memory/page_move.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	CHUNK = 2 << 20, /* threads wait at most for the copy of so many bytes */
	ENTRIES = 512,   /* of the page map, read at once */
};

/* Bits of an entry of /proc/self/pagemap. */
static const uint64_t PAGE_PRESENT = 1ULL << 63;
static const uint64_t PAGE_SWAPPED = 1ULL << 62;

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* The number of pages from the first one that are alike: all with data, or all without. */
static size_t alike(const uint64_t *map, size_t n, bool *ret_data)
{
	const uint64_t data = PAGE_PRESENT | PAGE_SWAPPED;
	size_t i = 1;

	*ret_data = map[0] & data;
	while (i < n && !(map[i] & data) == !*ret_data)
		i++;
	return i;
}

/* Copies those of up to ENTRIES pages at p that were touched. */
static int copy_some(const struct page_move *m, const uint64_t *map, size_t n, const char *p,
		     uint64_t offset)
{
	const size_t page = page_size();
	bool data;
	int r = 0;

	for (size_t i = 0, run; i < n && r == 0; i += run) {
		run = alike(map + i, n - i, &data);
		if (data)
			r = sparse_write(m->file, offset + i * page, p + i * page, run * page);
	}
	return r;
}

static int copy_touched(const struct page_move *m, const char *p, size_t len, uint64_t offset)
{
	const size_t page = page_size();
	uint64_t map[ENTRIES];
	int r = 0;

	for (size_t done = 0, n; done < len && r == 0; done += n * page) {
		off_t at = (off_t)(((uintptr_t)p + done) / page * sizeof(map[0]));

		n = (len - done) / page;
		if (n > ENTRIES)
			n = ENTRIES;
		if (pread(m->pagemap, map, n * sizeof(map[0]), at) != (ssize_t)(n * sizeof(map[0])))
			return -EIO;
		r = copy_some(m, map, n, p + done, offset + done);
	}
	return r;
}

static int copy_to_file(const struct page_move *m, const void *p, size_t len, uint64_t offset,
			bool all)
{
	if (all || m->pagemap < 0)
		return sparse_write(m->file, offset, p, len);
	return copy_touched(m, p, len, offset);
}

/* The system call itself where that is possible: for the thread sanitizer the function writes to
 * the pages, but the bytes stay the same. */
static int map_at(void *addr, size_t len, int prot, int flags, int fd, uint64_t offset)
{
#ifdef __LP64__
	void *p = (void *)syscall(SYS_mmap, addr, len, prot, flags | MAP_FIXED, fd, offset);
#else
	void *p = mmap(addr, len, prot, flags | MAP_FIXED, fd, (off_t)offset);
#endif

	return p == MAP_FAILED ? -errno : 0;
}

static int map_file(const struct page_move *m, void *addr, size_t len, int prot, uint64_t offset)
{
	return map_at(addr, len, prot, MAP_SHARED, m->file->fd, offset);
}

static int map_private(void *addr, size_t len)
{
	return map_at(addr, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Moves a chunk in while other threads run. */
static int freeze_in(const struct page_move *m, void *addr, size_t len, int prot, uint64_t offset)
{
	void *pages;
	int r = freeze_take(m->freeze, addr, len, &pages);

	if (r)
		return r;
	r = copy_to_file(m, pages, len, offset, false);
	if (r == 0)
		r = map_file(m, addr, len, prot, offset);
	if (r == 0)
		munmap(pages, len);
	else
		freeze_return(pages, addr, len);
	freeze_wake(m->freeze, addr, len);
	return r;
}

int page_move_in(const struct page_move *m, const struct maps_area *area, uint64_t offset)
{
	int r = 0;

	for (uintptr_t at = area->start, n; at < area->end && r == 0; at += n, offset += n) {
		n = area->end - at < CHUNK ? area->end - at : CHUNK;
		if (m->freeze) {
			r = freeze_in(m, (void *)at, n, area->prot, offset);
			continue;
		}
		r = copy_to_file(m, (void *)at, n, offset, area->kind == MAPS_FILE);
		if (r == 0)
			r = map_file(m, (void *)at, n, area->prot, offset);
	}
	return r;
}

/* Copies the data of [offset, offset + len) of the file to fresh pages. */
static int copy_from_file(const struct page_move *m, char *to, size_t len, uint64_t offset)
{
	const uint64_t begin = offset, limit = offset + len;
	uint64_t end = limit;
	int r = 0;

	for (; r == 0 && offset < limit && sparse_data(m->file, &offset, &end);
	     offset = end, end = limit)
		r = sparse_read(m->file, offset, to + (offset - begin), end - offset);
	return r;
}

/* While no other thread runs: pages that are mapped at the address itself join their neighbors, so
 * a registration leaves no memory map behind. Those that were moved there never do. */
static int move_out_alone(const struct page_move *m, void *addr, size_t len, int prot,
			  uint64_t offset)
{
	int r = map_private(addr, len);

	if (r)
		return r;
	r = copy_from_file(m, addr, len, offset);
	if (r == 0 && prot != (PROT_READ | PROT_WRITE) && mprotect(addr, len, prot) < 0)
		r = -errno;
	if (r)
		map_file(m, addr, len, prot, offset); /* with all its bytes */
	return r;
}

static int move_out(const struct page_move *m, void *addr, size_t len, int prot, uint64_t offset,
		    void *spare)
{
	int r = freeze_writes(m->freeze, addr, len);

	if (r)
		return r;
	r = copy_from_file(m, spare, len, offset);
	if (r == 0 && prot != (PROT_READ | PROT_WRITE) && mprotect(spare, len, prot) < 0)
		r = -errno;
	if (r == 0)
		r = freeze_return(spare, addr, len);
	if (r)
		freeze_allow(m->freeze, addr, len);
	freeze_wake(m->freeze, addr, len);
	return r;
}

/*
 * From the end: the search for a hole behind the data of a chunk then finds the pages that were
 * just freed. The other way it would look at all data that is left, for each chunk.
 */
int page_move_out(const struct page_move *m, const struct maps_area *area, void *spare)
{
	for (size_t left = area->end - area->start; left > 0;) {
		const size_t n = left < CHUNK ? left : CHUNK, to = left - n;
		void *at = (void *)(area->start + to);
		const uint64_t offset = area->offset + to;
		int r = m->freeze ? move_out(m, at, n, area->prot, offset, (char *)spare + to)
				  : move_out_alone(m, at, n, area->prot, offset);

		if (r && spare)
			munmap(spare, left);
		if (r)
			return r;
		sparse_punch(m->file, offset, offset + n);
		left = to;
	}
	return 0;
}
