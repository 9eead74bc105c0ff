/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scope cleanup: a local that frees itself on every way out of its scope.
 * A constructor builds into such a local and hands it over with take_ptr().
 */
#ifndef UTIL_CLEANUP_H
#define UTIL_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define cleanup(fn) __attribute__((cleanup(fn)))

/* Gives the pointer away: evaluates to its value and leaves NULL behind. */
#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

/* Gives the file descriptor away: evaluates to its value and leaves -1 behind. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define autofree cleanup(cleanup_free)
#define autoclose cleanup(cleanup_close)

#endif
