/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory map of this process, as /proc/self/maps shows it. */
#ifndef DDP_MAPS_H
#define DDP_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum maps_kind {
	MAPS_ANON,   /* private pages without a file: heap, bss, stacks, mmap() */
	MAPS_FILE,   /* private pages of a file: data segments */
	MAPS_SHARED, /* pages of a file, shared memory object or memfd, shared with its other users
		      */
	MAPS_SYSV,   /* System V shared memory */
	MAPS_HUGE,   /* huge pages without a file, private or shared */
	MAPS_DEVICE, /* registers, and rings of the kernel */
	MAPS_KERNEL, /* vdso and its like */
};

/* Pages that lie together and are alike. */
struct maps_area {
	uintptr_t start, end;
	int prot; /* PROT_ */
	enum maps_kind kind;
	uint64_t offset; /* of `start` in its file */
	dev_t dev;
	ino_t ino; /* 0: no file */
};

/* Reads one line, which ends with a newline or NUL. Returns 0, or -EINVAL if it is no such line. */
int maps_parse(const char *line, struct maps_area *ret);

/* Called for each area in the order of addresses. Another value than 0 ends maps_each(). */
typedef int maps_fn(const struct maps_area *area, void *arg);

/*
 * Calls fn for each line of fd, a file like /proc/self/maps that is read from its start. Areas that
 * change meanwhile may overlap their neighbors. Returns 0, what fn returned, or a negative errno
 * value; -EINVAL for a line of another form.
 */
int maps_each(int fd, maps_fn *fn, void *arg);

/*
 * Calls fn for each area that overlaps [from, to), likewise. Where the kernel can be asked for one
 * area (PROCMAP_QUERY, Linux 6.11), this takes as long as there are such areas. Elsewhere all areas
 * before `to` are read.
 */
int maps_range(int fd, uintptr_t from, uintptr_t to, maps_fn *fn, void *arg);

/* The same for this process. */
int maps_each_own(maps_fn *fn, void *arg);
int maps_range_own(uintptr_t from, uintptr_t to, maps_fn *fn, void *arg);

/* vm.max_map_count, or 0 if it is unknown. */
unsigned long maps_max(void);

/* How many areas this process has, and vm.max_map_count. True if it has almost as many. */
bool maps_full(unsigned long *ret_areas, unsigned long *ret_max);

#endif
