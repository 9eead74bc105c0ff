/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that stands in the daemon for a region that the daemon cannot map: a memfd that the
 * library lends, in which an agent of the program copies (agent.h).
 *
 *   [0, size)           the daemon reads it; the agent copies from the region to it
 *   [size, 2 * size)    the daemon writes it; the agent copies from it to the region
 *   [2 * size, total)   marks of the bytes that the daemon has written
 *
 * The two parts are apart, so that copying in one direction never undoes a write of the other. The
 * marks have three levels: a bit for each byte, for each SHADOW_PAGE bytes, and for 64 of those.
 * The daemon sets them and never reads them, so a program that writes there harms only itself.
 */
#ifndef IPC_SHADOW_H
#define IPC_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

enum { SHADOW_PAGE = 4096 };

#define SHADOW_MAX (UINT64_C(1) << 43) /* bytes of a region at most */

struct shadow_layout {
	uint64_t size;  /* of one part: whole pages */
	uint64_t total; /* of the memfd: whole pages */
};

/* The layout for `span` bytes, of which there are 1 .. SHADOW_MAX. */
struct shadow_layout shadow_layout(uint64_t span);

/* The marks, as one side has them mapped. */
struct shadow {
	uint64_t size;
	_Atomic uint64_t *bytes, *pages, *groups;
};

/* marks: the mapped bytes [2 * size, total). */
struct shadow shadow_at(void *marks, const struct shadow_layout *layout);

/* Daemon: marks len bytes from the offset `at` of the part that is written, after writing them. The
 * range lies in it. */
void shadow_mark(const struct shadow *s, uint64_t at, uint64_t len);

/* A range of marked bytes, by offset as above. */
typedef void shadow_fn(void *arg, uint64_t at, uint64_t len);

/* Library: takes all marks, then calls fn for each range. Bytes that are marked meanwhile are found
 * now or next time. One thread at a time. */
void shadow_take(const struct shadow *s, shadow_fn *fn, void *arg);

#endif
