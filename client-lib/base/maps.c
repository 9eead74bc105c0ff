/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "util/cleanup.h"

enum {
	BUFFER = 8192, /* more than the kernel returns at once, and than the longest line */
	NAME = 512,    /* of one area; longer ones are read from their line */
	ENOUGH = 1,    /* result of a function that needs no more areas */
};

/* PROCMAP_QUERY, which headers have since Linux 6.11. */
struct query {
	uint64_t size;
	uint64_t flags, at; /* of the question */
	uint64_t start, end, rights, page_size, offset, ino;
	uint32_t major, minor;
	uint32_t name_size, build_id_size;
	uint64_t name, build_id; /* addresses */
};

enum { READABLE = 1, WRITABLE = 2, EXECUTABLE = 4, SHARED = 8, OR_NEXT = 16 };

#define MAPS_QUERY _IOWR('f', 17, struct query)

/* Reads a hexadecimal number and the separator after it. */
static bool take_hex(const char **s, char separator, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(*s, &end, 16);
	if (end == *s || *end != separator || errno)
		return false;
	*s = end + 1;
	return true;
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* Registers, and rings that the kernel accesses as well: never memory to register. */
static bool is_device(const char *name)
{
	if (begins(name, "/dev/"))
		return !begins(name, "/dev/zero") && !begins(name, "/dev/shm/") &&
		       !begins(name, "/dev/hugepages/");
	if (begins(name, "anon_inode:"))
		return !begins(name, "anon_inode:dmabuf");
	return begins(name, "socket:") || begins(name, "/sys/") || begins(name, "/proc/");
}

static enum maps_kind kind_of(bool shared, ino_t ino, const char *name)
{
	if (begins(name, "[vdso]") || begins(name, "[vvar") || begins(name, "[vsyscall]") ||
	    begins(name, "[uprobes]"))
		return MAPS_KERNEL;
	if (begins(name, "/SYSV"))
		return MAPS_SYSV;
	if (begins(name, "/anon_hugepage"))
		return MAPS_HUGE;
	if (shared && begins(name, "/dev/zero"))
		return MAPS_SHARED; /* without a name: MAP_SHARED | MAP_ANONYMOUS */
	if (is_device(name))
		return MAPS_DEVICE;
	if (shared)
		return MAPS_SHARED;
	return ino == 0 || begins(name, "/dev/zero") ? MAPS_ANON : MAPS_FILE;
}

int maps_parse(const char *line, struct maps_area *ret)
{
	uint64_t start, end, offset, major, minor;
	struct maps_area a = {0};
	const char *rights;
	char *rest;

	if (!take_hex(&line, '-', &start) || !take_hex(&line, ' ', &end) || end <= start)
		return -EINVAL;
	rights = line;
	if (strnlen(rights, 5) < 5 || rights[4] != ' ')
		return -EINVAL;
	line += 5;
	if (!take_hex(&line, ' ', &offset) || !take_hex(&line, ':', &major) ||
	    !take_hex(&line, ' ', &minor))
		return -EINVAL;
	a.ino = strtoull(line, &rest, 10);
	if (rest == line)
		return -EINVAL;
	a.start = (uintptr_t)start;
	a.end = (uintptr_t)end;
	a.offset = offset;
	a.dev = makedev((unsigned)major, (unsigned)minor);
	a.prot = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
		 (rights[2] == 'x' ? PROT_EXEC : 0);
	a.kind = kind_of(rights[3] == 's', a.ino, rest + strspn(rest, " "));
	*ret = a;
	return 0;
}

/* Passes on the complete lines of the buffer and removes them. Returns as maps_each(). */
static int take_lines(char *buf, size_t *used, maps_fn *fn, void *arg)
{
	char *line = buf, *end;
	struct maps_area area;
	int r;

	while ((end = memchr(line, '\n', *used - (size_t)(line - buf)))) {
		*end = '\0';
		r = maps_parse(line, &area);
		if (r == 0)
			r = fn(&area, arg);
		if (r)
			return r;
		line = end + 1;
	}
	*used -= (size_t)(line - buf);
	memmove(buf, line, *used);
	return 0;
}

int maps_each(int fd, maps_fn *fn, void *arg)
{
	char buf[BUFFER];
	size_t used = 0;
	ssize_t n;
	int r;

	while ((n = read(fd, buf + used, sizeof(buf) - used)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		used += (size_t)n;
		r = take_lines(buf, &used, fn, arg);
		if (r)
			return r;
		if (used == sizeof(buf))
			return -EINVAL;
	}
	return used == 0 ? 0 : -EINVAL;
}

/* Finds the first area that ends behind `at`. Returns 0, -ENOENT if there is none, or another
 * negative errno value: read the lines. */
static int next_area(int fd, uintptr_t at, struct maps_area *ret)
{
	char name[NAME] = "";
	struct query q = {
		.size = sizeof(q),
		.flags = OR_NEXT,
		.at = at,
		.name_size = sizeof(name),
		.name = (uintptr_t)name,
	};

	if (ioctl(fd, MAPS_QUERY, &q) < 0)
		return -errno;
	*ret = (struct maps_area){
		.start = (uintptr_t)q.start,
		.end = (uintptr_t)q.end,
		.prot = (q.rights & READABLE ? PROT_READ : 0) |
			(q.rights & WRITABLE ? PROT_WRITE : 0) |
			(q.rights & EXECUTABLE ? PROT_EXEC : 0),
		.kind = kind_of(q.rights & SHARED, q.ino, name),
		.offset = q.offset,
		.dev = makedev(q.major, q.minor),
		.ino = q.ino,
	};
	return 0;
}

/* Of the areas that maps_each() reads. */
struct range {
	uintptr_t from, to;
	maps_fn *fn;
	void *arg;
	int result;
};

static int in_range(const struct maps_area *area, void *arg)
{
	struct range *range = arg;

	if (area->end <= range->from)
		return 0;
	if (area->start < range->to)
		range->result = range->fn(area, range->arg);
	return range->result || area->end >= range->to ? ENOUGH : 0;
}

/* A descriptor that maps_hold() keeps was read before. */
static int read_range(int fd, struct range *range)
{
	int r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : maps_each(fd, in_range, range);

	return r == ENOUGH ? range->result : r;
}

int maps_range(int fd, uintptr_t from, uintptr_t to, maps_fn *fn, void *arg)
{
	struct range range = {from, to, fn, arg, 0};
	struct maps_area area;
	int r;

	while (range.from < to) {
		r = next_area(fd, range.from, &area);
		if (r == -ENOENT)
			return 0;
		if (r)
			return read_range(fd, &range);
		if (in_range(&area, &range))
			return range.result;
		range.from = area.end;
	}
	return 0;
}

static _Thread_local int held = -1;

static int open_own(void)
{
	return open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

void maps_hold(void)
{
	held = open_own();
}

void maps_release(void)
{
	cleanup_close(&held);
	held = -1;
}

int maps_range_own(uintptr_t from, uintptr_t to, maps_fn *fn, void *arg)
{
	autoclose int fd = held < 0 ? open_own() : -1;

	if (held < 0 && fd < 0)
		return -errno;
	return maps_range(held < 0 ? fd : held, from, to, fn, arg);
}

int maps_each_own(maps_fn *fn, void *arg)
{
	autoclose int fd = open_own();

	return fd < 0 ? -errno : maps_each(fd, fn, arg);
}

static int count(const struct maps_area *area, void *areas)
{
	(void)area;
	++*(unsigned long *)areas;
	return 0;
}

unsigned long maps_max(void)
{
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long max = 0;

	if (f && fscanf(f, "%lu", &max) != 1)
		max = 0;
	if (f)
		fclose(f);
	return max;
}

bool maps_full(unsigned long *ret_areas, unsigned long *ret_max)
{
	enum { MOST_SPLITS = 16 }; /* areas that one adoption adds before it fails */
	unsigned long areas = 0, max = maps_max();

	if (max == 0 || maps_each_own(count, &areas) || areas + MOST_SPLITS < max)
		return false;
	*ret_areas = areas;
	*ret_max = max;
	return true;
}
