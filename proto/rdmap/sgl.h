/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scatter/gather lists. An element names memory by STag and tagged offset; stag_check() resolves it
 * to an address for every segment.
 */
#ifndef PROTO_SGL_H
#define PROTO_SGL_H

#include <stdint.h>

#include "proto/ddp/perr.h"
#include "proto/ddp/stag.h"
#include "util/span.h"

enum { SGL_MAX = 16 }; /* elements of one list */

struct sgl_elem {
	uint64_t to;
	uint32_t len;
	uint32_t stag;
};

/* Sum of the lengths of n elements. */
uint64_t sgl_total(const struct sgl_elem *e, unsigned n);

/*
 * Resolves bytes [off, off + len) of the list to at most SGL_MAX spans.
 * rights: STAG_LOCAL_WRITE to write, 0 to read. The range is within the list; len 0 gives no
 * spans. Returns the number of spans, or -1 with the element at fault in *ret_bad and a STAG_E_
 * outcome in *ret_reason.
 */
int sgl_resolve(const struct sgl_elem *e, unsigned n, uint64_t off, uint32_t len,
		const struct stag_table *t, const struct stag_accessor *accessor, uint32_t rights,
		struct span ret[SGL_MAX], const struct sgl_elem **ret_bad, int *ret_reason);

/* Checks every element over its whole length. Returns STAG_E_OK, or another outcome with *ret_bad.
 */
int sgl_check(const struct sgl_elem *e, unsigned n, const struct stag_table *t,
	      const struct stag_accessor *accessor, uint32_t rights,
	      const struct sgl_elem **ret_bad);

#endif
