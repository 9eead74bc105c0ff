/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/span.h"

#include <string.h>

#include "util/minmax.h"

size_t span_copy(const struct span *dst, unsigned ndst, const struct span *src, unsigned nsrc,
		 size_t skip, size_t len)
{
	size_t done = 0, at = 0;

	/* Most messages. */
	if (ndst == 1 && nsrc == 1 && len <= dst->len && skip <= src->len &&
	    len <= src->len - skip) {
		memmove(dst->p, src->p + skip, len);
		return len;
	}
	while (nsrc > 0 && skip >= src->len) {
		skip -= src->len;
		src++;
		nsrc--;
	}
	while (done < len && ndst > 0 && nsrc > 0) {
		size_t n = min_size(len - done, min_size(dst->len - at, src->len - skip));

		if (n > 0)
			memmove(dst->p + at, src->p + skip, n);
		done += n;
		at += n;
		skip += n;
		if (at == dst->len) {
			dst++;
			ndst--;
			at = 0;
		}
		if (skip == src->len) {
			src++;
			nsrc--;
			skip = 0;
		}
	}
	return done;
}
