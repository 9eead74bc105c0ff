/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attribute structs of programs that were built with an older or newer header than the
 * library: they begin with their size, and members are only ever added at the end.
 */
#ifndef DDP_ATTR_H
#define DDP_ATTR_H

#include <stddef.h>

/*
 * Reads the caller's struct into *dst of dst_size bytes; members that it lacks become 0. Returns 0;
 * -EINVAL if its size is invalid; -E2BIG if it sets members that this library does not know.
 * call: name of the public function, for the reason.
 */
int attr_read(const char *call, void *dst, size_t dst_size, const void *attr);

/* Checks the caller's struct_size. Returns 0 or -EINVAL. */
int attr_check(const char *call, const void *attr);

/* Writes src to the caller's struct, whose size was checked: as much as fits, and 0 to the rest.
 * Keeps its struct_size. */
void attr_write(void *attr, const void *src, size_t src_size);

#endif
