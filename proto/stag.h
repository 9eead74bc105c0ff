/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The STag table, and the access check of the project: every byte that a
 * peer or a local work request reads or writes passes stag_check()
 * (RFC 5041 7.1, 8.2; RFC 5040 8.1.1). Pointers that it returns are used at once
 * and never kept, so a region is out of reach when stag_revoke() returns.
 */
#ifndef PROTO_STAG_H
#define PROTO_STAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rights of a region. Reading it locally needs none. */
enum {
	STAG_LOCAL_WRITE = 1,
	STAG_REMOTE_WRITE = 2,
	STAG_REMOTE_READ = 4,
	STAG_REMOTE_ATOMIC = 8,
};

/* Outcomes of the check, in the order in which they are tested. */
enum {
	STAG_E_OK,
	STAG_E_INVALID, /* unknown, or invalidated */
	STAG_E_SCOPE,   /* another protection domain or stream */
	STAG_E_RIGHTS,
	STAG_E_WRAP,   /* to + len passes 2^64 */
	STAG_E_BOUNDS, /* outside the region */
};

struct stag_region {
	uint32_t stag;   /* the value, never 0 */
	uint32_t rights; /* STAG_* */
	uint64_t pd;     /* protection domain */
	uint64_t scope;  /* endpoint that alone may use it, 0 for the whole domain */
	uint64_t to;     /* tagged offset of the first byte */
	uint64_t len;    /* to + len does not pass 2^64 */
	uint8_t *base;   /* where the first byte is mapped */
	bool valid;      /* cleared by invalidation; the entry stays until it is removed */
};

/* Who asks: compared with pd and scope of the region. */
struct stag_who {
	uint64_t pd;
	uint64_t scope;
};

struct stag_table;

/* Bytes of memory that a table for max regions needs. */
size_t stag_table_size(uint32_t max);

/* Makes an empty table in zeroed memory of that size. The memory stays the caller's. */
struct stag_table *stag_table_init(void *mem, uint32_t max);

enum {
	STAG_ADD_OK,
	STAG_ADD_E_TAKEN, /* the value is in use, or 0: draw another */
	STAG_ADD_E_FULL,
};

/*
 * Adds a copy of *r, with valid set. The caller draws r->stag at random
 * (RFC 5040 8.1.1 item 8) and has checked that to + len does not wrap.
 * Returns a STAG_ADD_ value.
 */
int stag_add(struct stag_table *t, const struct stag_region *r);

/* Removes the region. False if there is none of that value. */
bool stag_remove(struct stag_table *t, uint32_t stag);

/* The region, valid or not, until the next change of the table; NULL if there is none. */
const struct stag_region *stag_find(const struct stag_table *t, uint32_t stag);

/*
 * The access check. Outcome STAG_E_*; *ret_p is set on STAG_E_OK only and is
 * good until the table changes. rights: all of them are needed. len 0 is checked
 * like any other; callers skip the check where the RFCs say so.
 */
int stag_check(const struct stag_table *t, uint32_t stag, const struct stag_who *who,
	       uint32_t rights, uint64_t to, uint64_t len, uint8_t **ret_p);

/*
 * Remote invalidation (RFC 5040 5.3): allowed only to the stream that the STag
 * is scoped to. Returns STAG_E_OK, STAG_E_INVALID or STAG_E_SCOPE.
 */
int stag_invalidate(struct stag_table *t, uint32_t stag, const struct stag_who *who);

#endif
