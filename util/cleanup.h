/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scope cleanup: a local variable that is freed whenever its scope is left. A constructor builds
 * its object in such a variable and returns it with take_ptr().
 */
#ifndef UTIL_CLEANUP_H
#define UTIL_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define cleanup(fn) __attribute__((cleanup(fn)))

/* Transfers ownership: evaluates to the pointer and sets the variable to NULL. */
#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

/* Transfers ownership: returns the file descriptor and sets the variable to -1. */
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
