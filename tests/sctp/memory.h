/* SPDX-License-Identifier: BSD-2-Clause */
/* An allocator that counts, and that fails when a test wants it. */
#ifndef TESTS_SCTP_MEMORY_H
#define TESTS_SCTP_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "sctp/sctp.h"

struct memory {
	uint64_t bytes, calls; /* that are allocated; of alloc */
	uint64_t fail_at;      /* this call of alloc and all later ones fail; 0: none */
	bool once;             /* only that one fails */
};

static inline void *memory_alloc(void *user, size_t len)
{
	struct memory *m = user;
	void *p;

	m->calls++;
	if (m->fail_at != 0 && (m->once ? m->calls == m->fail_at : m->calls >= m->fail_at))
		return NULL;
	p = malloc(len);
	if (p) {
		/* A block comes with any content. */
		memset(p, 0xa5, len);
		m->bytes += len;
	}
	return p;
}

static inline void memory_free(void *user, void *p, size_t len)
{
	struct memory *m = user;

	m->bytes -= len;
	free(p);
}

static inline struct sctp_mem memory_of(struct memory *m)
{
	return (struct sctp_mem){memory_alloc, memory_free, m};
}

/* Numbers that are the same in each run. */
static inline uint32_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

#endif
