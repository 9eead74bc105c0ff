/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/attr.h"

#include <errno.h>
#include <string.h>

#include "client-lib/base/reason.h"

enum { LARGEST = 4096 }; /* a greater struct_size was not set */

static size_t size_of(const void *attr)
{
	size_t size;

	memcpy(&size, attr, sizeof(size));
	return size;
}

int attr_check(const char *call, const void *attr)
{
	size_t size = size_of(attr);

	if (size < sizeof(size) || size > LARGEST)
		return reason_fail(-EINVAL, "%s: struct_size is %zu: set it to sizeof the struct",
				   call, size);
	return 0;
}

int attr_read(const char *call, void *dst, size_t dst_size, const void *attr)
{
	const unsigned char *p = attr;
	size_t size = size_of(attr);
	int r = attr_check(call, attr);

	if (r)
		return r;
	for (size_t i = dst_size; i < size; i++) {
		if (p[i] != 0)
			return reason_fail(
				-E2BIG,
				"%s: byte %zu of the attributes is set, but this library "
				"knows only %zu",
				call, i, dst_size);
	}
	memset(dst, 0, dst_size);
	memcpy(dst, attr, size < dst_size ? size : dst_size);
	return 0;
}

void attr_write(void *attr, const void *src, size_t src_size)
{
	size_t size = size_of(attr);
	size_t head = sizeof(size);
	size_t end = size < src_size ? size : src_size;

	memcpy((char *)attr + head, (const char *)src + head, end - head);
	memset((char *)attr + end, 0, size - end);
}
