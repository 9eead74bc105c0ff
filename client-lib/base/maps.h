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

/* Adjacent pages with the same properties. */
struct maps_area {
	uintptr_t start, end;
	int prot; /* PROT_ */
	enum maps_kind kind;
	uint64_t offset; /* of `start` in its file */
	dev_t dev;
	ino_t ino; /* 0: no file */
};

/* Reads one line, which ends with a newline or NUL. Returns 0, or -EINVAL if it has another form.
 */
int maps_parse(const char *line, struct maps_area *ret);

/* Called for each area in the order of addresses. Another value than 0 ends maps_each(). */
typedef int maps_fn(const struct maps_area *area, void *arg);

/*
 * Calls fn for each line of fd, a file like /proc/self/maps, from its start. Areas that change
 * during the call may overlap their neighbors. Returns 0, the result of fn that ended it, or a
 * negative errno value; -EINVAL for a line of another form.
 */
int maps_each(int fd, maps_fn *fn, void *arg);

/*
 * Calls fn for each area that overlaps [from, to), likewise. With PROCMAP_QUERY (Linux 6.11) it
 * reads these areas alone, on older kernels all areas before `to`.
 */
int maps_range(int fd, uintptr_t from, uintptr_t to, maps_fn *fn, void *arg);

/* The same for this process. */
int maps_each_own(maps_fn *fn, void *arg);
int maps_range_own(uintptr_t from, uintptr_t to, maps_fn *fn, void *arg);

/* From maps_hold() to maps_release() the calling thread opens the file of maps_range_own() once: to
 * open and close it takes most of the time of one range. */
void maps_hold(void);
void maps_release(void);

/* Returns vm.max_map_count, or 0 if it is unknown. */
unsigned long maps_max(void);

/* Returns true if this process has almost as many areas as vm.max_map_count permits, with both
 * numbers. */
bool maps_full(unsigned long *ret_areas, unsigned long *ret_max);

#endif
