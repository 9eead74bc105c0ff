/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scatter/gather lists. An element names memory by STag and tagged offset; stag_check() resolves it
 * to an address for every segment.
 */
#ifndef PROTO_SGL_H
#define PROTO_SGL_H

#include <stdint.h>
#include <string.h>

#include "proto/ddp/perr.h"
#include "proto/ddp/stag.h"
#include "util/span.h"

enum { SGL_MAX = 16 }; /* elements of one list */

struct sgl_elem {
	uint64_t to;
	uint32_t len;
	uint32_t stag;
};

struct sgl {
	const struct sgl_elem *elem;
	unsigned n; /* at most SGL_MAX */
};

/* Who uses the memory, and how. */
struct sgl_access {
	const struct stag_table *stags;
	const struct stag_accessor *accessor;
	uint32_t rights; /* STAG_LOCAL_WRITE to write, 0 to read */
};

/* Why a list cannot be used. */
struct sgl_fault {
	const struct sgl_elem *elem;
	int reason; /* STAG_E_ */
};

/* Copies n elements that were made just now (util/words.h). Most receives have one. */
static inline void sgl_copy(struct sgl_elem *to, const struct sgl_elem *from, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct sgl_elem e = from[i];

		words_apart(e.len);
		words_apart(e.stag);
		to[i] = e;
	}
}

/* Sum of the lengths of n elements. */
uint64_t sgl_total(const struct sgl_elem *e, unsigned n);

/*
 * Resolves bytes [off, off + len) of the list, which are within it, to at most SGL_MAX spans; len 0
 * gives none. Returns the number of spans, or -1 with *ret_fault; then ret is undefined.
 */
int sgl_resolve(struct sgl list, uint64_t off, uint32_t len, const struct sgl_access *access,
		struct span ret[SGL_MAX], struct sgl_fault *ret_fault);

/* Checks every element over its whole length. Returns STAG_E_OK, or another outcome with *ret_bad.
 */
int sgl_check(struct sgl list, const struct sgl_access *access, const struct sgl_elem **ret_bad);

#endif
