/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/sgl.h"

#include <assert.h>
#include <string.h>

#include "util/checked.h"
#include "util/minmax.h"

uint64_t sgl_total(const struct sgl_elem *e, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += e[i].len;
	return sum;
}

/* Checks bytes [skip, skip + len) of the element; they lie within its length. */
static int check_part(const struct sgl_elem *e, uint64_t skip, uint32_t len,
		      const struct sgl_access *a, uint8_t **ret_p)
{
	/* If the sum wraps, check the whole element: it wraps as well and fails. */
	if (checked_add_wraps(e->to, skip))
		return stag_check(a->stags, e->stag, a->accessor, a->rights, e->to, e->len, ret_p);
	return stag_check(a->stags, e->stag, a->accessor, a->rights, e->to + skip, len, ret_p);
}

int sgl_resolve(struct sgl list, uint64_t off, uint32_t len, const struct sgl_access *access,
		struct span ret[SGL_MAX], struct sgl_fault *ret_fault)
{
	const struct sgl_elem *e = list.elem, *end = e + list.n;
	int nout = 0;

	assert(list.n <= SGL_MAX);
	for (; e < end && off >= e->len; e++)
		off -= e->len;
	for (; e < end && len > 0; e++) {
		uint32_t part = min_u32(e->len - (uint32_t)off, len);
		int reason;

		if (part == 0)
			continue;
		reason = check_part(e, off, part, access, &ret[nout].p);
		if (reason != STAG_E_OK) {
			*ret_fault = (struct sgl_fault){e, reason};
			return -1;
		}
		ret[nout++].len = part;
		len -= part;
		off = 0;
	}
	assert(len == 0);
	return nout;
}

int sgl_check(struct sgl list, const struct sgl_access *access, const struct sgl_elem **ret_bad)
{
	uint8_t *p;

	for (const struct sgl_elem *e = list.elem; e < list.elem + list.n; e++) {
		int reason;

		if (e->len == 0)
			continue;
		reason = check_part(e, 0, e->len, access, &p);
		if (reason != STAG_E_OK) {
			*ret_bad = e;
			return reason;
		}
	}
	return STAG_E_OK;
}
