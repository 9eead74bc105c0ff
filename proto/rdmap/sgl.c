/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/sgl.h"

#include <assert.h>
#include <string.h>

#include "util/checked.h"

uint64_t sgl_total(const struct sgl_elem *e, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += e[i].len;
	return sum;
}

/* Checks bytes [skip, skip + len) of the element; they lie within its length. */
static int check_part(const struct sgl_elem *e, uint64_t skip, uint32_t len,
		      const struct stag_table *t, const struct stag_accessor *accessor,
		      uint32_t rights, uint8_t **ret_p)
{
	/* If the sum wraps, check the whole element: it wraps as well and fails. */
	if (checked_add_wraps(e->to, skip))
		return stag_check(t, e->stag, accessor, rights, e->to, e->len, ret_p);
	return stag_check(t, e->stag, accessor, rights, e->to + skip, len, ret_p);
}

int sgl_resolve(const struct sgl_elem *e, unsigned n, uint64_t off, uint32_t len,
		const struct stag_table *t, const struct stag_accessor *accessor, uint32_t rights,
		struct span ret[SGL_MAX], const struct sgl_elem **ret_bad, int *ret_reason)
{
	struct span out[SGL_MAX];
	int nout = 0;

	assert(n <= SGL_MAX);
	for (; n > 0 && off >= e->len; e++, n--)
		off -= e->len;
	for (; n > 0 && len > 0; e++, n--) {
		uint32_t part = e->len - (uint32_t)off;
		int reason;

		if (part > len)
			part = len;
		if (part == 0)
			continue;
		reason = check_part(e, off, part, t, accessor, rights, &out[nout].p);
		if (reason != STAG_E_OK) {
			*ret_bad = e;
			*ret_reason = reason;
			return -1;
		}
		out[nout++].len = part;
		len -= part;
		off = 0;
	}
	assert(len == 0);
	memcpy(ret, out, (unsigned)nout * sizeof(*out));
	return nout;
}

int sgl_check(const struct sgl_elem *e, unsigned n, const struct stag_table *t,
	      const struct stag_accessor *accessor, uint32_t rights,
	      const struct sgl_elem **ret_bad)
{
	uint8_t *p;

	for (unsigned i = 0; i < n; i++) {
		int reason;

		if (e[i].len == 0)
			continue;
		reason = check_part(&e[i], 0, e[i].len, t, accessor, rights, &p);
		if (reason != STAG_E_OK) {
			*ret_bad = &e[i];
			return reason;
		}
	}
	return STAG_E_OK;
}
