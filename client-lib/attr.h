/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attribute structs of programs that were built with an older or a newer header than the
 * library: they begin with their size, and members are only ever added at the end.
 */
#ifndef DDP_ATTR_H
#define DDP_ATTR_H

#include <stddef.h>

/*
 * Reads the caller's struct into *dst of dst_size bytes; what it does not have is 0. Returns 0;
 * -EINVAL if its size makes no sense; -E2BIG if it sets members that this library does not know.
 * call is for the sentence.
 */
int attr_read(const char *call, void *dst, size_t dst_size, const void *attr);

/* The caller's struct_size makes sense: 0 or -EINVAL. */
int attr_check(const char *call, const void *attr);

/* Writes as much of src as the caller's checked struct has room for, and 0 behind that. Its
 * struct_size stays. */
void attr_write(void *attr, const void *src, size_t src_size);

#endif
